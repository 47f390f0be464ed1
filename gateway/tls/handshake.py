"""TCP connections of a listener with TLS, until their handshake is done.

With ``create_server(ssl=...)`` nobody would be told of a handshake that fails, nor from which
address. So the server sockets are plain, and each accepted socket is handed to the event loop once
more, with TLS. What goes on afterwards, a connection or a login, is made only then, and knows
nothing of TLS.
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

from gateway.peers import address_text
from gateway.tls.contexts import ON_ALERT
from gateway.tls.identity import NoPrincipal, note_identity
from gateway.tls.listener import TlsListener

log = logging.getLogger(__name__)

SHUTDOWN_SECONDS: Final = 2.0
"""How long a client may take to answer the end of TLS; then its socket is closed all the same."""

FAILED: Final = "TLS handshake failed"
FULL: Final = "too many unauthenticated connections"
WENT_AWAY: Final = "the client went away"

GoOn = Callable[[int | None], asyncio.Protocol]
"""The broker that the client asked for by name (None: none) -> what takes the connection over."""


class Gate(Protocol):
    """What a handshake asks of those who keep count."""

    def enter(self, handshake: Handshake) -> bool:
        """Whether there is room for another one."""
        ...

    def leave(self, handshake: Handshake) -> None:
        """It is over."""
        ...

    def refused(self, address: str, reason: str) -> None:
        """A client at ``address`` (``host:port``) is not let in."""
        ...


class Arrival(asyncio.Protocol):
    """A TCP connection that was just accepted: nothing is read, its socket goes on to TLS."""

    def __init__(self, begin: Callable[[socket.socket, str], None]) -> None:
        self._begin = begin

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket, and end the transport, which only closes its own descriptor."""
        tcp = cast(asyncio.Transport, transport)
        address = address_text(tcp.get_extra_info("peername"))
        try:
            taken = tcp.get_extra_info("socket").dup()
        except OSError as error:
            log.error("%s is turned away: %s", address, error.strerror)
        else:
            self._begin(taken, address)
        finally:
            tcp.abort()


class Handshake(asyncio.Protocol):
    """One connection that has not proved anything yet. ``connection_made`` comes after TLS."""

    __slots__ = ("_address", "_done", "_gate", "_go_on", "_task", "_tls")

    def __init__(self, tls: TlsListener, gate: Gate, go_on: GoOn, address: str) -> None:
        self._tls = tls
        self._gate = gate
        self._go_on = go_on
        self._address = address
        self._done = False
        self._task: asyncio.Task[None] | None = None

    def begin(self, accepted: socket.socket, seconds: float) -> None:
        """Do it, if there is room, within so many seconds."""
        if not self._gate.enter(self):
            accepted.close()
            self._gate.refused(self._address, FULL)
            return
        self._task = asyncio.get_running_loop().create_task(self._run(accepted, seconds))

    def abort(self) -> None:
        """The gateway stops."""
        if self._task is not None:
            self._task.cancel()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """TLS is there. Nothing is read before this returns."""
        self._done = True
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
            self._gate.refused(self._address, f"no principal: {error}")
        except Exception:
            encrypted.abort()
            log.exception("%s: a TLS connection failed", self._address)

    async def _run(self, accepted: socket.socket, seconds: float) -> None:
        ON_ALERT.set(partial(_send, accepted))
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: self,
                accepted,
                ssl=self._tls.context,
                ssl_handshake_timeout=seconds,
                ssl_shutdown_timeout=SHUTDOWN_SECONDS,
            )
        except OSError as error:
            self._fail(failure_text(error))
        finally:
            self._gate.leave(self)
        if not self._done:
            self._fail(WENT_AWAY)

    def _fail(self, reason: str) -> None:
        if not self._done:
            self._done = True
            self._gate.refused(self._address, f"{FAILED}: {reason}")


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
            return "there is no such server name (SNI) here"
        return (error.reason or str(error)).lower().replace("_", " ")
    if isinstance(error, ConnectionAbortedError):
        return "it took too long"
    return WENT_AWAY
