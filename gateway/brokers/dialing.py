"""Opening TCP connections by name, to the first address of the name that accepts.

Happy Eyeballs (RFC 8305): if an address has not accepted after a while, the next address is tried
beside it, so that an address that drops packets does not use up the time for all. uvloop lacks
asyncio's ``happy_eyeballs_delay``, and both loops look names up on shared threads.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

from aiohappyeyeballs import start_connection

from gateway.brokers.lookups import LOOKUPS

_Protocol = TypeVar("_Protocol", bound=asyncio.BaseProtocol)

ATTEMPT_SECONDS: Final = 0.25
"""Seconds before the next address is tried beside addresses that have not accepted (RFC 8305,
5)."""


async def dial(
    make: Callable[[], _Protocol], host: str, port: int, **options: Any
) -> tuple[asyncio.Transport, _Protocol]:
    """A connection like that of ``loop.create_connection``; ``options`` are its options for TLS.
    There is no timeout here. Raises OSError; ValueError or OverflowError for an invalid address."""
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
    """:func:`dial`, but returns streams like ``asyncio.open_connection``."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await dial(lambda: protocol, host, port, **options)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)
