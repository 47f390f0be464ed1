"""Reach of a configuration's listeners: mounts, clusters, and an address for each broker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import count, repeat
from typing import NamedTuple, TypeVar

from gateway.config.addresses import Address
from gateway.config.models import Cluster, Config, Listener
from gateway.mounts import Mount, Mounts
from gateway.node_ids import NodeIdRanges, virtual_node_id
from gateway.virtual_brokers import ReachAddresses, Volume

_Cluster = TypeVar("_Cluster")


def mount_of(cluster: Cluster) -> Mount | None:
    """The mount of a cluster, or None if there is no tree."""
    if cluster.mount is None or cluster.number is None:
        return None
    return Mount(cluster.mount, cluster.number, cluster.name)


def mounts_of(config: Config) -> Mounts | None:
    """The mounts of a configuration, in its order, followed by the mounts of other gateways that it
    names, or None if there is no tree. Mounts of other gateways are reached only by listeners whose
    ``reach`` has them."""
    mounts = [mount for each in config.clusters if (mount := mount_of(each)) is not None]
    if not mounts:
        return None
    own = [mount.path for mount in mounts]
    far = [Mount(path) for path in far_paths(config)]
    return Mounts([*mounts, *far], own if far else None)


def far_paths(config: Config) -> list[str]:
    """The mounts of other gateways that a configuration names: its children's, and its listeners'
    volumes and reach."""
    named = [child.mount for child in config.tree.children] if config.tree is not None else []
    for listener in config.listeners:
        named += [] if listener.volume is None else [listener.volume]
        named += listener.reach or ()
    own = {cluster.mount for cluster in config.clusters}
    return [path for path in dict.fromkeys(named) if path not in own]


def volume_of(config: Config, listener: Listener) -> Cluster:
    """The cluster that a listener's relative names are in: the first cluster if no volume is
    given."""
    clusters = config.clusters
    return next((one for one in clusters if one.mount == listener.volume), clusters[0])


def reached(
    clusters: Iterable[tuple[str | None, _Cluster]], listener: Listener
) -> tuple[_Cluster, ...]:
    """The clusters whose brokers have a port on the listener, in the order of the ports, from all
    clusters, each after its mount.

    These are the listener's own volume, if its ``reach`` lacks it, and the clusters of its reach.
    Without a reach, all clusters, in the order of the configuration. Mounts of other gateways have
    no ports here.
    """
    clusters = tuple(clusters)
    by_mount = {mount: each for mount, each in clusters if mount is not None}
    if listener.reach is None or not by_mount:
        return tuple(each for _, each in clusters)
    own = clusters[0][0] if listener.volume is None else listener.volume
    paths = listener.reach if own in listener.reach else (own, *listener.reach)
    return tuple(by_mount[path] for path in dict.fromkeys(paths) if path in by_mount)


def reached_clusters(config: Config, listener: Listener) -> tuple[Cluster, ...]:
    """The clusters of a configuration that a listener reaches, in the order of its ports."""
    return reached(((each.mount, each) for each in config.clusters), listener)


def listener_ranges(config: Config, listener: Listener) -> list[tuple[Cluster, NodeIdRanges]]:
    """The clusters that a listener reaches, with their node ids, in the order of its ports."""
    return [
        (each, NodeIdRanges.parse(each.node_ids)) for each in reached_clusters(config, listener)
    ]


class BrokerPlace(NamedTuple):
    """A place that a listener has for a broker."""

    cluster: Cluster
    node_id: int
    # The node id that clients see.
    client_id: int
    # The place's own port, or the bootstrap port if brokers have host names.
    port: int


def broker_places(config: Config, listener: Listener) -> Iterator[BrokerPlace]:
    """Every place of a listener, in the order of the ports."""
    named = listener.broker_names is not None
    ports: Iterator[int] = repeat(listener.port) if named else count(listener.broker_base_port)
    for cluster, ranges in listener_ranges(config, listener):
        for node_id in ranges:
            client_id = virtual_node_id(cluster.number or 0, node_id)
            yield BrokerPlace(cluster, node_id, client_id, next(ports))


def reach_addresses(config: Config, listener: Listener) -> ReachAddresses:
    """The addresses that a listener advertises for every volume in its reach.

    Raises ValueError with one sentence for an invalid address, or too many ports.
    """
    volumes = [
        Volume(cluster.mount or "", cluster.number or 0, ranges)
        for cluster, ranges in listener_ranges(config, listener)
    ]
    own = config.clusters[0].mount if listener.volume is None else listener.volume
    return addresses_of(listener, volumes, own or "")


def addresses_of(listener: Listener, volumes: Sequence[Volume], own: str = "") -> ReachAddresses:
    """The addresses that a listener advertises for these volumes, in the order of its ports.
    ``own`` is the mount of the listener's volume, which may belong to another gateway."""
    by_name = listener.broker_names is not None
    return ReachAddresses(
        listener.advertised_host,
        listener.port if by_name else listener.broker_base_port,
        volumes,
        pattern=listener.broker_names,
        own=own,
        gateway=listener.gateway_name if by_name else listener.gateway_port,
    )


def gateway_address(listener: Listener) -> Address | None:
    """The address of the node that stands for the gateway at a listener, or None if there is no
    such node."""
    if listener.broker_names is not None:
        name = listener.gateway_name
        return None if name is None else Address(name, listener.port)
    if listener.gateway_port is None:
        return None
    return Address(listener.advertised_host, listener.gateway_port)


def broker_addresses(config: Config, cluster: Cluster) -> dict[str, str]:
    """The first address for a cluster's brokers, by listener, as in
    :class:`gateway.catalog.entities.Member`. Only listeners that have a node for the gateway, and
    that reach the cluster, are included."""
    found = {}
    for listener in config.listeners:
        if gateway_address(listener) is None:
            continue
        addresses = reach_addresses(config, listener).by_volume.get(cluster.mount or "")
        if addresses is not None:
            host = listener.broker_names or listener.advertised_host
            found[listener.name] = str(Address(host, addresses.base_port))
    return found


def gateway_addresses(config: Config) -> dict[str, str]:
    """The addresses of the gateway's nodes as text, by listener; listeners without such a node are
    left out."""
    found = {listener.name: gateway_address(listener) for listener in config.listeners}
    return {name: str(address) for name, address in found.items() if address is not None}
