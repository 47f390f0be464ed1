"""How old what a process knows may be before it must not decide by it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Freshness:
    """Fresh for ``max_staleness`` seconds after the beginning of each read that came to the end.

    All of it belongs to one event loop. ``expired`` is called when that time is over.
    """

    def __init__(self, max_staleness: float, expired: Callable[[], None]) -> None:
        self._max_staleness = max_staleness
        self._expired = expired
        self._timer: asyncio.TimerHandle | None = None
        self.read_at = float("-inf")
        """When (loop time) the last read that came to the end began."""

    def __bool__(self) -> bool:
        return self._timer is not None and _now() - self.read_at <= self._max_staleness

    def note(self, began: float) -> bool:
        """All that was there at ``began`` (loop time) is read; whether it was not fresh before."""
        was_fresh = bool(self)
        self.read_at = max(self.read_at, began)
        self.end()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_at(self.read_at + self._max_staleness, self._end_of_time)
        return not was_fresh

    def end(self) -> bool:
        """Not fresh from now on; whether it was until now. ``expired`` is not called."""
        was_fresh = bool(self)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return was_fresh

    def _end_of_time(self) -> None:
        self._timer = None
        self._expired()


def _now() -> float:
    return asyncio.get_running_loop().time()
