"""What processes use: CPU seconds and resident memory, as the kernel counts them."""

from __future__ import annotations

import ctypes
import os
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence

import psutil

_LIBC = ctypes.CDLL(None)


def cpu_seconds(pids: Iterable[int]) -> float:
    """User and system time of all threads of ``pids`` since they started.

    The same sum as in /proc/PID/stat, in nanoseconds instead of 10 ms steps. Raises OSError for
    a process that has ended.
    """
    return sum(time.clock_gettime(_cpu_clock(pid)) for pid in pids)


class CommandFailed(Exception):
    """A command that was to be measured ended with an error; the text holds what it printed."""


def cpu_seconds_of(command: Sequence[str], environment: Mapping[str, str]) -> float:
    """User and system time of a command from its start to its end. Raises CommandFailed."""
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as child:
        assert child.stdout is not None
        printed = child.stdout.read()
        # Of this child alone: RUSAGE_CHILDREN has all that have ended.
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise CommandFailed(
            f"{' '.join(command)} ended with status {child.returncode}: "
            f"{printed.decode(errors='replace').strip()}"
        )
    return usage.ru_utime + usage.ru_stime


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
