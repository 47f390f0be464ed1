"""Writing to a transport what a session made."""

from __future__ import annotations

import asyncio

from gateway.exchanges.framing import Buffer

JOIN_LIMIT = 32 * 1024
"""Bytes up to which what leaves in one turn is joined into one write."""

WRITE_HIGH = 256 * 1024
"""Bytes waiting for a slow reader at which the other side is no longer read."""


def write(transport: asyncio.Transport, pieces: list[Buffer]) -> None:
    """Write pieces, in as few calls as is sensible."""
    if len(pieces) == 1:
        transport.write(pieces[0])
    elif sum(map(len, pieces)) <= JOIN_LIMIT:
        transport.write(b"".join(pieces))
    else:
        transport.writelines(pieces)
