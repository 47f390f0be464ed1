"""A way to a broker that can be cut for a gateway: its requests and responses are held."""

from __future__ import annotations

import asyncio
from collections.abc import Collection

import psutil

from tests.live.support.relay import Relay, until_one_ends


class CuttableRelay(Relay):
    """A relay that forwards everything, except for processes that it is cut for."""

    def __init__(self) -> None:
        super().__init__()
        self._cut_for: Collection[psutil.Process] = ()
        self._held: set[int] = set()

    def cut(self, processes: Collection[psutil.Process]) -> None:
        """Forward nothing to or from these processes, on old and new connections."""
        self._cut_for = processes
        self._held = self._ports()

    def mend(self) -> None:
        """Forward everything again, including bytes that arrived meanwhile."""
        self._cut_for, self._held = (), set()

    def _ports(self) -> set[int]:
        """The ports of the cut processes' ends of their connections to the relay."""
        found = set()
        for process in self._cut_for:
            for one in process.net_connections("tcp"):
                if getattr(one.raddr, "port", None) == self.port:
                    found.add(one.laddr.port)
        return found

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self.upstream:
            return  # the broker's address is not known yet
        port: int = writer.get_extra_info("peername")[1]
        if self._cut_for and port in self._ports():
            self._held.add(port)
        await self._until_mended(port)
        host, _, broker_port = self.upstream.rpartition(":")
        from_broker, to_broker = await asyncio.open_connection(host, int(broker_port))
        try:
            await until_one_ends(
                self._pass_on(port, reader, to_broker), self._pass_on(port, from_broker, writer)
            )
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
