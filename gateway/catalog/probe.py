"""Probes whether another gateway is up: it accepts connections, or answers a Kafka request."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from enum import Enum, auto
from typing import Any, Final

from gateway.brokers.dialing import dial_streams
from gateway.brokers.messages import (
    CLIENT_ID,
    CORRELATION_BYTES,
    SIZE_BYTES,
    api_versions_request,
    request_frame,
)
from gateway.catalog.entities import Member

PROBE_SECONDS: Final = 0.5
"""Seconds that a gateway may take to accept a connection."""

ANSWER_SECONDS: Final = 3.0
"""Seconds that a gateway may take to answer a request."""

TICK_SECONDS: Final = 0.5
ANSWER_TICKS: Final = 6
"""Ticks without a byte after which a gateway that accepts connections counts as silent: 3 s."""

_CORRELATION_ID: Final = 1
_MOST_BYTES: Final = 64 * 1024


class Reaction(Enum):
    """The reaction of a gateway when this gateway connects to it."""

    RESPONDS = auto()
    """It sends bytes, or closes the connection."""

    SILENT = auto()
    """It accepts the connection and sends nothing, like a stopped process, for which the operating
    system accepts. A network that is cut cannot look like that."""

    NO_CONNECTION = auto()
    """It refuses the connection, or cannot be reached."""


async def is_up(member: Member) -> bool:
    """Whether a gateway accepts connections at every address of its own node."""
    return all(await asyncio.gather(*map(accepts, member.addresses.values())))


async def accepts(address: str) -> bool:
    """Whether connections are accepted at ``host:port``."""
    host, _, port = address.rpartition(":")
    # An address that is malformed raises ValueError or OverflowError.
    with suppress(OSError, TimeoutError, ValueError, OverflowError):
        async with asyncio.timeout(PROBE_SECONDS):
            _, writer = await dial_streams(host.strip("[]"), int(port))
        writer.close()
        return True
    return False


async def answers(address: str, *, tls: bool) -> bool:
    """Whether ``host:port`` answers a Kafka request within :data:`ANSWER_SECONDS`. The request is
    ApiVersions v0, which needs no login. No certificate is verified, because nothing secret is
    sent."""
    try:
        async with asyncio.timeout(ANSWER_SECONDS), _asked(address, tls=tls) as reader:
            size = int.from_bytes(await reader.readexactly(SIZE_BYTES), "big")
            if not CORRELATION_BYTES <= size <= _MOST_BYTES:
                return False
            response = await reader.readexactly(size)
            found = int.from_bytes(response[:CORRELATION_BYTES], "big")
            return found == _CORRELATION_ID
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")
    except asyncio.IncompleteReadError as error:
        # A TLS server has answered, and asks for a certificate that this process need not have: TLS
        # 1.3 closes the connection for that after the handshake, TLS 1.2 alerts within it.
        return tls and not error.partial
    except (OSError, TimeoutError, ValueError, OverflowError):
        return False


async def reaction(address: str, *, tls: bool) -> Reaction:
    """How ``host:port`` reacts to a connection and a request, within :data:`ANSWER_TICKS`.

    Ticks are counted instead of seconds: while this process is stopped, it counts no ticks, and the
    responses sent to it lie in its sockets.
    """
    if not await accepts(address):
        return Reaction.NO_CONNECTION
    asking = asyncio.create_task(_responds(address, tls=tls))
    try:
        for _ in range(ANSWER_TICKS):
            done, _ = await asyncio.wait([asking], timeout=TICK_SECONDS)
            if done:
                return Reaction.RESPONDS
        return Reaction.SILENT
    finally:
        asking.cancel()


async def _responds(address: str, *, tls: bool) -> None:
    """Return when ``host:port`` has sent a byte, closes, or fails."""
    with suppress(OSError, ValueError, OverflowError):
        async with _asked(address, tls=tls) as reader:
            await reader.read(1)


@asynccontextmanager
async def _asked(address: str, *, tls: bool) -> AsyncIterator[asyncio.StreamReader]:
    """The stream of bytes that ``host:port`` sends after a request; the connection is reset at the
    end. Raises OSError, ValueError or OverflowError if it cannot be connected to."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    options: dict[str, Any] = {"ssl": _unverified(), "server_hostname": host} if tls else {}
    reader, writer = await dial_streams(host, int(port), **options)
    try:
        writer.write(_request())
        yield reader
    finally:
        writer.transport.abort()


def _request() -> bytes:
    name = "ApiVersionsRequest"
    return request_frame(name, 0, _CORRELATION_ID, api_versions_request(0), CLIENT_ID)


def _unverified() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
