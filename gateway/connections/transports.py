"""Writing to a transport, and closing one without losing what was written last."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, TypeAlias

from gateway.exchanges.framing import Buffer

JOIN_LIMIT: Final = 32 * 1024
"""Bytes up to which what leaves in one turn is joined into one write."""

WRITE_HIGH: Final = 256 * 1024
"""Bytes waiting for a slow reader at which the other side is no longer read."""

HALF_CLOSED_SECONDS: Final = 1.0
"""For a client to see that the gateway has closed its side; idle ones may not look that often."""

UNREAD_SECONDS: Final = 2.0
"""For a client to read what was written last, once the gateway closes the connection."""

Closed: TypeAlias = Callable[[Exception | None], None]


def write(transport: asyncio.Transport, pieces: list[Buffer]) -> None:
    """Write pieces, in as few calls as is sensible."""
    if len(pieces) == 1:
        transport.write(pieces[0])
    elif sum(map(len, pieces)) <= JOIN_LIMIT:
        transport.write(b"".join(pieces))
    else:
        transport.writelines(pieces)


def close(transport: asyncio.Transport) -> None:
    """Close a connection to a client, which may read what was written last, but not for ever: what
    stands for it goes only with its transport."""
    unread = not transport.is_closing() and transport.get_write_buffer_size() > 0
    transport.close()
    if unread:
        asyncio.get_running_loop().call_later(UNREAD_SECONDS, transport.abort)


def half_close(transport: asyncio.Transport, closed: Closed, paused: bool) -> bool:
    """Close our side of a connection to a client first, and drop what the client still sends until
    it has closed its own; then ``closed`` gets what ``connection_lost`` gets. False if it cannot
    be: TLS has no end of one side. ``paused``: nothing is read from it now.

    A socket that is closed while bytes of the client wait in it is reset, and the client may lose
    the response that it has not read yet: it would request again what was done.
    """
    if transport.is_closing() or not transport.can_write_eof():
        return False
    transport.set_protocol(_HalfClosed(transport, closed))
    transport.write_eof()
    if paused:
        transport.resume_reading()
    return True


class _HalfClosed(asyncio.Protocol):
    """Takes over a client's transport until it is closed."""

    def __init__(self, transport: asyncio.Transport, closed: Closed) -> None:
        self._closed = closed
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(HALF_CLOSED_SECONDS, close, transport)

    def data_received(self, data: bytes) -> None:
        """Requests that are not served any more; the client sends them again elsewhere."""

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        self._closed(exc)
