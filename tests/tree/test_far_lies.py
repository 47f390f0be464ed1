"""A gateway that returns items that were not requested, or impossible values: its clients do not
get them.

As an attacker in its place tried it: a topic of the root's beside the requested topic, which
clients would then produce to there; a throttle time of 24 days, for which a client sends nothing at
all.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from gateway.error_codes import COORDINATOR_NOT_AVAILABLE, LEADER_NOT_AVAILABLE
from tests.session.pair import topic_id
from tests.tree.far_site import SF_1, Site, codes

A_DAY = timedelta(days=1)
MILLISECOND = timedelta(milliseconds=1)
A_SECOND = timedelta(seconds=1)
"""Kafka's longest throttle time of a request quota, by default (quota.window.size.seconds)."""

Lie = Callable[[dict[str, Any]], None]


def more_topics(name: str) -> Lie:
    """The topic of this name, led by the liar, beside the requested topics."""

    def lie(values: dict[str, Any]) -> None:
        led = [{"partition_index": 0, "leader_id": SF_1}]
        values.setdefault("topics", []).append({"name": name, "topic_id": 9, "partitions": led})

    return lie


def of_topic(**changes: Any) -> Lie:
    """The requested topic with other values."""

    def lie(values: dict[str, Any]) -> None:
        for topic in values.get("topics", ()):
            topic.update(changes)

    return lie


def of_partitions(*partitions: dict[str, Any]) -> Lie:
    return of_topic(partitions=[{"leader_id": SF_1, **each} for each in partitions])


def of_brokers(*brokers: dict[str, Any]) -> Lie:
    def lie(values: dict[str, Any]) -> None:
        values["brokers"] = [{"node_id": SF_1, "host": "h", "port": 1, **each} for each in brokers]

    return lie


LIES: dict[str, Lie] = {
    "a topic of the listener's volume": more_topics("orders"),
    "a topic of a third volume": more_topics(":ny:orders"),
    "another topic of its own": more_topics(":sf:more"),
    "the topic twice": more_topics(":sf:clicks"),
    "another name": of_topic(name="orders"),
    "the id of a topic here": of_topic(topic_id=topic_id(1).int),
    "a partition twice": of_partitions({"partition_index": 0}, {"partition_index": 0}),
    "a partition below 0": of_partitions({"partition_index": -1}),
    "a partition of billions": of_partitions({"partition_index": 2**31 - 1}),
    "an epoch below -1": of_partitions({"partition_index": 0, "leader_epoch": -2}),
    "a broker twice": of_brokers({}, {}),
    "a broker that is none": of_brokers({"node_id": -1}),
    "a broker without a host": of_brokers({"host": ""}),
    "a broker at no port": of_brokers({"port": 65_536}),
    "a broker in a rack without end": of_brokers({"rack": "r" * 256}),
    "too many brokers": of_brokers(*({"node_id": SF_1 + n} for n in range(1_001))),
    "a cluster id without end": lambda values: values.update(cluster_id="c" * 256),
    "a broker at a host of control characters": of_brokers({"host": "h\n"}),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
async def test_an_answer_that_holds_more_than_was_requested_is_not_believed(
    site: Site, lie: Lie
) -> None:
    await site.others.settled()
    before = await site.nodes()
    site.sf.lie = lie
    answer = await site.metadata(":sf:clicks", "/ny/orders")
    assert codes(answer) == [(":sf:clicks", LEADER_NOT_AVAILABLE, 0), ("/ny/orders", 0, 1)]
    assert codes(await site.metadata(":sf:clicks")) == [(":sf:clicks", LEADER_NOT_AVAILABLE, 0)]
    assert await site.nodes() == before
    assert site.lanes.remembered("sf", None, []) == {}
    assert {path for path, _ in site.others.disbelieved} == {"sf"}
    site.sf.lie = lambda _: None
    assert codes(await site.metadata(":sf:clicks")) == [(":sf:clicks", 0, 3)]


async def test_a_topic_that_was_requested_by_its_id_has_a_name_below_the_mount(site: Site) -> None:
    await site.metadata(":sf:clicks")
    known = site.sf.topics["clicks"].topic_id
    wanted: dict[str, object] = {
        "topics": [{"topic_id": int.from_bytes(known, "big"), "name": None}]
    }
    assert codes(await site.ask("Metadata", 12, wanted)) == [(":sf:clicks", 0, 3)]
    site.sf.lie = of_topic(name="orders")
    (topic,) = (await site.ask("Metadata", 12, wanted)).topics
    assert topic.name == ":sf:clicks", "as it was seen before"
    assert {each.leader_id for each in topic.partitions} == {-1}


async def test_all_topics_of_a_listeners_volume_are_below_its_mount() -> None:
    site = Site(volume="sf")
    everything: dict[str, object] = {"topics": None}
    assert {name for name, *_ in codes(await site.ask("Metadata", 12, everything))} == {
        "clicks",
        "search:new",
    }
    site.sf.lie = more_topics(":ny:orders")
    await site.ask("Metadata", 12, everything)
    assert len(site.others.disbelieved) == 1
    site.others.close()


@pytest.mark.parametrize("throttled", [24 * A_DAY, A_SECOND, timedelta(0), -A_DAY])
async def test_a_throttle_time_is_no_longer_than_kafkas(site: Site, throttled: timedelta) -> None:
    site.sf.answers["CreateTopics"] = lambda request: {
        "throttle_time": throttled // MILLISECOND,
        "topics": [{"name": each.name} for each in request.topics],
    }
    topics = [{"name": ":sf:t", "num_partitions": 1, "replication_factor": 1}]
    answer = await site.ask("CreateTopics", 7, {"topics": topics})
    assert [(each.name, int(each.error_code)) for each in answer.topics] == [(":sf:t", 0)]
    assert answer.throttle_time == min(max(throttled, timedelta(0)), A_SECOND)


@pytest.mark.parametrize("array", ["api_keys", "finalized_features"])
async def test_versions_without_end(site: Site, array: str) -> None:
    """Every client's ApiVersions would read them."""
    site.sf.answers["ApiVersions"] = lambda _: {array: [{}] * 501}
    await site.nodes()  # they are looked up in the background
    await site.others.settled()
    assert [path for path, _ in site.others.disbelieved] == ["sf"]
    assert site.lanes._far.served() == []
    site.others.close()


async def test_groups_that_were_not_requested(site: Site) -> None:
    def coordinates(request: Any) -> dict[str, Any]:
        keys = [*request.coordinator_keys, "app"]
        return {
            "coordinators": [{"key": key, "node_id": SF_1, "host": "h", "port": 1} for key in keys]
        }

    site.sf.answers["FindCoordinator"] = coordinates
    wanted: dict[str, object] = {"key_type": 0, "coordinator_keys": [":sf:app"]}
    answer = await site.ask("FindCoordinator", 4, wanted)
    found = [(each.key, int(each.error_code)) for each in answer.coordinators]
    assert found == [(":sf:app", COORDINATOR_NOT_AVAILABLE)]


async def test_results_by_position_are_as_many_as_the_items(site: Site) -> None:
    site.sf.answers["DeleteAcls"] = lambda _: {"filter_results": [{}, {}]}
    filters = [{"resource_type_filter": 2, "resource_name_filter": ":sf:x"}]
    answer = await site.ask("DeleteAcls", 3, {"filters": filters})
    assert len(answer.filter_results) == 1
    assert len(site.others.disbelieved) == 1


@pytest.mark.parametrize(("name", "believed"), [(":sf:x", True), ("orders", False)])
async def test_acls_are_of_patterns_below_the_mount(site: Site, name: str, believed: bool) -> None:
    acl = {"principal": "User:eve", "host": "*", "operation": 4, "permission_type": 3}
    site.sf.answers["DescribeAcls"] = lambda _: {
        "resources": [{"resource_type": 2, "resource_name": name, "pattern_type": 3, "acls": [acl]}]
    }
    wanted: dict[str, object] = {
        "resource_type_filter": 2,
        "resource_name_filter": ":sf:x",
        "pattern_type_filter": 1,
        "operation": 1,
        "permission_type": 1,
    }
    answer = await site.ask("DescribeAcls", 3, wanted)
    assert [each.resource_name for each in answer.resources] == [name] * believed
    assert len(site.others.disbelieved) == int(not believed)


@pytest.mark.parametrize(
    "cursor",
    [
        {"topic_name": "orders", "partition_index": 0},
        {"topic_name": ":sf:clicks", "partition_index": -1},
    ],
)
async def test_pages_go_on_at_what_was_requested(site: Site, cursor: dict[str, Any]) -> None:
    site.sf.answers["DescribeTopicPartitions"] = lambda _: {"topics": [], "next_cursor": cursor}
    wanted: dict[str, object] = {"topics": [{"name": ":sf:clicks"}], "response_partition_limit": 10}
    answer = await site.ask("DescribeTopicPartitions", 0, wanted)
    assert answer.next_cursor is None
    assert len(site.others.disbelieved) == 1
