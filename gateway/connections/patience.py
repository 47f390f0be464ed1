"""Patience: the time that a request may wait for a cluster, which is no other time.

A time-out that covers a whole request counts what the gateway spends on it, too, and what it spends
on others before it looks at what has arrived: for 90,000 names that is seconds, in which a cluster
has answered long ago.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

T = TypeVar("T")

TICK_SECONDS: Final = 0.05
"""Seconds between two looks at the clock. A look that comes later than that by as much again says
that this process was busy: only the seconds until it was due count."""

_NOTHING: Final = 0.001
"""Seconds that are as good as none: sums of floats are not exact."""


class Patience:
    """So many seconds of waiting, over all waits of one request."""

    __slots__ = ("_due", "_graced", "_left", "_limit", "_loop", "_since", "_timer")

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._graced = False
        self._loop = asyncio.get_running_loop()
        self._limit: asyncio.Timeout | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._since = self._due = 0.0

    async def wait(self, answer: Awaitable[T]) -> T:
        """The answer of a cluster. Raises TimeoutError once the seconds have been waited; one wait
        at a time."""
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
        """Within a wait: time that this process needs itself, in turns, so that the loop is never
        late. It does not count."""
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
            self._graced = True  # what has arrived meanwhile is only read now
            self._arm(TICK_SECONDS)
        else:
            assert self._limit is not None
            self._limit.reschedule(now)

    def _count(self, now: float) -> None:
        self._left -= min(now, self._due) - self._since
        self._since = self._due = now
