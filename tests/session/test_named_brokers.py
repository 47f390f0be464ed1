"""The cluster learns the brokers that responses to clients name, because one may be new, or have
moved."""

from __future__ import annotations

from typing import Any

import pytest

from protocol import messages
from protocol.messages import element_class, make
from tests.session import fetching
from tests.session.pair import Pair

OWN = "team-a..orders"
KAFKA = [(2, "kafka-2", 9092), (3, "kafka-3", 9093), (9, "kafka-9", 9094)]
ADDRESSED = set(KAFKA[:2])
"""The brokers that the listener has an address for, so that clients may connect to them."""


def response(api: str, version: int, values: dict[str, object], **arrays: Any) -> Any:
    """A response, with arrays of structs."""
    cls = messages.message_class(f"{api}Response", version)
    made = {
        name: tuple(make(element_class(cls, name), one) for one in items)
        for name, items in arrays.items()
    }
    return make(cls, values | made)


def brokers(id_field: str = "node_id") -> list[dict[str, object]]:
    return [{id_field: node, "host": host, "port": port} for node, host, port in KAFKA]


def heard(pair: Pair, api: str, version: int, asked: Any, answer: Any) -> list[tuple[Any, ...]]:
    assert pair.ask(api, version, asked) is not None
    pair.reply(api, version, answer)
    return list(pair.facts.heard)


@pytest.mark.parametrize("version", [0, 1, 9, 13])
def test_in_metadata_of_named_topics(version: int) -> None:
    cls = messages.message_class("MetadataRequest", version)
    values = {"name": "plain"} | ({"topic_id": None} if version >= 10 else {})
    asked = make(cls, {"topics": (make(element_class(cls, "topics"), values),)})
    answer = response("Metadata", version, {}, brokers=brokers())
    found = set(heard(Pair(topics=["plain"]), "Metadata", version, asked, answer))
    assert ADDRESSED <= found <= set(KAFKA)


@pytest.mark.parametrize("rack", ["", "r" * 30_000])
def test_in_metadata_of_all_topics_each_time(rack: str) -> None:
    """Even if the response is a kept response."""
    pair = Pair()
    asked = make(messages.message_class("MetadataRequest", 12), {"topics": None})
    named = [{**each, "rack": rack} for each in brokers()]
    answer = response("Metadata", 12, {}, brokers=named)
    for _ in range(2):
        pair.facts.heard.clear()
        assert ADDRESSED <= set(heard(pair, "Metadata", 12, asked, answer)) <= set(KAFKA)


@pytest.mark.parametrize("version", [0, 3])
def test_of_a_coordinator(version: int) -> None:
    asked = make(messages.message_class("FindCoordinatorRequest", version), {"key": "app"})
    node_id, host, port = KAFKA[0]
    values: dict[str, object] = {"node_id": node_id, "host": host, "port": port}
    answer = response("FindCoordinator", version, values)
    assert heard(Pair(), "FindCoordinator", version, asked, answer) == [KAFKA[0]]


def test_of_no_coordinator() -> None:
    """The node is Kafka's Node.noNode."""
    asked = make(messages.message_class("FindCoordinatorRequest", 3), {"key": "app"})
    values: dict[str, object] = {"error_code": 15, "node_id": -1, "host": "", "port": -1}
    assert heard(Pair(), "FindCoordinator", 3, asked, response("FindCoordinator", 3, values)) == []


def test_of_many_coordinators() -> None:
    cls = messages.message_class("FindCoordinatorRequest", 4)
    asked = make(cls, {"coordinator_keys": ("app",)})
    answer = response("FindCoordinator", 4, {}, coordinators=[{"key": "app", **brokers()[1]}])
    assert heard(Pair(), "FindCoordinator", 4, asked, answer) == [KAFKA[1]]


def test_in_describe_cluster() -> None:
    asked = make(messages.message_class("DescribeClusterRequest", 1), {})
    answer = response("DescribeCluster", 1, {"cluster_id": "id"}, brokers=brokers("broker_id"))
    found = set(heard(Pair(), "DescribeCluster", 1, asked, answer))
    assert ADDRESSED <= found <= set(KAFKA)


def test_of_a_new_leader() -> None:
    """KIP-951."""
    cls = messages.message_class("ProduceRequest", 10)
    data = element_class(cls, "topic_data")
    part = make(element_class(data, "partition_data"), {"records": fetching.batch(1)})
    topic = make(data, {"name": "team-a:orders", "partition_data": (part,)})
    asked = make(cls, {"acks": 1, "topic_data": (topic,)})
    failed = {"error_code": 6}
    answered = messages.message_class("ProduceResponse", 10)
    entry = element_class(answered, "responses")
    partition = make(element_class(entry, "partition_responses"), failed)
    answer = response(
        "Produce",
        10,
        {},
        responses=[{"name": OWN, "partition_responses": (partition,)}],
        node_endpoints=brokers()[:1],
    )
    assert heard(Pair(topics=[OWN]), "Produce", 10, asked, answer) == [KAFKA[0]]
