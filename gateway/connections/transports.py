"""Writing to a transport, and closing it without losing the last bytes that were written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

from gateway.exchanges.framing import Buffer

JOIN_LIMIT: Final = 32 * 1024
"""Bytes up to which the pieces of a turn are joined into a single write."""

WRITE_HIGH: Final = 256 * 1024
"""Bytes waiting for a slow reader at which the other side is no longer read."""

HALF_CLOSED_SECONDS: Final = 1.0
"""Seconds for a client to see that the gateway has closed its side; idle clients may not look
often."""

UNREAD_SECONDS: Final = 2.0
"""Seconds for a client to read the last bytes, after which the gateway aborts the connection."""

Closed: TypeAlias = Callable[[Exception | None], None]


def write(transport: asyncio.Transport, pieces: list[Buffer]) -> None:
    """Write pieces, in as few calls as is efficient."""
    if len(pieces) == 1:
        transport.write(pieces[0])
    elif sum(map(len, pieces)) <= JOIN_LIMIT:
        transport.write(b"".join(pieces))
    else:
        transport.writelines(pieces)


def close(transport: asyncio.Transport) -> None:
    """Close a connection to a client, which has a limited time to read the last bytes, because all
    that is kept for a connection is freed only with its transport."""
    if transport.is_closing():
        return
    unread = transport.get_write_buffer_size() > 0
    transport.close()
    if unread:
        asyncio.get_running_loop().call_later(UNREAD_SECONDS, transport.abort)


def half_close(transport: asyncio.Transport, closed: Closed, paused: bool) -> bool:
    """Close our side of a connection to a client first, and drop the client's further requests
    until it has closed its own side; ``closed`` then gets the argument of ``connection_lost``.
    Returns False if that is not possible: TLS cannot end a single side. ``paused``: reading from
    the client is paused.

    If a socket is closed while bytes of the client wait in it, the system resets it, and the client
    may lose a response that it has not read yet: it would then repeat a request that was carried
    out.
    """
    if transport.is_closing() or not transport.can_write_eof():
        return False
    transport.set_protocol(_HalfClosed(transport, closed))
    transport.write_eof()
    if paused:
        transport.resume_reading()
    return True


class _HalfClosed(asyncio.Protocol):
    """Owns a client's transport until it is closed."""

    def __init__(self, transport: asyncio.Transport, closed: Closed) -> None:
        self._closed = closed
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(HALF_CLOSED_SECONDS, close, transport)

    def data_received(self, data: bytes) -> None:
        """Drop requests, which are not served any more; the client sends them again elsewhere."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        self._closed(exc)
