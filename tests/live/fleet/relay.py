"""A way to a broker that can be cut for one gateway: what it sends, and is sent, goes nowhere."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Collection
from contextlib import suppress
from typing import Self

import psutil

HOST = "127.0.0.1"
SECONDS = 120.0


class Relay:
    """Listens on a free port of the loopback, from a thread and an event loop of its own.

    Set ``upstream`` to the broker's ``host:port`` once it is known. A broker that advertises
    ``address`` is reached through the relay alone.
    """

    def __init__(self) -> None:
        self.upstream = ""
        self.port = 0
        self._cut_for: Collection[psutil.Process] = ()
        self._held: set[int] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="relay")

    @property
    def address(self) -> str:
        """The relay's own ``host:port``."""
        return f"{HOST}:{self.port}"

    def cut(self, processes: Collection[psutil.Process]) -> None:
        """Pass nothing on to or from these processes, on old connections and new ones."""
        self._cut_for = processes
        self._held = self._ports()

    def mend(self) -> None:
        """Pass everything on again, with what has come meanwhile."""
        self._cut_for, self._held = (), set()

    def _ports(self) -> set[int]:
        """The ports of the cut processes' ends of their connections to the relay."""
        found = set()
        for process in self._cut_for:
            for one in process.net_connections("tcp"):
                if getattr(one.raddr, "port", None) == self.port:
                    found.add(one.laddr.port)
        return found

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
            # Cancelled by _stop alone: a stream's task that ends cancelled would be reported.
            with suppress(OSError, asyncio.CancelledError):
                await self._relay(reader, writer)
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self.upstream:
            return  # it is too early
        port: int = writer.get_extra_info("peername")[1]
        if self._cut_for and port in self._ports():
            self._held.add(port)
        await self._until_mended(port)
        host, _, broker_port = self.upstream.rpartition(":")
        from_broker, to_broker = await asyncio.open_connection(host, int(broker_port))
        try:
            ways = [
                asyncio.create_task(self._pass_on(port, reader, to_broker)),
                asyncio.create_task(self._pass_on(port, from_broker, writer)),
            ]
            try:
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for way in ways:
                    way.cancel()
                await asyncio.gather(*ways, return_exceptions=True)
        finally:
            to_broker.close()

    async def _pass_on(
        self, port: int, source: asyncio.StreamReader, sink: asyncio.StreamWriter
    ) -> None:
        while data := await source.read(65_536):
            await self._until_mended(port)
            sink.write(data)
            await sink.drain()

    async def _until_mended(self, port: int) -> None:
        while port in self._held:
            await asyncio.sleep(0.02)
