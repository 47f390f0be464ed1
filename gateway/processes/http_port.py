"""The connections of the HTTP port, which are limited in number, in time and in bytes.

Every host that reaches the port may open connections, so they are limited before any of their bytes
are believed: in number, so that the supervisor keeps descriptors for its own work; in time, until a
whole request has arrived, and until the response is read; in bytes of an incomplete request. If the
port is full, the connection that has waited longest without a request is closed, so that a probe
gets its response however many other connections are silent. If bytes cannot be read as HTTP, the
connection is closed and the reason logged at level debug; a traceback is for defects of the
gateway.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, TypeAlias

from aiohttp import web

from gateway.connections.acceptor import Acceptor, ConnectionQuota, Delays, listening_sockets
from gateway.connections.closing import guarded
from gateway.counts import Counts

log = logging.getLogger(__name__)

NAME: Final = "metrics.port"
"""The port's name in places where listeners have a name: in the log, and in the counts of
delays."""

FIRST_SECONDS: Final = 10.0
"""Seconds from the connection to its first whole request."""

IDLE_SECONDS: Final = 75.0
"""Seconds from a response to the next whole request: more than Prometheus leaves between two
scrapes."""

TAKING_SECONDS: Final = 30.0
"""Seconds for which a client may read nothing of a response."""

SWEEP_SECONDS: Final = 1.0
"""Seconds between two searches for connections that are overdue."""

MAX_REQUEST_BYTES: Final = 64 * 1024
"""Bytes that a client may send while no request is being handled: no request here has a body."""

RESERVED: Final = 32
RESERVED_A_WORKER: Final = 4
"""Descriptors that the supervisor keeps: for its own files and sockets, and for each worker its
channel and the descriptors that starting it takes for a moment."""

_SHUTDOWN_SECONDS: Final = 1.0
_LOGGED_SECONDS: Final = 1.0

_Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


def connections_left(most: int, workers: int) -> int:
    """The number of connections for which this process has descriptors, at most ``most``."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return most
    return max(1, min(most, soft - RESERVED - RESERVED_A_WORKER * workers))


class HttpPort:
    """Serves an application on a port. ``most`` is the greatest number of connections."""

    def __init__(self, app: web.Application, most: int) -> None:
        app.middlewares.append(self._noting)
        # aiohttp itself logs bytes that it cannot read; exceptions of our handlers are logged here.
        unread = logging.Logger("aiohttp.server")
        unread.addFilter(_note_unread)
        self._runner = web.AppRunner(
            app,
            access_log=None,
            logger=unread,
            keepalive_timeout=IDLE_SECONDS,
            shutdown_timeout=_SHUTDOWN_SECONDS,
            # aiohttp decompresses in a single turn of the loop: a body of 58 KB takes 0.3 s.
            auto_decompress=False,
        )
        self._quota = ConnectionQuota(most)
        # Not in the metrics, which count delays of workers: delays of this port are only logged.
        self._delays = Delays(NAME, Counts())
        self._acceptors: list[Acceptor] = []
        self._connections: dict[asyncio.BaseProtocol, HttpConnection] = {}
        self._connecting: set[asyncio.Task[object]] = set()
        self._failed_at = -_LOGGED_SECONDS
        self._sweeping: asyncio.Task[None] | None = None

    @property
    def open(self) -> int:
        """Connections whose descriptors are open."""
        return self._quota.count

    async def start(self, host: str, port: int) -> int:
        """Listen; returns the port. Raises OSError if it cannot be bound."""
        await self._runner.setup()
        try:
            sockets = await listening_sockets(host, port, shared=False)
        except OSError:
            await self._runner.cleanup()
            raise
        for each in sockets:
            acceptor = Acceptor(
                each,
                self._quota,
                self._delays,
                take=self._take,
                make_room=self._make_room,
                rejected=_note_rejected,
            )
            self._acceptors.append(acceptor)
            acceptor.start()
        self._sweeping = asyncio.create_task(self._sweep(), name="HTTP port")
        return int(sockets[0].getsockname()[1])

    async def stop(self) -> None:
        """Stop accepting, and close all connections."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        for acceptor in self._acceptors:
            acceptor.stop()
        self._acceptors.clear()
        if self._connecting:
            await asyncio.wait(self._connecting)
        await self._runner.cleanup()

    def _take(self, accepted: socket.socket, _: object) -> None:
        server = self._runner.server
        assert server is not None
        connection = HttpConnection(server(), self._connections)
        loop = asyncio.get_running_loop()
        task = loop.create_task(loop.connect_accepted_socket(lambda: connection, accepted))
        self._connecting.add(task)
        task.add_done_callback(partial(self._connected, accepted))

    def _connected(self, accepted: socket.socket, task: asyncio.Task[object]) -> None:
        self._connecting.discard(task)
        if task.cancelled() or task.exception() is not None:
            accepted.close()

    def _make_room(self) -> None:
        """Close the connection that has waited longest without a request."""
        waiting = [each for each in self._connections.values() if not each.requests]
        if waiting:
            min(waiting, key=lambda each: each.since).abort()

    async def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = loop.time()
            for connection in list(self._connections.values()):
                if connection.overdue(now):
                    connection.abort()
            if any(acceptor.waits_for_room for acceptor in self._acceptors):
                self._make_room()

    @web.middleware
    async def _noting(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Count a request as in work until its handler ends, and log the handler's exception."""
        connection = self._connections.get(request.protocol)
        if connection is not None:
            connection.begin()
        try:
            return await handler(request)
        except (web.HTTPException, ConnectionError):
            raise
        except Exception:
            now = asyncio.get_running_loop().time()
            if now - self._failed_at >= _LOGGED_SECONDS:
                self._failed_at = now
                log.exception("a request for %s failed", request.path)
            return web.Response(status=500, text="The request failed; the log says why.\n")
        finally:
            if connection is not None:
                connection.end()


class HttpConnection(asyncio.Protocol):
    """One connection: aiohttp's protocol, and the limits on the client's time and bytes. ``since``
    is the loop's time at which the connection began to wait for a request; ``requests`` counts the
    requests in work."""

    def __init__(
        self, inner: asyncio.Protocol, registry: dict[asyncio.BaseProtocol, HttpConnection]
    ) -> None:
        self._inner = inner
        self._registry = registry
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._patience = FIRST_SECONDS
        self._received = 0
        self._full_since: float | None = None
        self.since = self._loop.time()
        self.requests = 0

    @guarded
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection, so that it is swept."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._registry[self._inner] = self
        self._inner.connection_made(transport)

    @guarded
    def data_received(self, data: bytes) -> None:
        """Pass bytes to aiohttp; abort if an incomplete request is too long."""
        if not self.requests:
            self._received += len(data)
            if self._received > MAX_REQUEST_BYTES:
                self.abort()
                return
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """The client sends no more."""
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        """The client does not read, and the write buffer is full."""
        self._full_since = self._loop.time()
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """The client reads again, and the write buffer has room."""
        self._full_since = None
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._registry.pop(self._inner, None)
        self._inner.connection_lost(exc)

    def begin(self) -> None:
        """A whole request has arrived."""
        self.requests += 1

    def end(self) -> None:
        """The request has its response; the client may send the next request."""
        self.requests -= 1
        self._received = 0
        self._patience = IDLE_SECONDS
        self.since = self._loop.time()

    def overdue(self, now: float) -> bool:
        """Whether the client has used up its time to send a request, or to read a response."""
        if self._full_since is not None:
            return now - self._full_since > TAKING_SECONDS
        return not self.requests and now - self.since > self._patience

    def fail(self, error: Exception) -> None:
        """Close the connection, because its bytes could not be read."""
        _note(type(error).__name__, error)
        self.abort()

    def abort(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()


def _note_unread(record: logging.LogRecord) -> bool:
    """A filter of aiohttp's log that drops each record, and logs its text at level debug
    instead."""
    _note(record.getMessage())
    return False


def _note_rejected(address: str, reason: str, error: Exception | None) -> None:
    """Log a connection that could not be set up: its socket was gone at once."""
    _note(f"{address}: {reason}", error)


def _note(reason: str, error: Exception | None = None) -> None:
    log.debug("what came at the HTTP port is not HTTP: %s", reason, exc_info=error)
