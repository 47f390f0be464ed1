"""What a listener reaches: its clusters, and a place for each of their brokers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count, repeat
from typing import NamedTuple, Protocol, TypeVar

from gateway.config.models import Cluster, Config, Listener
from gateway.node_ids import NodeIdRanges, virtual_node_id


class _Mounted(Protocol):
    @property
    def mount(self) -> str | None: ...


_Cluster = TypeVar("_Cluster", bound=_Mounted)


def reached(clusters: Iterable[_Cluster], listener: Listener) -> tuple[_Cluster, ...]:
    """The clusters of the listener's reach: as it lists them, else all, as the file lists them.

    The ports of their brokers are put end to end in this order.
    """
    if listener.reach is None:
        return tuple(clusters)
    by_mount = {cluster.mount: cluster for cluster in clusters}
    return tuple(by_mount[mount] for mount in listener.reach if mount in by_mount)


def volume_of(config: Config, listener: Listener) -> Cluster:
    """The cluster that the listener is of."""
    clusters = config.clusters
    return next((one for one in clusters if one.mount == listener.volume), clusters[0])


class BrokerPlace(NamedTuple):
    """A place that a listener has for a broker. ``client_id`` is the node id that clients see,
    ``port`` the place's own, or the bootstrap port where brokers have names."""

    cluster: Cluster
    node_id: int
    client_id: int
    port: int


def broker_places(config: Config, listener: Listener) -> Iterator[BrokerPlace]:
    """Every place of a listener, in the order of the ports."""
    named = listener.broker_names is not None
    ports: Iterator[int] = repeat(listener.port) if named else count(listener.broker_base_port)
    for cluster in reached(config.clusters, listener):
        for node_id in NodeIdRanges.parse(cluster.node_ids):
            client_id = virtual_node_id(cluster.number or 0, node_id)
            yield BrokerPlace(cluster, node_id, client_id, next(ports))
