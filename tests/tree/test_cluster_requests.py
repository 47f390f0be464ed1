"""Requests of operators in a tree: divided by topics, merged; homes, node ids, clusters that are
down or not believed."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.exchanges.tree import VolumeUnreachable
from gateway.rules.division import Requested
from gateway.rules.far_answers import NotBelieved, believed
from protocol import messages
from protocol.errors import ProtocolError
from tests.rules.apis import api_named
from tests.session.test_trees import message
from tests.tree.fake_tree import LISTENER, FakeTree
from tests.tree.far_site import Site
from tests.tree.test_lanes import LA_1, NY_1

LIST, ALTER, ELECT = "ListPartitionReassignments", "AlterPartitionReassignments", "ElectLeaders"
TIMED_OUT, FORBIDDEN, NOT_CONTROLLER = 7, 31, 41
QUORUM = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]


def altered(*names: str, replicas: tuple[int, ...] = (LA_1,)) -> dict[str, Any]:
    partition = {"partition_index": 0, "replicas": replicas}
    return {"topics": [{"name": name, "partitions": [partition]} for name in names]}


def elected(*names: str) -> dict[str, Any]:
    return {"topic_partitions": [{"topic": name, "partitions": [0]} for name in names]}


def listed(*names: str) -> dict[str, Any]:
    return {"topics": [{"name": name, "partition_indexes": [0]} for name in names]}


async def answer(api: str, version: int, request: Any) -> dict[str, Any]:
    """The response of a cluster that does, and has, what is asked for."""
    if api == ALTER:
        parts = [{"partition_index": 0}]
        return {"responses": [{"name": each.name, "partitions": parts} for each in request.topics]}
    if api == ELECT:
        parts = [{"partition_id": 0}]
        topics = [{"topic": t.topic, "partition_result": parts} for t in request.topic_partitions]
        return {"replica_election_results": topics}
    if api == LIST:
        moving = {"partition_index": 0, "replicas": [1, 2], "adding_replicas": [2]}
        names = ["orders"] if request.topics is None else [each.name for each in request.topics]
        return {"topics": [{"name": name, "partitions": [moving]} for name in names]}
    if api == "DescribeQuorum":
        voter = {"replica_id": 1}
        led = {"partition_index": 0, "leader_id": 1, "current_voters": [voter]}
        topics = [{"topic_name": "__cluster_metadata", "partitions": [led]}]
        return {"topics": topics, "nodes": [{"node_id": 1}]}
    if api == "ListConfigResources":
        found = [(2, "orders"), (4, "1"), (32, "app")]
        resources = [{"resource_type": kind, "resource_name": name} for kind, name in found]
        return {"config_resources": resources}
    raise AssertionError(f"{api} was not expected")


async def down(api: str, version: int, request: Any) -> dict[str, Any]:
    raise VolumeUnreachable("it is down")


@pytest.fixture
def tree() -> FakeTree:
    made = FakeTree()
    for cluster in made.clusters.values():
        cluster.answer = answer  # type: ignore[method-assign]
    return made


def sets_home(tree: FakeTree, node: str = "la") -> None:
    """Give the client a home that names reach out of."""
    volume = tree.volumes[node]
    view = volume.views.of(LISTENER, "team")
    assert view.settings.home or view.settings.home_elsewhere
    tree.client.see(volume.views.access(view, "", ""))


async def test_changes_are_divided_by_topics_and_bear_their_own_errors(tree: FakeTree) -> None:
    found = await tree.ask(ALTER, 1, altered(":la:orders", ":ny:orders"))
    assert [(topic.name, topic.partitions[0].error_code) for topic in found.responses] == [
        (":la:orders", 0),
        (":ny:orders", 0),
    ]
    asked = {path: tree.clusters[path].asked[-1][1].topics[0] for path in ("la", "ny")}
    assert {path: topic.name for path, topic in asked.items()} == {"la": "orders", "ny": "orders"}
    assert asked["la"].partitions[0].replicas == (1,)
    assert asked["ny"].partitions[0].replicas == (LA_1,)  # a broker that ny does not have
    assert tree.clusters["ny"].changes == [True]


async def test_leaders_are_elected_in_each_cluster(tree: FakeTree) -> None:
    tree.clusters["ny"].answer = down  # type: ignore[method-assign]
    found = await tree.ask(ELECT, 2, elected(":la:orders", ":ny:orders", ":la:orders"))
    assert found.error_code == 0
    assert [
        (topic.topic, topic.partition_result[0].error_code)
        for topic in found.replica_election_results
    ] == [(":la:orders", 0), (":ny:orders", TIMED_OUT), (":la:orders", 0)]


async def test_an_election_of_all_is_the_listeners_volumes(tree: FakeTree) -> None:
    async def all_elected(api: str, version: int, request: Any) -> dict[str, Any]:
        assert request.topic_partitions is None
        return {"replica_election_results": [{"topic": "orders", "partition_result": []}]}

    tree.clusters["la"].answer = all_elected  # type: ignore[method-assign]
    found = await tree.ask(ELECT, 2, {"topic_partitions": None})
    assert [topic.topic for topic in found.replica_election_results] == ["orders"]
    assert not tree.clusters["ny"].asked
    tree.clusters["la"].answer = down  # type: ignore[method-assign]
    found = await tree.ask(ELECT, 2, {"topic_partitions": None})
    assert (found.error_code, found.replica_election_results) == (TIMED_OUT, ())


async def test_the_denial_of_one_volume_is_not_the_others(tree: FakeTree) -> None:
    async def denied(api: str, version: int, request: Any) -> dict[str, Any]:
        done = await answer(api, version, request)
        (topic,) = done["responses"]
        topic["partitions"] = [{"partition_index": 0, "error_code": FORBIDDEN}]
        return {**done, "error_code": FORBIDDEN}

    for own in ("la", "ny"):
        cluster = tree.clusters[own]
        cluster.answer = denied  # type: ignore[method-assign]
        found = await tree.ask(ALTER, 1, altered(":la:orders", ":ny:orders"))
        cluster.answer = answer  # type: ignore[method-assign]
        codes = {topic.name: topic.partitions[0].error_code for topic in found.responses}
        assert found.error_code == 0
        assert codes == {":la:orders": 0, ":ny:orders": 0} | {f":{own}:orders": FORBIDDEN}


async def test_reassignments_have_the_node_ids_of_the_tree(tree: FakeTree) -> None:
    found = await tree.ask(LIST, 0, listed(":la:orders", ":ny:orders"))
    assert [
        (t.name, t.partitions[0].replicas, t.partitions[0].adding_replicas) for t in found.topics
    ] == [
        (":la:orders", (LA_1, LA_1 + 1), (LA_1 + 1,)),
        (":ny:orders", (NY_1, NY_1 + 1), (NY_1 + 1,)),
    ]
    everything = await tree.ask(LIST, 0, {"topics": None})
    assert [topic.name for topic in everything.topics] == ["orders"]
    assert everything.topics[0].partitions[0].replicas == (LA_1, LA_1 + 1)


@pytest.mark.parametrize("failing", ["la", "ny"])
async def test_a_listing_that_lacks_a_cluster_is_an_error(tree: FakeTree, failing: str) -> None:
    tree.clusters[failing].answer = down  # type: ignore[method-assign]
    found = await tree.ask(LIST, 0, listed(":la:orders", ":ny:orders"))
    assert (found.error_code, found.topics) == (TIMED_OUT, ())
    tree.clusters[failing].answer = answer  # type: ignore[method-assign]
    tree.goes_stale(failing)
    found = await tree.ask(LIST, 0, listed(":la:orders", ":ny:orders"))
    assert found.error_code != 0
    assert found.topics == ()


@pytest.mark.parametrize("node", ["la", "ny"])
@pytest.mark.parametrize(
    ("api", "version", "values"),
    [
        (ALTER, 1, altered(":la:orders", ":ny:orders")),
        (ELECT, 2, elected(":ny:orders")),
        (ELECT, 2, {"topic_partitions": None}),
        ("DescribeQuorum", 2, {"topics": QUORUM}),
        ("UpdateFeatures", 2, {}),
    ],
)
async def test_the_asker_rejects_under_a_home(
    tree: FakeTree, node: str, api: str, version: int, values: dict[str, Any]
) -> None:
    tree.connect(node)
    sets_home(tree, node)
    found = await tree.ask(api, version, values)
    assert found.error_code == FORBIDDEN
    assert not any(cluster.asked for cluster in tree.clusters.values())


@pytest.mark.parametrize(
    ("api", "version", "values"),
    [
        (ALTER, 1, altered(":sf:clicks")),
        (ELECT, 2, elected(":sf:clicks")),
        ("DescribeQuorum", 2, {"topics": QUORUM}),
        ("UpdateFeatures", 2, {}),
        (LIST, 0, {"topics": None}),
        ("ListConfigResources", 1, {}),
    ],
)
async def test_no_other_gateway_is_asked_under_a_home(
    api: str, version: int, values: dict[str, Any]
) -> None:
    """The other gateway is not told of the home, so it would not reject."""
    site = Site(volume="sf")
    sets_home(site)
    found = await site.ask(api, version, values)
    assert found.error_code == FORBIDDEN
    assert site.others.asked(api) == []


async def test_the_quorum_is_the_listeners_volumes(tree: FakeTree) -> None:
    for node in ("la", "ny"):
        tree.connect(node)
        found = await tree.ask("DescribeQuorum", 2, {"topics": QUORUM})
        (partition,) = found.topics[0].partitions
        assert partition.leader_id == partition.current_voters[0].replica_id == LA_1
        assert [node.node_id for node in found.nodes] == [LA_1]
    assert not tree.clusters["ny"].asked


async def test_config_resources_are_the_listeners_volumes(tree: FakeTree) -> None:
    for node in ("la", "ny"):
        tree.connect(node)
        found = await tree.ask("ListConfigResources", 1, {})
        assert [(one.resource_type, one.resource_name) for one in found.config_resources] == [
            (2, "orders"),
            (4, str(LA_1)),
            (32, "app"),
        ]


async def test_an_older_cluster_lists_no_more_than_client_metrics(tree: FakeTree) -> None:
    """Which the gateway lists itself."""
    cluster = tree.clusters["la"]
    cluster.api_versions = {74: (0, 0)}
    found = await tree.ask("ListConfigResources", 1, {"resource_types": [16]})
    assert found.config_resources == ()
    assert not cluster.asked
    with pytest.raises(ProtocolError, match="which types to list"):
        await tree.ask("ListConfigResources", 1, {"resource_types": []})


# -- what another gateway's response may hold ------------------------------------------------------

WANTED = Requested(
    "ny", lambda name: "ny", lambda kind, pattern, name: "ny", lambda topic_id: False
)
ELSEWHERE = Requested(
    "ny", lambda name: "la", lambda kind, pattern, name: "la", lambda topic_id: False
)


def check(
    api: str, version: int, asked: Any, got: dict[str, Any], wanted: Requested = WANTED
) -> Any:
    body = messages.write(message(f"{api}Request", version, **asked))
    response = message(f"{api}Response", version, **got)
    return believed(api_named(api), version, body, response, wanted)


def test_responses_that_are_believed() -> None:
    quorum = [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]
    check("DescribeQuorum", 2, {"topics": QUORUM}, {"topics": quorum, "nodes": [{"node_id": 1}]})
    resources = [
        {"resource_type": 2, "resource_name": "t"},
        {"resource_type": 32, "resource_name": "g"},
        {"resource_type": 16, "resource_name": "m"},
    ]
    check("ListConfigResources", 1, {"resource_types": []}, {"config_resources": resources})
    check("ListConfigResources", 0, {}, {"config_resources": [{"resource_name": "m"}]})
    updates = {"feature_updates": [{"feature": "f"}]}
    check("UpdateFeatures", 1, updates, {"results": [{"feature": "f"}]})
    parts = [{"partition_index": 0}]
    check(LIST, 0, listed("t"), {"topics": [{"name": "t", "partitions": parts}]})
    check(ALTER, 1, altered("t"), {"responses": [{"name": "t", "partitions": parts}]})
    check(ELECT, 2, elected("t"), {"replica_election_results": [{"topic": "t"}]})


def test_responses_with_more_than_was_asked_for_are_not() -> None:
    other = [{"topic_name": "x", "partitions": [{"partition_index": 0}]}]
    address = {"node_id": 1, "listeners": [{"name": "C", "host": "kafka", "port": 1}]}
    cases: list[tuple[str, int, dict[str, Any], dict[str, Any]]] = [
        ("DescribeQuorum", 2, {"topics": QUORUM}, {"topics": other}),
        ("DescribeQuorum", 2, {"topics": QUORUM}, {"nodes": [address]}),
        ("UpdateFeatures", 1, {"feature_updates": []}, {"results": [{"feature": "f"}]}),
        (
            "ListConfigResources",
            1,
            {"resource_types": [16]},
            {"config_resources": [{"resource_type": 2, "resource_name": "t"}]},
        ),
        (LIST, 0, listed("t"), {"topics": [{"name": "u"}]}),
        (ALTER, 1, altered("t"), {"responses": [{"name": "u"}]}),
        (ELECT, 2, elected("t"), {"replica_election_results": [{"topic": "u"}]}),
    ]
    for case in cases:
        with pytest.raises(NotBelieved):
            check(*case)
    for kind in (2, 16, 32):
        got = {"config_resources": [{"resource_type": kind, "resource_name": "n"}]}
        with pytest.raises(NotBelieved, match="not below that mount"):
            check("ListConfigResources", 1, {"resource_types": []}, got, ELSEWHERE)
