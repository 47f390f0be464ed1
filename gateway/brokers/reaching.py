"""Brokers that cannot be reached at their advertised addresses.

The bootstrap server responds, and then every client is sent to addresses that resolve, or are
routed, only somewhere else: the commonest mistake with ``advertised.listeners``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError
from gateway.brokers.security import BrokerSecurity

_AT_ONCE: Final = 16
_MOST: Final = 64


async def unreachable(
    brokers: Mapping[int, tuple[str, int]], security: BrokerSecurity, timeout: float
) -> dict[int, str]:
    """The reasons why brokers cannot be connected to, by node id; only the first 64 brokers are
    tried. ``timeout`` is for each step, in seconds."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def why(host: str, port: int) -> str | None:
        async with turns:
            try:
                connection = await BrokerConnection.connect(
                    host, port, timeout=timeout, security=security
                )
            except BrokerError as error:
                return str(error)
            connection.close()
            return None

    tried = dict(sorted(brokers.items())[:_MOST])
    reasons = await asyncio.gather(*(why(*address) for address in tried.values()))
    return {node: reason for node, reason in zip(tried, reasons, strict=True) if reason is not None}
