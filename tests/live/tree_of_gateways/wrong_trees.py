"""Wrongly configured gateways on the clusters of the tree, beside its own gateways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from devkit.broker import KafkaCluster
from devkit.certificates import Authority
from devkit.gateway_config import Listener, MountedCluster, PeerGateway, TreePlace
from devkit.gateway_process import GatewayProcess
from devkit.ports import free_port
from tests.live.tree_of_gateways.sites import (
    CATALOG,
    LA,
    NAMES,
    NUMBERS,
    ROOT,
    VOLUMES,
    Tree,
    places,
    sites,
)

NOBODY: Final = "nobody"
"""A mount that no gateway has."""

ROUND: Final = dict(zip(("x", "y", "z"), VOLUMES, strict=True))
"""The mounts of three gateways in a circle, and the volumes whose clusters they have."""


@contextmanager
def denying(clusters: Mapping[str, KafkaCluster], authority: Authority) -> Iterator[Tree]:
    """A root and its child that let each other speak for no principal."""
    names = {mount: f"denying-{name}" for mount, name in NAMES.items()}
    where = places(authority, names=names, principals={})
    with sites(clusters, {mount: where[mount] for mount in (ROOT, LA)}) as started:
        yield started


@contextmanager
def in_a_circle(
    clusters: Mapping[str, KafkaCluster], authority: Authority
) -> Iterator[dict[str, GatewayProcess]]:
    """Three gateways in a circle, by their mounts.

    Each has the next gateway as its parent, and the previous gateway as a child with a false mount.
    """
    mounts = list(ROUND)
    ports = {mount: free_port() for mount in mounts}
    with ExitStack() as stack:
        started = {}
        for place, mount in enumerate(mounts):
            after, before = mounts[(place + 1) % 3], mounts[place - 1]
            peers = [
                PeerGateway(after, ports[after]),
                PeerGateway(before, ports[before], f"{mount}:lie"),
            ]
            volume = ROUND[mount]
            cluster = MountedCluster(
                mount,
                NUMBERS[volume],
                clusters[volume].bootstrap_servers,
                {"catalog": CATALOG},
            )
            security = {"volume": mount, "reach": [mount, f"{mount}:lie", NOBODY]}
            started[mount] = stack.enter_context(
                GatewayProcess(
                    [cluster],
                    [Listener("all", "all", security=security)],
                    [],
                    tree_place=TreePlace(
                        mount, ports[mount], authority.peer(mount), authority.file, peers
                    ),
                )
            )
        yield started


def lookups(gateway: GatewayProcess, **labels: str) -> int:
    """The number of questions with these labels that a gateway has asked its peers."""
    families = text_string_to_metric_families(gateway.fresh_metrics())
    return sum(
        int(sample.value)
        for family in families
        for sample in family.samples
        if sample.name == "kafka_gateway_tree_lookups_total"
        and labels.items() <= sample.labels.items()
    )
