"""The address of the broker that a client connects to.

Brokers name a broker that is new or back in Metadata at once; the gateway lists its cluster every
few seconds. So if a broker is not listed, a new listing is made before the client is closed.
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
"""Seconds, after a response has named a broker, for which listings are repeated for it: the broker
that gives listings may learn of it a little later than the broker that named it."""

PAUSE_SECONDS: Final = 0.25
"""Seconds between two listings for brokers that no response has named. If a client connects to the
port of a broker that does not exist, as a load balancer's check may, it causes few listings."""


async def locate(cluster: Cluster, node_id: int) -> Address | None:
    """The address of a broker, or None if the cluster lists no such broker.

    A new listing is awaited if the last listing lacks the broker, or if a response to a client has
    given it another address since.
    """
    listed, named = cluster.brokers.get(node_id), cluster.heard.waiting(node_id)
    if named is None or named == listed:
        if listed is not None:
            return listed
        if not _named_lately(cluster, node_id):
            return await _unnamed(cluster, node_id)
    await list_anew(cluster)
    # A cluster that has not started, or has stopped, returns at once: a loop would spin.
    while (
        node_id not in cluster.brokers
        and cluster.started
        and cluster.reachable
        and _named_lately(cluster, node_id)
    ):
        await list_anew(cluster)
    return cluster.brokers.get(node_id)


def _named_lately(cluster: Cluster, node_id: int) -> bool:
    """Whether a response named a broker a moment ago that no listing has confirmed since."""
    at = cluster.heard.named_at(node_id)
    return at is not None and asyncio.get_running_loop().time() - at < LAG_SECONDS


async def _unnamed(cluster: Cluster, node_id: int) -> Address | None:
    """The address of a broker that is neither listed nor was named lately, if it turns up."""
    before = cluster.listed_at
    await asyncio.sleep(before + PAUSE_SECONDS - asyncio.get_running_loop().time())
    if cluster.listed_at == before:
        await list_anew(cluster)
    return cluster.brokers.get(node_id)


async def located_elsewhere(cluster: Cluster, node_id: int, failed: Address) -> Address | None:
    """The address of a broker in a new listing, unless it is still the address that ``failed``."""
    await list_anew(cluster)
    address = cluster.brokers.get(node_id)
    return None if address == failed else address


async def list_anew(cluster: Cluster) -> None:
    """Wait for a new listing, as far as the cluster gives it in time."""
    with suppress(ClusterUnreachable, TimeoutError):
        async with asyncio.timeout(LISTING_SECONDS):
            await cluster.refresh()
