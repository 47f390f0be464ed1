"""Opening a broker connection for a client: TCP, TLS, and the gateway's own login if it has one.

After that, the protocol that carries the client's requests takes the transport over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from gateway.brokers.dialing import dial
from gateway.brokers.errors import BrokerError, LoginError, Unanswered
from gateway.brokers.login_exchange import authenticate_version, log_in
from gateway.brokers.messages import (
    CORRELATION_BYTES,
    SIZE_BYTES,
    request_frame,
    response_body,
    response_entity,
)
from gateway.brokers.security import BrokerSecurity
from protocol.errors import ProtocolError

CONNECT_SECONDS: Final = 10.0
"""Seconds for TCP and TLS: the default of clients (``socket.connection.setup.timeout.ms``)."""

LOGIN_SECONDS: Final = 30.0
"""Seconds for the login: the default of clients (``request.timeout.ms``), because a broker at its
limit of connections responds late. A client that gives up earlier ends the opening."""

MAX_ANSWER: Final = 64 * 1024
"""Bytes of a response in a login: no such response is longer."""

ApiVersions = Mapping[int, tuple[int, int]]
"""API key -> (lowest, highest) version."""


async def open_transport(
    security: BrokerSecurity,
    host: str,
    port: int,
    take_over: Callable[[], asyncio.Protocol],
    api_versions: ApiVersions,
    *,
    log_in_first: bool = True,
) -> float:
    """Connect, log in (unless the client does that itself), and let ``take_over()`` go on.

    Its ``connection_made`` is called then. Returns how many seconds the session lasts, 0: as long
    as the connection. ``api_versions`` are the broker's. Raises BrokerError, also as Unanswered.
    """
    login = security.login() if log_in_first else None
    options = security.socket_options(host)
    make = take_over if login is None else _LoggingIn
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            transport, protocol = await dial(make, host, port, **options)
    except TimeoutError:
        raise BrokerError(f"no connection within {CONNECT_SECONDS:g} s") from None
    except (OSError, ValueError, OverflowError) as error:
        kind = Unanswered if isinstance(error, ConnectionResetError) else BrokerError
        raise kind(f"cannot connect: {security.reason(error)}") from None
    if login is None:
        return 0.0
    channel = cast(_LoggingIn, protocol)
    try:
        async with asyncio.timeout(LOGIN_SECONDS):
            await log_in(login, channel.ask, authenticate_version(api_versions))
        channel.check_open()
    except TimeoutError:
        transport.abort()
        raise BrokerError(f"no end of the login within {LOGIN_SECONDS:g} s") from None
    except OSError as error:
        kind = BrokerError if channel.answered or security.has_tls else Unanswered
        raise kind(f"cannot log in: {security.reason(error)}") from None
    except BaseException:
        transport.abort()
        raise
    following = take_over()
    transport.set_protocol(following)
    following.connection_made(transport)
    return login.session_seconds


class _LoggingIn(asyncio.Protocol):
    """A connection while the gateway logs in, with a request at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._lost: Exception | None = None
        self._received = b""
        self._waiting: asyncio.Future[bytes] | None = None
        self._correlation_id = 0
        self.answered = False

    async def ask(self, name: str, version: int, entity: Any) -> Any:
        """Return the response entity of a request. Raises OSError; LoginError for a malformed
        response."""
        self.check_open()
        assert self._transport is not None
        self._correlation_id += 1
        self._waiting = asyncio.get_running_loop().create_future()
        self._transport.write(request_frame(name, version, self._correlation_id, entity))
        payload = await self._waiting
        try:
            body = response_body(name, version, self._correlation_id, payload)
            return response_entity(name, version, body)
        except ProtocolError as error:
            raise LoginError(f"the answer to {name} makes no sense: {error}") from None

    def check_open(self) -> None:
        """Raise OSError if the broker has ended the connection."""
        if self._lost is not None:
            raise self._lost

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport; any TLS handshake is done."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Receive a response, or pieces of it."""
        self.answered = True
        self._received += data
        received = self._received
        size = int.from_bytes(received[:SIZE_BYTES], "big", signed=True)
        whole = len(received) >= SIZE_BYTES
        if whole and not CORRELATION_BYTES <= size <= MAX_ANSWER:
            self._fail(LoginError(f"an answer of {size} bytes makes no sense in a login"))
        elif self._waiting is None or (len(received) > SIZE_BYTES + size and whole):
            self._fail(LoginError("it says more in a login than it was asked"))
        elif whole and len(received) == SIZE_BYTES + size:
            self._received = b""
            waiting, self._waiting = self._waiting, None
            if not waiting.done():
                waiting.set_result(received[SIZE_BYTES:])

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail: the broker or the system has ended the connection."""
        self._fail(exc or ConnectionResetError("the broker closed the connection in the login"))

    def _fail(self, error: Exception) -> None:
        if self._lost is None:
            self._lost = error
        if self._transport is not None:
            self._transport.abort()
        waiting, self._waiting = self._waiting, None
        if waiting is not None and not waiting.done():
            waiting.set_exception(error)
