"""Sends the catalogs that a worker has in memory to ``catalog export --from-memory``."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

from gateway.catalog.log.held import Head, address, entity_lines, head_line, refusal_line
from gateway.catalog.source import OwnedCatalog
from gateway.config.models import Config

log = logging.getLogger(__name__)

LINES_AT_ONCE: Final = 100
"""Entities per turn of the event loop: about a millisecond of work."""

_SECONDS: Final = 60.0
"""Seconds for a tool to send its request and to read the whole catalog."""

_ROOT: Final = 0
_CREDENTIALS: Final = struct.Struct("3i")
"""Linux's struct ucred: process, user, group."""


class HeldCatalogs:
    """A worker's catalogs, by the names of their clusters. Only the gateway's own user, and root,
    get them: they hold users' credentials."""

    def __init__(
        self, config: Config, worker_id: int, catalogs: Mapping[str, OwnedCatalog]
    ) -> None:
        self._address = address(config.metrics.port, worker_id)
        self._gateway_id = config.gateway_id
        self._catalogs = catalogs
        self._server: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen on an abstract Unix socket; does nothing on systems other than Linux, which lack
        them."""
        if sys.platform != "linux":
            return
        listening = socket.socket(socket.AF_UNIX)
        try:
            listening.bind(self._address)
            self._server = await asyncio.start_unix_server(self._serve, sock=listening)
        except OSError as error:
            listening.close()
            log.warning("catalog export --from-memory will not find this worker: %s", error)

    async def stop(self) -> None:
        """Close the socket."""
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError, ValueError, TimeoutError):
                async with asyncio.timeout(_SECONDS):
                    if _may_read(writer):
                        await self._answer(await reader.readline(), writer)
        finally:
            writer.close()

    async def _answer(self, line: bytes, writer: asyncio.StreamWriter) -> None:
        cluster = line.decode().removesuffix("\n")
        catalog = self._catalogs.get(cluster)
        if catalog is None or not catalog.snapshot.version:
            what = "knows no such cluster" if catalog is None else "has not read the catalog"
            writer.write(refusal_line(f"it {what}"))
            return
        snapshot = catalog.snapshot
        lines = entity_lines(snapshot)
        size = sum(1 for _ in snapshot.entities())
        pid = os.getpid()
        writer.write(head_line(Head(self._gateway_id, pid, snapshot.version, size, catalog.age)))
        for number, one in enumerate(lines, 1):
            writer.write(one)
            if not number % LINES_AT_ONCE:
                await writer.drain()
                await asyncio.sleep(0)
        await writer.drain()


def _may_read(writer: asyncio.StreamWriter) -> bool:
    peer = writer.get_extra_info("socket")
    found = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(found)
    return user in (_ROOT, os.geteuid())
