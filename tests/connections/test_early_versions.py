"""ApiVersions before a login, and in a tree: the versions of the broker of a client's port, or else
the versions common to all known brokers. Ranges are from Kafka 4.3.1 (node 1) and 3.9.1 (node
2)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gateway.cluster.served import common
from gateway.config.models import Listener
from gateway.connections.admission import MOST_BODIES, EarlyVersions
from gateway.connections.volumes import Volume, Volumes
from gateway.node_ids import NodeIdRanges
from gateway.virtual_brokers import ListenerAddresses, Target
from protocol import messages
from tests.cluster.answers import served
from tests.tree.fake_tree import LISTENER, FakeCluster, FakeTree

PRODUCE, METADATA, SASL_HANDSHAKE, SASL_AUTHENTICATE = 0, 3, 17, 36
NEW = served({PRODUCE: (3, 13), METADATA: (0, 13)}, {"metadata.version": 29}, epoch=7)
OLD = served({PRODUCE: (0, 11), METADATA: (0, 12)}, {"metadata.version": 21}, epoch=7)
OWN = {SASL_HANDSHAKE, SASL_AUTHENTICATE}
LISTENING = Listener.model_construct(name=LISTENER, port=9000, reach=None)


def plain(cluster: FakeCluster) -> Volumes:
    """A cluster without a tree."""
    parts: Any = (SimpleNamespace(), SimpleNamespace(mount=""), cluster, None, None)
    return Volumes([Volume(None, *parts)], [LISTENING])


def target(node_id: int | None, path: str = "") -> Target:
    addresses = ListenerAddresses("gateway", 9000, NodeIdRanges.parse(["1-9"]))
    return Target(path, addresses, node_id)


def mixed(cluster: FakeCluster) -> FakeCluster:
    """Let a cluster have brokers of both versions."""
    cluster.served_apart = {1: NEW, 2: OLD}
    cluster.served = common([NEW, OLD])
    return cluster


def read(body: bytes, version: int) -> tuple[dict[int, int], dict[str, int]]:
    """The highest version of each API, and the level of each finalized feature."""
    response = messages.parse("ApiVersionsResponse", version, body)
    features = getattr(response, "finalized_features", ())
    highest = {each.api_key: each.max_version for each in response.api_keys}
    return highest, {each.name: each.max_version_level for each in features}


def told(volumes: Volumes, to: Target, version: int = 4) -> tuple[dict[int, int], dict[str, int]]:
    return read(EarlyVersions(volumes).body(LISTENING, to, version), version)


@pytest.mark.parametrize("version", range(5))
def test_a_client_of_a_brokers_port_is_told_what_that_serves(version: int) -> None:
    volumes = plain(mixed(FakeCluster({})))
    for node_id, metadata, level in ((1, 13, 29), (2, 12, 21)):
        highest, features = told(volumes, target(node_id), version)
        assert highest.keys() >= OWN
        assert highest[METADATA] == metadata
        assert features == ({"metadata.version": level} if version >= 3 else {})


@pytest.mark.parametrize("node_id", [None, 3])
def test_where_it_may_be_any_or_is_not_known_a_client_is_told_what_all_serve(
    node_id: int | None,
) -> None:
    highest, features = told(plain(mixed(FakeCluster({}))), target(node_id))
    assert (highest[PRODUCE], highest[METADATA]) == (11, 12)
    assert features == {"metadata.version": 21}


def test_bodies_are_kept_until_a_broker_answers_otherwise() -> None:
    cluster = mixed(FakeCluster({}))
    versions = EarlyVersions(plain(cluster))
    before = versions.body(LISTENING, target(2), 4)
    assert versions.body(LISTENING, target(2), 4) is before
    cluster.served_apart[2] = NEW
    assert read(versions.body(LISTENING, target(2), 4), 4)[0][METADATA] == 13


def test_ports_without_a_broker_take_no_memory() -> None:
    versions = EarlyVersions(plain(mixed(FakeCluster({}))))
    bodies = {id(versions.body(LISTENING, target(node), 4)) for node in range(3, 5_000)}
    assert len(bodies) == 1


def test_brokers_that_change_take_no_memory() -> None:
    cluster = FakeCluster({})
    versions = EarlyVersions(plain(cluster))
    for highest in range(1, 3 * MOST_BODIES):
        cluster.served = served({METADATA: (0, highest)})
        versions.body(LISTENING, target(1), 4)
    assert len(versions._bodies) <= MOST_BODIES


def test_what_another_cluster_of_the_tree_said_while_the_own_one_was_never_seen() -> None:
    """Clients log in at a listener whose cluster was down when the gateway started."""
    tree = FakeTree()
    assert told(tree.volumes, target(None))[0].keys() >= OWN
    tree.clusters["ny"].served = OLD
    assert told(tree.volumes, target(None))[0][METADATA] == 12
    tree.clusters["la"].served = served({PRODUCE: (3, 13)})
    assert METADATA not in told(tree.volumes, target(None))[0]


def test_in_a_tree_a_node_is_its_own_clusters() -> None:
    """Produce goes to the node; Metadata is answered for all clusters in reach."""
    tree = FakeTree()
    tree.clusters["la"].served, tree.clusters["ny"].served = NEW, OLD
    for node_id, path, produce in ((1, "la", 13), (1, "ny", 11)):
        highest, features = told(tree.volumes, target(node_id, path))
        assert (highest[PRODUCE], highest[METADATA]) == (produce, 12)
        assert features == {"metadata.version": 21}


@pytest.mark.parametrize(("node_id", "produce"), [(1, 13), (2, 11), (3, 11), (None, 11)])
def test_in_a_tree_before_and_after_a_login_alike(node_id: int | None, produce: int) -> None:
    tree = FakeTree()
    mixed(tree.clusters["la"])
    tree.clusters["ny"].served = NEW
    tree.client.node_id = node_id
    early = EarlyVersions(tree.volumes).body(LISTENING, target(node_id, "la"), 4)
    assert tree.lanes.api_versions(4) == early
    highest, features = read(early, 4)
    assert (highest[PRODUCE], highest[METADATA]) == (produce, 12)
    assert features == {"metadata.version": 21}
