"""The sizes of topics on the brokers' disks (DescribeLogDirs): each broker reports its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError
from gateway.cluster.cluster import Cluster
from protocol.messages import Request
from protocol.schema import error_name

SECONDS: Final = 10.0
"""Seconds for each step with a broker."""

_REQUEST: Final = Request("DescribeLogDirsRequest", 4, {"topics": None})


class Sizes(NamedTuple):
    """Bytes of all replicas, by a topic's stored name; ``missing`` has a sentence for each
    broker that did not respond."""

    topics: Mapping[str, int]
    missing: tuple[str, ...] = ()


async def stored_sizes(cluster: Cluster) -> Sizes:
    """The sizes of a cluster's topics; all brokers are queried at once."""
    answers = await asyncio.gather(
        *(_ask(cluster, node, *address) for node, address in sorted(cluster.brokers.items()))
    )
    missing = tuple(one for one in answers if isinstance(one, str))
    return Sizes(sums(one for one in answers if not isinstance(one, str)), missing)


async def _ask(cluster: Cluster, node: int, host: str, port: int) -> dict[str, int] | str:
    """The sizes of a broker, or the reason why they are not known."""
    at = f"the sizes of broker {node} are not known"
    try:
        connection = await BrokerConnection.connect(
            host, port, timeout=SECONDS, security=cluster.security
        )
        try:
            return sizes_in(await connection.ask(_REQUEST))
        finally:
            connection.close()
    except BrokerError as error:
        return f"{at}: {host}:{port}: {error}"
    except PermissionError as error:
        return f"{at}: {error}; allow the gateway Describe on the cluster"


def sizes_in(response: Any) -> dict[str, int]:
    """The sizes in a DescribeLogDirs response, without replicas that a move between two directories
    is still making. Raises PermissionError if the broker denies."""
    code = int(getattr(response, "error_code", 0))
    if code:  # from v3 on
        raise PermissionError(error_name(code))
    found: dict[str, int] = {}
    for directory in response.results:
        if int(directory.error_code):
            raise PermissionError(error_name(int(directory.error_code)))
        for topic in directory.topics:
            name = str(topic.name)
            own = sum(one.partition_size for one in topic.partitions if not one.is_future_key)
            found[name] = found.get(name, 0) + own
    return found


def sums(brokers: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """The sizes of several brokers together."""
    found: dict[str, int] = {}
    for sizes in brokers:
        for name, size in sizes.items():
            found[name] = found.get(name, 0) + size
    return found
