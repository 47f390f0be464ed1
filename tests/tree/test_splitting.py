"""Requests that are divided by volume, as a client sees their responses."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    COORDINATOR_NOT_AVAILABLE,
    REQUEST_TIMED_OUT,
)
from tests.tree.fake_tree import PATHS, FakeCluster, FakeTree


def gives_ids(cluster: FakeCluster, producer_id: int) -> None:
    async def answer(api: str, version: int, request: Any) -> dict[str, object]:
        return {"producer_id": producer_id, "producer_epoch": 0}

    cluster.answer = answer  # type: ignore[method-assign]


def coordinates(cluster: FakeCluster) -> None:
    async def answer(api: str, version: int, request: Any) -> dict[str, object]:
        found = [
            {"key": key, "node_id": 1, "host": "kafka", "port": 9092}
            for key in request.coordinator_keys
        ]
        return {"coordinators": found}

    cluster.answer = answer  # type: ignore[method-assign]


def describes(cluster: FakeCluster) -> None:
    async def answer(api: str, version: int, request: Any) -> dict[str, object]:
        return {"endpoint_type": 1, "cluster_id": "id", "controller_id": 1, "brokers": []}

    cluster.answer = answer  # type: ignore[method-assign]


@pytest.mark.parametrize("node", PATHS)
async def test_coordinators_of_both(node: str) -> None:
    tree = FakeTree(node=node)
    for cluster in tree.clusters.values():
        coordinates(cluster)
    keys = [":ny:app", "app", ":la:other"]
    answer = await tree.ask("FindCoordinator", 4, {"key_type": 0, "coordinator_keys": keys})
    assert [(each.key, each.node_id, each.port) for each in answer.coordinators] == [
        (":ny:app", 2 << 16 | 1, 9200),
        ("app", 1 << 16 | 1, 9100),
        (":la:other", 1 << 16 | 1, 9100),
    ]


async def test_a_coordinator_in_a_volume_that_is_down() -> None:
    tree = FakeTree()
    coordinates(tree.clusters["la"])
    tree.clusters["ny"].reachable = False
    keys = [":ny:app", "app"]
    answer = await tree.ask("FindCoordinator", 4, {"key_type": 0, "coordinator_keys": keys})
    codes = {each.key: int(each.error_code) for each in answer.coordinators}
    assert codes == {":ny:app": COORDINATOR_NOT_AVAILABLE, "app": 0}


@pytest.mark.parametrize(("node", "number"), [("la", 1), ("ny", 2)])
async def test_a_producer_id_is_of_the_nodes_cluster(node: str, number: int) -> None:
    tree = FakeTree(node=node)
    for cluster in tree.clusters.values():
        gives_ids(cluster, 7)
    answer = await tree.ask("InitProducerId", 4, {"transactional_id": None, "producer_id": -1})
    assert answer.producer_id == number << 48 | 7


async def test_or_of_another_one_that_answers() -> None:
    tree = FakeTree()
    gives_ids(tree.clusters["ny"], 7)
    tree.clusters["la"].reachable = False
    answer = await tree.ask("InitProducerId", 4, {"transactional_id": None, "producer_id": -1})
    assert answer.producer_id == 2 << 48 | 7
    tree.clusters["ny"].reachable = False
    answer = await tree.ask("InitProducerId", 4, {"transactional_id": None, "producer_id": -1})
    assert (int(answer.error_code), answer.producer_id) == (COORDINATOR_NOT_AVAILABLE, -1)


async def test_or_of_one_in_which_the_client_may_write() -> None:
    tree = FakeTree(node="ny")

    async def denies(api: str, version: int, request: Any) -> dict[str, object]:
        code = CLUSTER_AUTHORIZATION_FAILED
        return {"error_code": code, "producer_id": -1, "producer_epoch": -1}

    tree.clusters["ny"].answer = denies  # type: ignore[method-assign]
    gives_ids(tree.clusters["la"], 7)
    answer = await tree.ask("InitProducerId", 4, {"transactional_id": None, "producer_id": -1})
    assert answer.producer_id == 1 << 48 | 7
    tree.clusters["la"].answer = denies  # type: ignore[method-assign]
    answer = await tree.ask("InitProducerId", 4, {"transactional_id": None, "producer_id": -1})
    assert (int(answer.error_code), answer.producer_id) == (CLUSTER_AUTHORIZATION_FAILED, -1)


@pytest.mark.parametrize("node", PATHS)
async def test_the_cluster_is_described_alike_on_every_node(node: str) -> None:
    tree = FakeTree(node=node)
    describes(tree.clusters["la"])
    answer = await tree.ask("DescribeCluster", 1, {"endpoint_type": 1})
    assert [broker.broker_id for broker in answer.brokers] == [1 << 16 | 1, 2 << 16 | 1]
    assert (answer.cluster_id, answer.controller_id) == ("id", 1 << 16 | 1)


async def test_a_cluster_that_is_down_is_described_as_it_was() -> None:
    tree = FakeTree()
    tree.clusters["la"].reachable = False
    answer = await tree.ask("DescribeCluster", 1, {"endpoint_type": 1})
    assert int(answer.error_code) == 0
    assert [broker.broker_id for broker in answer.brokers] == [1 << 16 | 1, 2 << 16 | 1]
    assert (answer.cluster_id, answer.controller_id) == ("id", 1 << 16 | 1)
    answer = await tree.ask("DescribeCluster", 1, {"endpoint_type": 2})
    assert int(answer.error_code) == REQUEST_TIMED_OUT


async def test_groups_of_another_volumes_node_are_none() -> None:
    answer = await FakeTree(node="ny").ask("ListGroups", 4, {})
    assert answer.groups == ()


async def test_a_change_in_a_volume_that_is_down_names_it() -> None:
    tree = FakeTree()
    tree.clusters["ny"].reachable = False
    topics = [{"name": ":ny:x", "num_partitions": 1, "replication_factor": 1}]
    answer = await tree.ask("CreateTopics", 7, {"topics": topics})
    (topic,) = answer.topics
    assert (topic.name, int(topic.error_code)) == (":ny:x", REQUEST_TIMED_OUT)
    assert "':ny'" in topic.error_message
