"""Serves operators' tools on a worker's own machine: its catalogs in memory, and its traces.

The first line that a tool sends is the name of a cluster (``catalog export --from-memory``) or a
JSON object (``trace``). Only the worker's own user, and root, are served, because users'
credentials are in a catalog, and other tenants' names in a trace.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import struct
import sys
from collections import deque
from contextlib import suppress
from typing import Any, Final

from gateway.operators import address
from gateway.processes.held_catalogs import HeldCatalogs
from gateway.session.tracing import TooManyTraces, Trace, Tracing
from gateway.traced import TracedRequest, Wanted, refusal_line

log = logging.getLogger(__name__)

SECONDS: Final = 60.0
"""For a tool to send its line, and to read a whole catalog."""

MOST_UNREAD: Final = 1024 * 1024
"""Bytes of a trace that its tool has not read, at which further requests are left out of it."""

MOST_WAITING: Final = 1_000
"""Requests that wait to be written, one in a round of the event loop; others are left out."""

_ROOT: Final = 0
_CREDENTIALS: Final = struct.Struct("3i")
"""Linux's struct ucred: process, user, group."""


class OperatorSocket:
    """The socket of one worker."""

    def __init__(
        self, metrics_port: int, worker_id: int, catalogs: HeldCatalogs, tracing: Tracing
    ) -> None:
        self._address = address(metrics_port, worker_id)
        self._catalogs = catalogs
        self._tracing = tracing
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        """Listen, if the system has addresses of that kind."""
        if sys.platform != "linux":
            return
        listening = socket.socket(socket.AF_UNIX)
        try:
            listening.bind(self._address)
            self._server = await asyncio.start_unix_server(self._serve, sock=listening)
        except OSError as error:
            listening.close()
            log.warning(
                "trace and catalog export --from-memory will not find this worker: %s", error
            )

    async def stop(self) -> None:
        """Listen no more, and serve the tools no more that are connected."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in self._serving:
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            if _may_read(writer):
                # If it were cancelled, asyncio's streams would log a traceback (Python 3.11).
                with suppress(OSError, ValueError, TimeoutError, asyncio.CancelledError):
                    async with asyncio.timeout(SECONDS):
                        line = (await reader.readline()).decode().removesuffix("\n")
                        if not line.startswith("{"):
                            await self._catalogs.hand_over(line, writer)
                            return
                    await self._trace(line, reader, writer)
        finally:
            self._serving.discard(task)
            writer.close()

    async def _trace(
        self, line: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Write what is traced, until there is enough of it or the tool leaves."""
        written = _Written(writer)
        try:
            wanted = Wanted.of_line(json.loads(line))
            trace = self._tracing.begin(wanted, written.take, written.go_on)
        except (ValueError, AttributeError, RecursionError, TooManyTraces) as error:
            writer.write(refusal_line(str(error)))
            return
        left = asyncio.create_task(_until_left(reader))
        enough = asyncio.create_task(written.until_enough(trace))
        try:
            await asyncio.wait([left, enough], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._tracing.end(trace)
            left.cancel()
            enough.cancel()
        async with asyncio.timeout(SECONDS):
            await writer.drain()


async def _until_left(reader: asyncio.StreamReader) -> None:
    """Wait until the tool leaves; it sends nothing more."""
    with suppress(OSError):
        await reader.read(1)


class _Written:
    """What is written of a trace: not in the callbacks of clients, which neither wait for it nor
    get its errors (a transport of uvloop that is closed raises one)."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._requests: deque[TracedRequest] = deque()
        self._more = asyncio.Event()

    def take(self, request: TracedRequest) -> None:
        """Take a request, unless there are too many in a round of the event loop."""
        if len(self._requests) < MOST_WAITING:
            self._requests.append(request)
        self._more.set()

    def go_on(self) -> None:
        """Look once more whether there is enough, because the trace has ended."""
        self._more.set()

    async def until_enough(self, trace: Trace) -> None:
        """Write requests, unless the tool reads too slowly, until the trace has all that it
        wants."""
        while trace.left or self._requests:
            await self._more.wait()
            self._more.clear()
            while self._requests:
                line = self._requests.popleft().line()
                transport = self._writer.transport
                if transport.is_closing():
                    return
                if transport.get_write_buffer_size() < MOST_UNREAD:
                    self._writer.write(line)
                await asyncio.sleep(0)


def _may_read(writer: asyncio.StreamWriter) -> bool:
    peer = writer.get_extra_info("socket")
    found = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(found)
    return user in (_ROOT, os.geteuid())
