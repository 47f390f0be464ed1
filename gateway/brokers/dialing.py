"""Opening TCP connections: by name, to whichever address of the name accepts.

Happy Eyeballs (RFC 8305): while an address has not accepted, the next one is tried beside it, so
that one that drops packets does not use up the time that there is for all. uvloop has no
``happy_eyeballs_delay``, unlike asyncio's own loop, and both look names up on shared threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

from aiohappyeyeballs import start_connection

from gateway.brokers.lookups import LOOKUPS

_Protocol = TypeVar("_Protocol", bound=asyncio.BaseProtocol)

ATTEMPT_SECONDS: Final = 0.25
"""Seconds before the next address is tried beside those that have not accepted (RFC 8305, 5)."""


async def dial(
    make: Callable[[], _Protocol], host: str, port: int, **options: Any
) -> tuple[asyncio.Transport, _Protocol]:
    """A connection as of ``loop.create_connection``; ``options`` are those of TLS. Only the caller
    bounds the time. Raises OSError, and ValueError or OverflowError for what is no address."""
    loop = asyncio.get_running_loop()
    addresses = await LOOKUPS.addresses(host, port)
    *_, first = addresses[0]
    if len(addresses) == 1:
        return await loop.create_connection(make, first[0], port, **options)
    connected = await start_connection(addresses, happy_eyeballs_delay=ATTEMPT_SECONDS)
    try:
        reached = connected.getpeername()[0]
        if reached != first[0]:
            LOOKUPS.prefer(host, reached)
        return await loop.create_connection(make, sock=connected, **options)
    except BaseException:
        connected.close()
        raise


async def dial_streams(
    host: str, port: int, **options: Any
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """:func:`dial` for what ``asyncio.open_connection`` returns."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await dial(lambda: protocol, host, port, **options)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)
