"""Where the broker is that a client connects to.

Brokers name one that is new or back in Metadata at once; the gateway lists its cluster every few
seconds. So a broker that is not listed is looked for in a new listing before a client is closed.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Final

from gateway.cluster.cluster import Cluster
from gateway.cluster.link import ClusterUnreachable
from gateway.cluster.listing import Address

LISTING_SECONDS: Final = 2.0
"""Seconds for which a connection waits for a listing."""

LAG_SECONDS: Final = 0.5
"""Seconds for which a broker that an answer has named is looked for again and again: the broker
that is asked for listings may learn of it a little later than the one that named it."""


async def locate(cluster: Cluster, node_id: int) -> Address | None:
    """The address of a broker; None: the cluster lists no such broker.

    A new listing is waited for if the last one lacks the broker, or an answer to a client gave it
    another address since.
    """
    named = cluster.named_elsewhere(node_id)
    if node_id in cluster.brokers and named is None:
        return cluster.brokers[node_id]
    time = asyncio.get_running_loop().time
    until = time() if named is None else time() + LAG_SECONDS
    await list_anew(cluster)
    # A cluster that has not started, or has stopped, answers at once: asking it again would spin.
    while (
        node_id not in cluster.brokers and cluster.started and cluster.reachable and time() < until
    ):
        await list_anew(cluster)
    return cluster.brokers.get(node_id)


async def located_elsewhere(cluster: Cluster, node_id: int, failed: Address) -> Address | None:
    """The address of a broker that could not be connected to at the one that ``failed``, if a new
    listing has another one."""
    await list_anew(cluster)
    address = cluster.brokers.get(node_id)
    return None if address == failed else address


async def list_anew(cluster: Cluster) -> None:
    """Wait for a new listing, if the cluster gives one in time."""
    with suppress(ClusterUnreachable, TimeoutError):
        async with asyncio.timeout(LISTING_SECONDS):
            await cluster.refresh()
