"""Bounds on time that hold on a busy machine, and still are bounds.

What takes a second alone takes three where three others want the same processor. So a bound is
stretched by what the machine made of short pieces of work meanwhile; on an idle one it is as it is.
"""

from __future__ import annotations

import threading
import time
from typing import Self

_WORK_SECONDS = 0.02
"""Of a processor: some turns of the operating system's scheduler."""

_PAUSE_SECONDS = 0.2


def slowness() -> float:
    """How many times longer work takes now than on a machine that does nothing else; at least 1."""
    began, began_working = time.perf_counter(), time.thread_time()
    while (worked := time.thread_time() - began_working) < _WORK_SECONDS:
        pass
    return max(1.0, (time.perf_counter() - began) / worked)


class Pace:
    """Watches how slow the machine is, for as long as the body of its ``with`` takes."""

    def __init__(self) -> None:
        self.worst = 1.0
        self._ended = threading.Event()
        self._watching = threading.Thread(target=self._watch, name="pace", daemon=True)

    def stretched(self, seconds: float) -> float:
        """So many seconds of an idle machine, at the slowest that this one has been."""
        return seconds * self.worst

    def _watch(self) -> None:
        while not self._ended.is_set():
            self.worst = max(self.worst, slowness())
            self._ended.wait(_PAUSE_SECONDS)

    def __enter__(self) -> Self:
        self._watching.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._watching.join()
