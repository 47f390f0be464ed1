"""Reach: the clusters whose brokers a listener has addresses for, in the order of their ports."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.config.models import Cluster, Config, Listener
from gateway.node_ids import NodeIdRanges
from gateway.virtual_brokers import ReachAddresses, Volume


def listener_volume(config: Config, listener: Listener) -> str:
    """The mount of the cluster that a listener's relative names are in; it may not be of this
    gateway. The root, where there is no tree too."""
    return (config.clusters[0].mount if listener.volume is None else listener.volume) or ""


def listener_ranges(config: Config, listener: Listener) -> list[tuple[Cluster, NodeIdRanges]]:
    """The clusters that a listener reaches, with their node ids, in the order of its ports.

    They are its volume's, if that is not in its ``reach``, and those of the reach; without one all
    clusters of the configuration, in its order. Mounts of other gateways have no ports here.
    """
    clusters = config.clusters
    by_mount = {each.mount: each for each in clusters if each.mount is not None}
    if listener.reach is not None and by_mount:
        paths = dict.fromkeys(listener.reach)
        volume = listener_volume(config, listener)
        if volume not in paths:
            paths = dict.fromkeys([volume, *paths])
        clusters = tuple(by_mount[path] for path in paths if path in by_mount)
    return [(each, NodeIdRanges.parse(each.node_ids)) for each in clusters]


def reach_addresses(config: Config, listener: Listener) -> ReachAddresses:
    """The addresses that a listener advertises, of every volume in its reach.

    Raises ValueError with one sentence for what is no address, or too many ports.
    """
    volumes = [
        Volume(cluster.mount or "", cluster.number or 0, ranges)
        for cluster, ranges in listener_ranges(config, listener)
    ]
    return addresses_of(listener, volumes, listener_volume(config, listener))


def addresses_of(listener: Listener, volumes: Sequence[Volume], own: str = "") -> ReachAddresses:
    """The same for volumes that are known."""
    by_name = listener.broker_names is not None
    return ReachAddresses(
        listener.advertised_host,
        listener.port if by_name else listener.broker_base_port,
        volumes,
        pattern=listener.broker_names,
        own=own,
    )
