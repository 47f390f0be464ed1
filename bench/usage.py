"""What processes use: CPU seconds and resident memory, as the kernel counts them."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterable

import psutil

_LIBC = ctypes.CDLL(None)


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of all threads of ``pids`` since they started.

    The same sum as in /proc/PID/stat, in nanoseconds instead of 10 ms steps. Raises OSError for
    a process that has ended.
    """
    return sum(time.clock_gettime(_cpu_clock(pid)) for pid in pids)


def resident_kib(pids: Iterable[int]) -> list[float]:
    """The resident set of each process, in KiB."""
    return [psutil.Process(pid).memory_info().rss / 1024 for pid in pids]


def with_descendants(pid: int) -> list[int]:
    """``pid`` and every process below it."""
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


def _cpu_clock(pid: int) -> int:
    """The clock that counts the CPU time of a process; Python has a function for its own only."""
    clock = ctypes.c_int()
    status = _LIBC.clock_getcpuclockid(pid, ctypes.byref(clock))
    if status:
        raise OSError(status, f"process {pid}: {os.strerror(status)}")
    return clock.value
