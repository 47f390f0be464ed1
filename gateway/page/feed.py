"""The page's event streams: first the history, then a state each second, made once for all streams,
and only while any are open.

A reader gets the newest state, never a late state: states that it missed meanwhile are gone. If it
does not read a state for :data:`SLOW_SECONDS`, it is dropped.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from gateway.slices import Turns, sliced

log = logging.getLogger(__name__)

MAX_STREAMS: Final = 16
EVERY_SECONDS: Final = 1.0
SLOW_SECONDS: Final = 10.0

RETRY: Final = b"retry: 1000\n\n"
"""Tells browsers how many ms to wait before they connect again."""


class Feed:
    """States for streams.

    ``begin``: called when the first stream opens.
    ``ask``: called before each state.
    ``state``: makes a state, in slices, because the reports of 16 workers take 0.2 s.
    ``history``: makes the first event of each stream.
    """

    def __init__(
        self,
        begin: Callable[[], None],
        ask: Callable[[], None],
        state: Callable[[], Mapping[str, Any]],
        history: Callable[[], Mapping[str, Any]],
        *,
        every: float = EVERY_SECONDS,
        slow: float = SLOW_SECONDS,
        most: int = MAX_STREAMS,
        turns: Turns | None = None,
    ) -> None:
        self._begin = begin
        self._ask = ask
        self._state = state
        self._history = history
        self._every = every
        self._slow = slow
        self._most = most
        self._turns = turns or Turns()
        self._newest = b""
        self._number = 0
        self._made = asyncio.Condition()
        self._ticking: asyncio.Task[None] | None = None
        self._closed = False
        self.open = 0
        """The number of open streams."""

    @property
    def full(self) -> bool:
        """Whether there is no room for another stream."""
        return self.open >= self._most

    async def serve(self, write: Callable[[bytes], Awaitable[None]]) -> None:
        """Write states to a stream until it is closed or too slow, or the feed is closed.

        Raises the exceptions of ``write``, and TimeoutError if the reader is too slow.
        """
        self.open += 1
        try:
            if self._ticking is None and not self._closed:
                self._begin()
                self._ticking = asyncio.create_task(self._tick(), name="page feed")
            await self._write(write, RETRY)
            await self._write(write, encode_event(self._history(), "history"))
            seen = 0
            while not self._closed:
                async with self._made:
                    while self._number <= seen and not self._closed:
                        await self._made.wait()
                    seen, newest = self._number, self._newest
                if not self._closed:
                    await self._write(write, newest)
        finally:
            self.open -= 1
            if self.open == 0:
                self._stop()

    async def close(self) -> None:
        """End all streams, for good."""
        self._closed = True
        self._stop()
        async with self._made:
            self._made.notify_all()

    async def _write(self, write: Callable[[bytes], Awaitable[None]], data: bytes) -> None:
        async with asyncio.timeout(self._slow):
            await write(data)

    def _stop(self) -> None:
        if self._ticking is not None:
            self._ticking.cancel()
            self._ticking = None
        self._number, self._newest = 0, b""

    async def _tick(self) -> None:
        while True:
            self._ask()
            # The first state is made early, so that operators do not see an empty page.
            await asyncio.sleep(self._every if self._number else min(self._every, 0.2))
            try:
                event = encode_event(await sliced(self._turns, self._state))
            except Exception:  # the page stands still, and the log says why
                log.exception("the page's state cannot be made")
                continue
            async with self._made:
                self._number += 1
                self._newest = event
                self._made.notify_all()


def encode_event(state: Mapping[str, Any], name: str = "") -> bytes:
    """A state as a server-sent event: JSON has no line breaks outside of its strings' escapes."""
    text = json.dumps(state, separators=(",", ":"), allow_nan=False)
    named = f"event: {name}\n" if name else ""
    return f"{named}data: {text}\n\n".encode()
