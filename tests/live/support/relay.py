"""A relay in front of a broker, on the loopback; each subclass decides which bytes it forwards."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from contextlib import suppress
from typing import Self

HOST = "127.0.0.1"
SECONDS = 120.0


class Relay(ABC):
    """Listens on a free port of the loopback, from a thread and an event loop of its own.

    Set ``upstream`` to the broker's ``host:port`` once it is known; until then nothing is
    forwarded. A broker that advertises ``address`` is reached only through the relay.
    """

    def __init__(self) -> None:
        self.upstream = ""
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay")

    @property
    def address(self) -> str:
        """The relay's own ``host:port``."""
        return f"{HOST}:{self.port}"

    @abstractmethod
    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection to its end."""

    def __enter__(self) -> Self:
        self._thread.start()
        starting = asyncio.start_server(self._serve, HOST, 0)
        self._server = asyncio.run_coroutine_threadsafe(starting, self._loop).result(SECONDS)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result(SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SECONDS)
        self._loop.close()

    async def _stop(self) -> None:
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            # Cancelled only by _stop, because asyncio would report a stream's task that ends
            # cancelled.
            with suppress(OSError, asyncio.CancelledError):
                await self._relay(reader, writer)
        finally:
            writer.close()
            self._tasks.discard(task)


async def until_one_ends(*ways: Coroutine[None, None, None]) -> None:
    """Forward in both directions until either of them ends; the other ends with it."""
    tasks = [asyncio.create_task(way) for way in ways]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
