"""Whether another gateway is up, as far as it can be told from here: it accepts connections."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from gateway.catalog.entities import Member

PROBE_SECONDS: Final = 0.5
"""How long a gateway may take to accept a connection."""


async def is_up(member: Member) -> bool:
    """Whether a gateway accepts connections at every address that it has for itself."""
    return all(await asyncio.gather(*map(accepts, member.addresses.values())))


async def accepts(address: str) -> bool:
    """Whether connections are accepted at ``host:port``."""
    host, _, port = address.rpartition(":")
    # What is no address at all is a ValueError or OverflowError.
    with suppress(OSError, TimeoutError, ValueError, OverflowError):
        async with asyncio.timeout(PROBE_SECONDS):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        writer.close()
        return True
    return False
