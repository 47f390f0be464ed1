"""TCP connections of a listener with TLS, until their handshake is done.

A client's first bytes are read before TLS begins: until they come it costs a socket and no more,
and the name in them (SNI) says which context its TLS has. What goes on after TLS, a connection or a
login, is made only then, and knows nothing of it.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, Protocol, cast

from gateway.broker_names import UnknownName
from gateway.peers import address_text, host_text
from gateway.tls.client_hello import MAX_HELLO, ClientHello, read_hello
from gateway.tls.contexts import HELLO, ON_ALERT, UNRECOGNIZED_NAME
from gateway.tls.listener import TlsListener
from gateway.tls.principal_mapping import NoPrincipal, note_identity

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS: Final = 2.0
"""How long a client may take to answer the end of TLS; then its socket is closed all the same."""

FAILED: Final = "TLS handshake failed"
NO_PRINCIPAL: Final = "no principal"
FULL: Final = "too many unauthenticated connections"
WENT_AWAY: Final = "the client went away"
NO_SUCH_NAME: Final = "there is no such server name (SNI) here"

READ_BYTES: Final = 4_096
"""Of a client's first bytes, at a time."""

SHORTEST_SECONDS: Final = 0.001
"""For what is left of a handshake: event loops take no time-out of zero."""

GoOn = Callable[[int | None], asyncio.Protocol]
"""The broker that the client asked for by name (None: none) -> what takes the connection over."""


class Gate(Protocol):
    """What a handshake asks of those who keep count."""

    def enter(self, handshake: Handshake) -> None:
        """Another one begins; where there is no room, one that is longer about it gives way."""
        ...

    def spoke(self, handshake: Handshake) -> None:
        """Its client has sent something."""
        ...

    def leave(self, handshake: Handshake) -> None:
        """It is over."""
        ...

    def refused(self, address: str, reason: str) -> None:
        """A client at ``address`` (``host:port``) is not let in."""
        ...

    def failed(self, address: str, error: Exception) -> None:
        """Nor is this one, because of a defect of ours."""
        ...


class Handshake(asyncio.Protocol):
    """One connection that has not proved anything yet. ``connection_made`` comes after TLS."""

    __slots__ = ("_accepted", "_address", "_done", "_gate", "_go_on", "_task", "_tls", "host")

    def __init__(self, tls: TlsListener, gate: Gate, go_on: GoOn, peer: object) -> None:
        self._tls = tls
        self._gate = gate
        self._go_on = go_on
        self._address = address_text(peer)
        self.host = host_text(peer)
        self._done = False
        self._accepted: socket.socket | None = None  # until TLS is there
        self._task: asyncio.Task[None] | None = None

    def begin(self, accepted: socket.socket, seconds: float) -> None:
        """Do it, within so many seconds."""
        self._accepted = accepted
        self._gate.enter(self)
        self._task = asyncio.get_running_loop().create_task(self._run(accepted, seconds))
        self._task.add_done_callback(self._ended)

    def abort(self) -> None:
        """The gateway stops."""
        self._done = True
        self._gate.leave(self)
        if self._task is not None:
            self._task.cancel()

    def give_way(self, reason: str) -> None:
        """End it, so that others find room."""
        self._fail(reason)
        self.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """TLS is there. Nothing is read before this returns."""
        self._done = True
        self._accepted = None
        self._gate.leave(self)
        encrypted = cast(asyncio.Transport, transport)
        connection = encrypted.get_extra_info("ssl_object")
        try:
            note_identity(connection, self._tls.identity_of(connection))
            following = self._go_on(self._tls.broker_of(connection))
            encrypted.set_protocol(following)
            following.connection_made(encrypted)
        except NoPrincipal as error:
            encrypted.abort()
            self._gate.refused(self._address, f"{NO_PRINCIPAL}: {error}")
        except Exception as error:  # noqa: BLE001 - no defect may leave a socket behind
            encrypted.abort()
            self._gate.failed(self._address, error)

    async def _run(self, accepted: socket.socket, seconds: float) -> None:
        try:
            await self._do(accepted, seconds)
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
        """The task is over; it may never have begun."""
        self._gate.leave(self)
        if self._accepted is not None:
            self._accepted.close()

    async def _do(self, accepted: socket.socket, seconds: float) -> None:
        """Raises OSError, and UnknownName."""
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
        """The client's first bytes: all of its ClientHello, where a name in it matters."""
        loop = asyncio.get_running_loop()
        data = await _receive(loop, accepted)
        self._gate.spoke(self)
        if not self._tls.by_name:
            return ClientHello(data)
        while (hello := read_hello(data)) is None:
            if len(data) > MAX_HELLO:
                raise ssl.SSLError("the ClientHello is too long")
            data += await _receive(loop, accepted)
        return hello

    def _fail(self, reason: str) -> None:
        if not self._done:
            self._done = True
            self._gate.refused(self._address, reason)


async def _receive(loop: asyncio.AbstractEventLoop, accepted: socket.socket) -> bytes:
    data = await loop.sock_recv(accepted, READ_BYTES)
    if not data:
        raise ConnectionResetError(WENT_AWAY)
    return data


def _send(accepted: socket.socket, data: bytes) -> None:
    """Last words: what does not fit, or arrive, was said in vain."""
    with suppress(OSError):
        accepted.send(data)


def failure_text(error: OSError) -> str:
    """Why a handshake failed, in few words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is not believed: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        if error.reason == "CALLBACK_FAILED":
            return NO_SUCH_NAME
        return (error.reason or str(error)).lower().replace("_", " ")
    if isinstance(error, ConnectionAbortedError | TimeoutError):
        return "it took too long"
    return WENT_AWAY
