"""Which broker a client's connection goes to, and opening it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from gateway.brokers.messages import BrokerError
from gateway.brokers.opening import open_transport
from gateway.cluster.cluster import Cluster

CONNECT_TIMEOUT: Final = 10.0
"""Seconds a broker may take to accept a connection, TLS and login included."""


async def open_broker(
    cluster: Cluster,
    node_id: int | None,
    take_over: Callable[[], asyncio.Protocol],
    *,
    log_in_first: bool = True,
) -> float:
    """Connect to the broker that a client's port stands for, or to any on a bootstrap port.

    See :func:`gateway.brokers.opening.open_transport` for the rest. Raises OSError when there is
    no such broker, or it does not accept.
    """
    if node_id is None:
        node_id, host, port = cluster.any_broker()
    elif node_id in cluster.brokers:
        host, port = cluster.brokers[node_id]
    else:
        raise ConnectionRefusedError(f"the cluster has no broker {node_id}")
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT):
            return await open_transport(
                cluster.security,
                host,
                port,
                take_over,
                cluster.api_versions,
                log_in_first=log_in_first,
            )
    except TimeoutError:
        cluster.report_connect_failure(node_id)
        raise TimeoutError(f"broker {node_id} did not accept in {CONNECT_TIMEOUT:g} s") from None
    except BrokerError as error:
        cluster.report_connect_failure(node_id)
        raise ConnectionError(f"broker {node_id} ({host}:{port}): {error}") from None
