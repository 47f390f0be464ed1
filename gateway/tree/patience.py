"""Patience: the time that a request may wait for a cluster, and not for this process.

A time-out around a whole request also counts the time that the gateway spends on it, and on other
requests before it reads what has arrived. For 90,000 names that is seconds, in which a cluster may
have answered long ago.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

T = TypeVar("T")

TICK_SECONDS: Final = 0.05
"""Seconds between two looks at the clock. If a look comes later than it was due by more than that,
this process was busy: only the seconds until it was due count."""

_NOTHING: Final = 0.001
"""Seconds that count as zero: sums of floats are not exact."""


class Patience:
    """A number of seconds to wait, over all waits of a request."""

    __slots__ = ("_due", "_graced", "_left", "_limit", "_loop", "_since", "_timer")

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._graced = False
        self._loop = asyncio.get_running_loop()
        self._limit: asyncio.Timeout | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._since = self._due = 0.0

    async def wait(self, answer: Awaitable[T]) -> T:
        """Wait for a cluster's answer, and return it. Raises TimeoutError once the seconds are
        spent. No other wait may be under way."""
        try:
            async with asyncio.timeout(None) as self._limit:
                self._arm(min(TICK_SECONDS, max(self._left, 0.0)))
                return await answer
        finally:
            assert self._timer is not None
            self._timer.cancel()
            self._count(self._loop.time())

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count the time in this block, which is within a wait: this process needs it for
        its own work, in turns, so that the loop is never late."""
        assert self._timer is not None
        self._timer.cancel()
        self._count(self._loop.time())
        try:
            yield
        finally:
            self._arm(min(TICK_SECONDS, max(self._left, 0.0)))

    def _arm(self, seconds: float) -> None:
        self._since = self._loop.time()
        self._due = self._since + seconds
        self._timer = self._loop.call_at(self._due, self._look)

    def _look(self) -> None:
        now = self._loop.time()
        self._count(now)
        late = now - self._due > TICK_SECONDS
        if self._left > _NOTHING:
            self._arm(min(TICK_SECONDS, self._left))
        elif late and not self._graced:
            self._graced = True  # an answer that has arrived meanwhile is read only now
            self._arm(TICK_SECONDS)
        else:
            assert self._limit is not None
            self._limit.reschedule(now)

    def _count(self, now: float) -> None:
        self._left -= min(now, self._due) - self._since
        self._since = self._due = now
