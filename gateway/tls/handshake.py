"""TCP connections of a listener with TLS, until their handshake is done.

A client's first bytes are read before TLS begins, so until they come the client costs a socket
only, and the server name in them (SNI) chooses the context. The connection or login that follows is
created after the handshake, and knows nothing of TLS.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, NamedTuple, cast

from gateway.broker_names import UnknownName
from gateway.peers import address_text, host_text
from gateway.tls.client_hello import ClientHello, HelloReader, InvalidHello
from gateway.tls.contexts import HELLO, ON_ALERT, UNRECOGNIZED_NAME
from gateway.tls.listener import TlsListener
from gateway.tls.principal_mapping import NoPrincipal

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS: Final = 2.0
"""Seconds that a client may take to answer the end of TLS before its socket is closed."""

FAILED: Final = "TLS handshake failed"
NO_PRINCIPAL: Final = "no principal"
FULL: Final = "too many unauthenticated connections"
WENT_AWAY: Final = "the client went away"
NO_SUCH_NAME: Final = "there is no such server name (SNI) here"

READ_BYTES: Final = 4_096
"""Bytes read from a client at a time, before TLS."""

SHORTEST_SECONDS: Final = 0.001
"""The least time given to the rest of a handshake: event loops take no time-out of zero."""

GoOn = Callable[[int | None], asyncio.Protocol]
"""The broker that the client requested by name (None: no broker) -> the protocol that follows
TLS."""


class Gate(NamedTuple):
    """Called at the steps of handshakes, to count and limit those in progress."""

    # Another handshake begins; if there is no room, a slower handshake gives way.
    enter: Callable[[Handshake], None]
    # The handshake's client has sent its first bytes.
    spoke: Callable[[Handshake], None]
    # The handshake has ended.
    leave: Callable[[Handshake], None]
    # The client at an address (``host:port``) is rejected, with the reason.
    rejected: Callable[[str, str], None]
    # The client at an address is closed because of a defect of the gateway.
    failed: Callable[[str, Exception], None]


class _SaidNothing(Exception):
    """The client closed the connection before its first byte."""


class Handshake(asyncio.Protocol):
    """A connection until its handshake is done. ``connection_made`` is called after TLS."""

    __slots__ = ("_accepted", "_address", "_done", "_gate", "_go_on", "_task", "_tls", "host")

    def __init__(self, tls: TlsListener, gate: Gate, go_on: GoOn, peer: object) -> None:
        self._tls = tls
        self._gate = gate
        self._go_on = go_on
        self._address = address_text(peer)
        self.host = host_text(peer)
        self._done = False
        self._accepted: socket.socket | None = None  # until TLS has the socket
        self._task: asyncio.Task[None] | None = None

    def begin(self, accepted: socket.socket, seconds: float) -> None:
        """Begin the handshake, which may take so many seconds."""
        self._accepted = accepted
        self._gate.enter(self)
        self._task = asyncio.get_running_loop().create_task(self._run(accepted, seconds))
        self._task.add_done_callback(self._ended)

    def abort(self) -> None:
        """End the handshake without sending anything, as when the gateway stops."""
        self._done = True
        self._gate.leave(self)
        if self._task is not None:
            self._task.cancel()

    def give_way(self, reason: str) -> None:
        """End the handshake, to make room for others."""
        self._fail(reason)
        self.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Hand the transport to the protocol that follows; nothing is read before this returns."""
        self._done = True
        self._accepted = None
        self._gate.leave(self)
        encrypted = cast(asyncio.Transport, transport)
        connection = encrypted.get_extra_info("ssl_object")
        try:
            connection.identity = self._tls.identity_of(connection)
            following = self._go_on(self._tls.broker_of(connection))
            encrypted.set_protocol(following)
            following.connection_made(encrypted)
        except NoPrincipal as error:
            encrypted.abort()
            self._gate.rejected(self._address, f"{NO_PRINCIPAL}: {error}")
        except Exception as error:  # noqa: BLE001 - no defect may leave a socket behind
            encrypted.abort()
            self._gate.failed(self._address, error)

    async def _run(self, accepted: socket.socket, seconds: float) -> None:
        try:
            await self._shake_hands(accepted, seconds)
        except _SaidNothing:
            self._done = True
        except UnknownName:
            _send(accepted, UNRECOGNIZED_NAME)
            self._fail(f"{FAILED}: {NO_SUCH_NAME}")
        except OSError as error:
            self._fail(f"{FAILED}: {failure_text(error)}")
        except Exception as error:  # noqa: BLE001 - no defect may leave a socket behind
            self._done = True
            self._gate.failed(self._address, error)
        else:
            self._fail(f"{FAILED}: {WENT_AWAY}")

    def _ended(self, _: asyncio.Task[None]) -> None:
        # The task may have been cancelled before it began.
        self._gate.leave(self)
        if self._accepted is not None:
            self._accepted.close()

    async def _shake_hands(self, accepted: socket.socket, seconds: float) -> None:
        """Run the handshake. Raises OSError, and UnknownName."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        async with asyncio.timeout_at(deadline):
            hello = await self._hello(accepted)
        context = self._tls.context_for(hello)
        HELLO.set(hello)
        ON_ALERT.set(partial(_send, accepted))
        await loop.connect_accepted_socket(
            lambda: self,
            accepted,
            ssl=context,
            ssl_handshake_timeout=max(deadline - loop.time(), SHORTEST_SECONDS),
            ssl_shutdown_timeout=SHUTDOWN_SECONDS,
        )

    async def _hello(self, accepted: socket.socket) -> ClientHello:
        """The client's first bytes; its whole ClientHello if brokers go by name. Raises
        _SaidNothing if the client sends nothing, which is no failure: it is a load balancer's
        check, some of which reset their connections, or another gateway's probe whether this
        gateway is up."""
        loop = asyncio.get_running_loop()
        try:
            data = await loop.sock_recv(accepted, READ_BYTES)
        except ConnectionError:
            raise _SaidNothing from None
        if not data:
            raise _SaidNothing
        self._gate.spoke(self)
        if not self._tls.by_name:
            return ClientHello(data)
        reader = HelloReader()
        try:
            while (hello := reader.read(data)) is None:
                data = await _receive(loop, accepted)
        except InvalidHello as error:
            raise ssl.SSLError(str(error)) from None
        return hello

    def _fail(self, reason: str) -> None:
        if not self._done:
            self._done = True
            self._gate.rejected(self._address, reason)


async def _receive(loop: asyncio.AbstractEventLoop, accepted: socket.socket) -> bytes:
    data = await loop.sock_recv(accepted, READ_BYTES)
    if not data:
        raise ConnectionResetError(WENT_AWAY)
    return data


def _send(accepted: socket.socket, data: bytes) -> None:
    with suppress(OSError):  # the connection ends anyway
        accepted.send(data)


def failure_text(error: OSError) -> str:
    """The reason why a handshake failed, in a few words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is not believed: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        if error.reason == "CALLBACK_FAILED":
            return NO_SUCH_NAME
        return (error.reason or str(error)).lower().replace("_", " ")
    if isinstance(error, ConnectionAbortedError | TimeoutError):
        return "it took too long"
    return WENT_AWAY
