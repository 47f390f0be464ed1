"""Bounds on time that hold on a busy machine, and are still bounds.

Work that takes a second alone takes three if three other processes want the same processor. So a
bound is stretched by how much longer short pieces of work took on the whole meanwhile, and by the
longest wait of such a piece. On an idle machine it is unchanged.
"""

from __future__ import annotations

import threading
import time
from typing import Self

_WORK_SECONDS = 0.02
"""Seconds of a processor: some turns of the operating system's scheduler."""

_PAUSE_SECONDS = 0.2


def worked() -> tuple[float, float]:
    """Do a short piece of work; returns the seconds that it took, and its seconds of a
    processor."""
    began, began_working = time.perf_counter(), time.thread_time()
    while (working := time.thread_time() - began_working) < _WORK_SECONDS:
        pass
    return max(time.perf_counter() - began, working), working


class Pace:
    """Watches how slow the machine is, for as long as the body of its ``with`` takes."""

    def __init__(self) -> None:
        self._took = self._working = self._longest_wait = 0.0
        self._ended = threading.Event()
        self._watching = threading.Thread(target=self._watch, name="pace", daemon=True)

    def look(self) -> None:
        """Do a piece of work now, and note how long it took."""
        took, working = worked()
        self._took += took
        self._working += working
        self._longest_wait = max(self._longest_wait, took - working)

    def stretched(self, seconds: float) -> float:
        """The time that this machine, as busy as it has been so far, needs for ``seconds`` of an
        idle one."""
        if not self._working:
            return seconds
        return seconds * self._took / self._working + self._longest_wait

    def _watch(self) -> None:
        while not self._ended.is_set():
            self.look()
            self._ended.wait(_PAUSE_SECONDS)

    def __enter__(self) -> Self:
        self._watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watching.join()
