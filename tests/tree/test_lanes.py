"""Parts of requests in other volumes: the requests sent, their time limits, and what is
remembered."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from gateway.apis.table import APIS
from gateway.catalog.entities import Member
from gateway.config.models import Listener
from gateway.connections.clients import Clients
from gateway.error_codes import LEADER_NOT_AVAILABLE
from gateway.exchanges.tree import VolumeUnreachable
from gateway.fleet.gateway_nodes import GatewayNodes
from gateway.rules.declaration import Effect
from gateway.tree import lane_seconds
from gateway.tree.lanes import LaneHub, Lanes
from protocol import messages
from protocol.schema import api_key_of
from tests.pauses import pause_everywhere
from tests.scenarios.entities import entity
from tests.session.pair import topic_id
from tests.tree.fake_tree import PATHS, FakeCluster, FakeTree

METADATA = api_key_of("MetadataRequest")
LA_1, NY_1, NY_2 = 1 << 16 | 1, 2 << 16 | 1, 2 << 16 | 2


def wanted(*names: str, version: int = 12) -> bytes:
    topics = [{"topic_id": None, "name": name} for name in names]
    cls = messages.message_class("MetadataRequest", version)
    return messages.write(entity(cls, {"topics": topics}))


def answers_metadata(cluster: FakeCluster, *, nodes: tuple[int, ...] = (1,)) -> None:
    """Let a cluster respond to Metadata for any topic, which its first node leads."""

    async def answer(api: str, version: int, request: Any) -> dict[str, object]:
        brokers = [{"node_id": node, "host": "kafka", "port": 9092} for node in nodes]
        topics = [
            {
                "name": topic.name,
                "topic_id": 1,
                "partitions": [{"partition_index": 0, "leader_id": nodes[-1]}],
            }
            for topic in request.topics
        ]
        return {"brokers": brokers, "controller_id": nodes[0], "topics": topics}

    cluster.answer = answer  # type: ignore[method-assign]


@pytest.fixture
def tree() -> FakeTree:
    made = FakeTree()
    for path in PATHS:
        answers_metadata(made.clusters[path])
    return made


async def test_a_part_goes_to_its_volume_with_that_volumes_names(tree: FakeTree) -> None:
    answer = await tree.lanes.ask("ny", METADATA, 12, wanted(":ny:team:x"))
    ((api, sent),) = tree.clusters["ny"].asked
    assert (api, [topic.name for topic in sent.topics]) == ("Metadata", ["team..x"])
    (topic,) = messages.parse("MetadataResponse", 12, answer).topics
    assert topic.name == ":ny:team:x"
    assert topic.partitions[0].leader_id == NY_1
    assert not tree.clusters["la"].asked


async def test_a_volume_that_is_known_to_be_down_is_not_asked(tree: FakeTree) -> None:
    tree.clusters["ny"].reachable = False
    with pytest.raises(VolumeUnreachable, match="does not answer"):
        await tree.lanes.ask("ny", METADATA, 12, wanted(":ny:orders"))
    assert not tree.clusters["ny"].asked


async def test_nor_is_one_whose_last_answer_did_not_come(tree: FakeTree) -> None:
    tree.clusters["ny"].answers = False
    with pytest.raises(VolumeUnreachable):
        await tree.lanes.ask("ny", METADATA, 12, wanted(":ny:orders"))
    assert not tree.clusters["ny"].asked


async def test_nor_one_whose_catalog_is_stale(tree: FakeTree) -> None:
    tree.goes_stale("ny")
    with pytest.raises(VolumeUnreachable):
        await tree.lanes.ask("ny", METADATA, 12, wanted(":ny:orders"))
    assert not tree.clusters["ny"].asked


@pytest.mark.parametrize(("path", "alone"), [("ny", True), ("ny", False), ("la", False)])
async def test_a_lookup_that_takes_too_long(
    tree: FakeTree, path: str, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_seconds, "LOOKUP_SECONDS", 0.01)
    tree.clusters[path].waits = True
    with pytest.raises(VolumeUnreachable):
        async with asyncio.timeout(5):
            await tree.lanes.ask(path, METADATA, 12, wanted(f":{path}:orders"), alone=alone)
    assert tree.clusters[path].suspicions == 1
    assert tree.clusters[path].changes == [False]


async def test_what_the_gateway_takes_for_a_lookup_is_not_the_clusters(
    tree: FakeTree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Deciding takes longer than a cluster may take: the request is answered, and others may
    follow."""
    monkeypatch.setattr(lane_seconds, "LOOKUP_SECONDS", 0.05)
    decide = Clients.perform

    async def slowly(hub: Any, session: Any, work: Any) -> bytes | None:
        await asyncio.sleep(0.2)
        return await decide(hub, session, work)

    monkeypatch.setattr(tree, "perform", lambda *args: slowly(tree, *args))
    pause_everywhere(monkeypatch)
    names = [f":ny:t{n}" for n in range(500)]
    answer = await tree.lanes.ask("ny", METADATA, 12, wanted(*names))
    topics = messages.parse("MetadataResponse", 12, answer).topics
    assert {int(topic.error_code) for topic in topics} == {0}
    assert tree.clusters["ny"].suspicions == 0


@pytest.mark.parametrize("awaited", [False, True])
async def test_a_listing_that_is_read_for_long_is_no_reason_to_suspect_its_cluster(
    tree: FakeTree, monkeypatch: pytest.MonkeyPatch, awaited: bool
) -> None:
    monkeypatch.setattr(lane_seconds, "LOOKUP_SECONDS", 0.01)

    async def lists(*_: Any) -> None:
        tree.clusters["ny"].awaited = awaited
        await asyncio.sleep(3_600)

    monkeypatch.setattr(tree, "_refresh", lists)
    with pytest.raises(VolumeUnreachable):
        await tree.lanes.ask("ny", METADATA, 12, wanted(":ny:none:x"))
    assert tree.clusters["ny"].suspicions == int(awaited)


def test_the_nodes_own_cluster_has_longer_if_it_is_asked_alone() -> None:
    assert lane_seconds.seconds_for(Effect.LOOKUP, near=True) > lane_seconds.LOOKUP_SECONDS
    assert lane_seconds.seconds_for(Effect.CHANGE, near=False) == lane_seconds.CHANGE_SECONDS
    found = lane_seconds.seconds_for(Effect.DESCRIPTION, near=False)
    assert found == lane_seconds.DESCRIBE_SECONDS


def test_effects() -> None:
    """By Kafka's protocol guide: the requests of clients on the way to records, and of operators.
    All other requests may change something."""
    lookups = {each.name for each in APIS.values() if each.effect is Effect.LOOKUP}
    assert lookups == {
        *("Metadata", "DescribeTopicPartitions", "FindCoordinator", "DescribeCluster"),
        *("InitProducerId", "ApiVersions"),
    }
    described = {each.name for each in APIS.values() if each.effect is Effect.DESCRIPTION}
    assert described == {
        *("DescribeConfigs", "DescribeAcls", "DescribeUserScramCredentials"),
        *("ListPartitionReassignments", "DescribeQuorum", "ListConfigResources"),
    }


async def test_a_volume_out_of_reach_is_not_asked(tree: FakeTree) -> None:
    narrow = Listener.model_construct(name="test", port=9000, volume="la", reach=("la",))
    lanes = Lanes(cast(LaneHub, tree), narrow, tree.client)
    with pytest.raises(VolumeUnreachable, match="not in the reach"):
        await lanes.ask("ny", METADATA, 12, wanted(":ny:orders"))


@pytest.mark.parametrize("stale", [False, True])
def test_what_was_seen_is_remembered(tree: FakeTree, stale: bool) -> None:
    if stale:
        tree.goes_stale("ny")
    names = [":ny:orders", ":ny:team:x", ":ny:never", ":ny:none:x"]
    found = tree.lanes.remembered("ny", names, [])
    assert found == {
        ":ny:orders": (topic_id(1).bytes, 2),
        ":ny:team:x": (topic_id(2).bytes, 1),
    }
    assert tree.lanes.remembered("ny", [], [topic_id(2).bytes]).keys() == {":ny:team:x"}
    everything = tree.lanes.remembered("la", None, [])
    assert everything.keys() == {"orders", "team:x"}


def test_what_a_stale_view_remembers_is_not_what_it_decides_by(tree: FakeTree) -> None:
    tree.goes_stale("la")
    (volume,) = (each for each in tree.volumes if each.path == "la")
    identity, host = tree.client.identity, tree.client.host
    access = tree.volumes.access(volume, "test", identity, host)
    assert access.view.closed
    assert not tree.volumes.access(volume, "test", identity, host, last=True).view.closed
    assert access is tree.volumes.access(volume, "test", identity, host)


@pytest.mark.parametrize("node", PATHS)
def test_every_node_tells_the_same_brokers(node: str) -> None:
    facts = FakeTree(node=node).lanes.facts()
    assert [(each.node_id, each.port) for each in facts.brokers] == [(LA_1, 9100), (NY_1, 9200)]
    assert (facts.cluster_id, facts.controller_id) == ("id", LA_1)


@pytest.mark.parametrize("node", PATHS)
def test_gateways_are_listed_behind_the_brokers_of_the_tree(node: str) -> None:
    tree = FakeTree(node=node)
    for volume in tree.volumes:
        volume.state.listed_gateways = GatewayNodes("gw-own", ["test"]).at
    members = [Member(f"gw-{n}", n, {"test": f"host-{n}:9201"}) for n in (1, 2)]
    tree.catalogs["la"].log.append(members)
    facts = tree.lanes.facts()
    found = [(each.node_id, each.port) for each in facts.brokers]
    assert found == [(LA_1, 9100), (NY_1, 9200), (2**30 + 1, 9201), (2**30 + 2, 9201)]
    assert facts.controller_id == LA_1


def test_another_broker_is_the_controller_while_the_own_cluster_was_never_seen(
    tree: FakeTree,
) -> None:
    own = tree.clusters["la"]
    own.brokers, own.controller_id, own.cluster_id = {}, -1, None
    facts = tree.lanes.facts()
    assert (facts.cluster_id, facts.controller_id) == (None, NY_1)


async def test_brokers_that_are_not_known_yet_are_looked_up(tree: FakeTree) -> None:
    await tree.lanes.meet("ny", {NY_1})
    counts = [tree.clusters["ny"].refreshed]
    await tree.lanes.meet("ny", {NY_1, NY_2})
    counts.append(tree.clusters["ny"].refreshed)
    assert counts == [0, 1]


async def test_topics_are_answered_by_name_in_every_state(tree: FakeTree) -> None:
    tree.clusters["ny"].reachable = False
    topics = [{"topic_id": None, "name": name} for name in (":ny:orders", "orders", ":ny:never")]
    answer = await tree.ask("Metadata", 12, {"topics": topics})
    lost, live, never = answer.topics
    assert (lost.error_code, lost.topic_id, len(lost.partitions)) == (0, topic_id(1), 2)
    assert {(p.error_code, p.leader_id) for p in lost.partitions} == {(LEADER_NOT_AVAILABLE, -1)}
    assert live.partitions[0].leader_id == LA_1
    assert (never.error_code, never.name) == (LEADER_NOT_AVAILABLE, ":ny:never")
    assert [broker.node_id for broker in answer.brokers] == [LA_1, NY_1]
