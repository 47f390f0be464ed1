"""Openings of connections to a broker, no faster than the broker accepts.

A broker at a limit of its own (``max.connections``, ``max.connection.creation.rate``: KIP-402,
KIP-612) leaves new connections in its backlog and responds to none of them. To the broker all of
them come from the same address, so a storm of one gateway's clients would stand there ahead of all
others. Instead openings wait here, in order: a client that gives up meanwhile has cost the broker
nothing.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

LEAST: Final = 4
"""Openings under way at once to a broker that responds slowly."""

MOST: Final = 32
"""Openings under way at once to a broker that responds fast: enough for a broker that is far
away."""

SLOW_SECONDS: Final = 1.0
"""An opening that takes so many seconds shows that the broker cannot keep up. If no opening ends
for so many seconds, another opening begins, so that openings that hang do not stop all others."""


class OpeningTurns:
    """The turns of openings to a broker. Used by a single event loop."""

    __slots__ = ("_at_once", "_moved", "_timer", "_under_way", "_waiting")

    def __init__(self) -> None:
        self._at_once = LEAST
        self._under_way = 0
        self._waiting: deque[asyncio.Future[None]] = deque()  # some of them cancelled
        self._moved = 0.0  # when an opening began to wait first, began out of turn, or ended
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """The turn of an opening: it begins when there is room, and ends when the broker has
        responded or the opening is given up."""
        loop = asyncio.get_running_loop()
        if self._under_way >= self._at_once or self._waiting:
            await self._wait(loop)
        else:
            self._under_way += 1
        began = loop.time()
        try:
            yield
        finally:
            self._ended(loop.time(), began)

    async def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        mine: asyncio.Future[None] = loop.create_future()
        self._waiting.append(mine)
        if self._timer is None:
            self._moved = loop.time()
            self._timer = loop.call_at(self._moved + SLOW_SECONDS, self._look, loop)
        try:
            await mine
        except asyncio.CancelledError:
            if not mine.cancelled():  # the turn came in the same moment: another opening takes it
                self._under_way -= 1
                self._go_on()
            raise

    def _ended(self, now: float, began: float) -> None:
        """Note that an opening has ended; let more be under way at once after less than a second,
        else fewer."""
        self._moved = now
        self._under_way -= 1
        if now - began >= SLOW_SECONDS:
            self._at_once = max(self._at_once - 1, LEAST)
        elif self._at_once < MOST:
            self._at_once += 1
        self._go_on()

    def _go_on(self) -> None:
        while self._waiting and self._under_way < self._at_once:
            self._begin_next()

    def _begin_next(self) -> None:
        """Begin the opening that has waited longest."""
        while self._waiting:
            first = self._waiting.popleft()
            if not first.cancelled():
                self._under_way += 1
                first.set_result(None)
                return

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin another opening if no opening has ended for a while; look again while openings
        wait."""
        self._timer = None
        if loop.time() >= self._moved + SLOW_SECONDS:
            self._moved = loop.time()
            self._begin_next()
        if self._waiting:
            self._timer = loop.call_at(self._moved + SLOW_SECONDS, self._look, loop)
