"""Metadata messages: requests by names, brokers without an address here, and v0 to v3 as v4."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from gateway.apis.topics import metadata_messages as metadata
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import element_class, has_field, make

VERSIONS = range(14)
OLD_VERSIONS = range(4)
LEADER_NOT_AVAILABLE, REPLICA_NOT_AVAILABLE = 5, 9


def request(version: int, names: list[str] | None, **values: object) -> bytes:
    cls = messages.message_class("MetadataRequest", version)
    topic = element_class(cls, "topics")
    topics = None if names is None else tuple(make(topic, {"name": name}) for name in names)
    return messages.write(make(cls, {"topics": topics, **values}))


def response(version: int, *names: str) -> bytes:
    """Brokers 1 to 3, controller 2; each topic has a partition led by 1 and a partition led by
    2."""
    cls = messages.message_class("MetadataResponse", version)
    topic_class = element_class(cls, "topics")
    partition_class = element_class(topic_class, "partitions")
    partitions = tuple(
        make(
            partition_class,
            {
                "partition_index": leader,
                "leader_id": leader,
                "replica_nodes": (leader, 3),
                "isr_nodes": (leader,),
            },
        )
        for leader in (1, 2)
    )
    brokers = tuple(
        make(element_class(cls, "brokers"), {"node_id": n, "host": "h", "port": n})
        for n in (1, 2, 3)
    )
    topics = tuple(make(topic_class, {"name": name, "partitions": partitions}) for name in names)
    return messages.write(make(cls, {"brokers": brokers, "controller_id": 2, "topics": topics}))


def parsed(version: int, body: bytes) -> Any:
    return messages.parse("MetadataResponse", version, body)


def names_of(version: int, body: bytes) -> tuple[str, ...]:
    return tuple(t.name for t in messages.parse("MetadataRequest", version, body).topics)


@pytest.mark.parametrize("version", VERSIONS)
def test_all_topics_are_asked_for_by_an_empty_array_then_by_null(version: int) -> None:
    assert metadata.wants_all(version, request(version, [])) == (version == 0)
    assert not metadata.wants_all(version, request(version, ["a:t"]))
    if version >= 1:
        assert metadata.wants_all(version, request(version, None))


@pytest.mark.parametrize("version", VERSIONS)
def test_asked_by_name(version: int) -> None:
    body = request(version, [] if version == 0 else None, allow_auto_topic_creation=True)
    by_name = metadata.ask_by_name(version, body, iter(["a:t", "b:u"]))
    assert names_of(version, by_name) == ("a:t", "b:u")
    asked = messages.parse("MetadataRequest", version, by_name)
    assert has_field(type(asked), "allow_auto_topic_creation") == (version >= 4)
    assert getattr(asked, "allow_auto_topic_creation", False) is False
    assert all(getattr(topic, "topic_id", None) is None for topic in asked.topics)


@pytest.mark.parametrize("version", VERSIONS)
def test_asked_for_nothing(version: int) -> None:
    body = request(version, [] if version == 0 else None)
    by_name = metadata.ask_by_name(version, body, ())
    assert not metadata.wants_all(version, by_name)
    assert names_of(version, by_name) == ((":",) if version == 0 else ())


@pytest.mark.parametrize("version", VERSIONS)
def test_the_placeholder_is_never_seen(version: int) -> None:
    shown = metadata.without_placeholder(version, response(version, ":", "a:t"))
    names = [topic.name for topic in parsed(version, shown).topics]
    assert names == (["a:t"] if version == 0 else [":", "a:t"])
    plain = response(version, "a:t")
    assert metadata.without_placeholder(version, plain) == plain


@pytest.mark.parametrize("version", VERSIONS)
def test_auto_creation_is_forbidden_where_it_can_be(version: int) -> None:
    body = request(version, None if version else [], allow_auto_topic_creation=True)
    asked = messages.parse("MetadataRequest", version, metadata.ask_by_name(version, body, ["a:t"]))
    assert [topic.name for topic in asked.topics] == ["a:t"]
    if version >= 4:
        assert asked.allow_auto_topic_creation is False


def test_a_topic_asked_for_by_id_has_no_name() -> None:
    cls = messages.message_class("MetadataRequest", 12)
    topic = make(element_class(cls, "topics"), {"name": None, "topic_id": UUID(int=1)})
    body = messages.write(make(cls, {"topics": (topic,)}))
    assert not metadata.wants_all(12, body)


@pytest.mark.parametrize("version", VERSIONS)
def test_brokers_without_an_address_are_not_shown(version: int) -> None:
    shown = parsed(version, metadata.drop_brokers(version, response(version, "a:t"), {2, 9}))
    assert [broker.node_id for broker in shown.brokers] == [1, 3]
    assert getattr(shown, "controller_id", -1) == -1
    first, second = shown.topics[0].partitions
    assert (first.leader_id, int(first.error_code)) == (1, 0)
    assert (second.leader_id, int(second.error_code)) == (-1, 72 if version >= 6 else 5)
    assert second.replica_nodes == ((3,) if version == 0 else (2, 3))


def test_a_replica_without_an_address_is_an_error_in_version_0() -> None:
    shown = parsed(0, metadata.drop_brokers(0, response(0, "a:t"), {3}))
    for partition in shown.topics[0].partitions:
        assert partition.replica_nodes == (partition.leader_id,)
        assert int(partition.error_code) == 9


@pytest.mark.parametrize("version", VERSIONS)
def test_with_every_address_known_nothing_changes(version: int) -> None:
    body = response(version, "a:t")
    assert metadata.drop_brokers(version, body, {9}) == body


@pytest.mark.parametrize("version", VERSIONS)
def test_marked_namespaces_are_internal_topics(version: int) -> None:
    shown = parsed(version, metadata.mark_namespaces(version, response(version, "a:", "t"), {"a:"}))
    assert [topic.name for topic in shown.topics] == ["a:", "t"]
    if version >= 1:
        assert [topic.is_internal for topic in shown.topics] == [True, False]
    assert_led_by(1, shown.topics[0])
    assert shown.topics[1] == parsed(version, response(version, "a:", "t")).topics[1]


@pytest.mark.parametrize("version", VERSIONS)
def test_without_a_broker_a_namespace_has_no_partition(version: int) -> None:
    nobody = metadata.drop_brokers(version, response(version), {1, 2, 3})
    (shown,) = parsed(version, metadata.add_namespaces(version, nobody, {"a:"})).topics
    assert (shown.name, shown.partitions) == ("a:", ())


def assert_led_by(leader: int, namespace: Any) -> None:
    """A partition, as from a broker that has no replica of it elsewhere."""
    (partition,) = namespace.partitions
    assert (partition.partition_index, int(partition.error_code)) == (0, 0)
    assert partition.leader_id == leader
    assert partition.replica_nodes == partition.isr_nodes == (leader,)
    assert getattr(partition, "leader_epoch", -1) == -1
    assert getattr(partition, "offline_replicas", ()) == ()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("topics", [(), ("t", "u")])
def test_added_namespaces_stand_before_the_topics(version: int, topics: tuple[str, ...]) -> None:
    names = {f"n{number}:": "" for number in range(200)}
    before = response(version, *topics)
    shown = parsed(version, metadata.add_namespaces(version, before, names))
    assert [topic.name for topic in shown.topics] == [*names, *topics]
    assert shown.brokers == parsed(version, before).brokers
    assert shown.topics[200:] == parsed(version, before).topics
    for entry in shown.topics[:200]:
        assert int(entry.error_code) == 0
        assert_led_by(1, entry)
        assert getattr(entry, "is_internal", True) is True
        assert getattr(entry, "topic_id", None) is None


def as_v4(version: int, names: list[str] | None) -> Any:
    body = metadata.request_to_v4(version, request(version, names))
    asked = messages.parse("MetadataRequest", 4, body)
    assert asked.allow_auto_topic_creation is False
    return asked.topics if asked.topics is None else [topic.name for topic in asked.topics]


def old_response(version: int) -> bytes:
    """Brokers 1 and 2; broker 3, which holds a replica of each partition, is down, and led the
    last."""
    cls = messages.message_class("MetadataResponse", version)
    topic_class = element_class(cls, "topics")
    partition_class = element_class(topic_class, "partitions")
    partitions = tuple(
        make(
            partition_class,
            {
                "error_code": LEADER_NOT_AVAILABLE if leader < 0 else 0,
                "partition_index": leader,
                "leader_id": leader,
                "replica_nodes": (1, 3),
                "isr_nodes": (1,),
            },
        )
        for leader in (1, -1)
    )
    brokers = tuple(
        make(element_class(cls, "brokers"), {"node_id": n, "host": "h", "port": n, "rack": "r"})
        for n in (1, 2)
    )
    topic = make(topic_class, {"name": "a:t", "partitions": partitions, "is_internal": True})
    unknown = make(topic_class, {"name": "a:u", "error_code": 3})
    values = {"brokers": brokers, "controller_id": 2, "topics": (topic, unknown)}
    return messages.write(make(cls, {**values, "cluster_id": "c"}))


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_a_request_asks_for_the_same_and_creates_nothing(version: int) -> None:
    assert as_v4(version, ["a:t", "b"]) == ["a:t", "b"]
    assert as_v4(version, []) == (None if version == 0 else [])
    if version:
        assert as_v4(version, None) is None


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_response_says_what_its_version_can(version: int) -> None:
    assert metadata.response_from_v4(version, old_response(4)) == old_response(version)


def test_version_0_leaves_out_replicas_that_are_away() -> None:
    body = metadata.response_from_v4(0, old_response(4))
    assert body == metadata.drop_brokers(0, old_response(0), {3})
    first, second = messages.parse("MetadataResponse", 0, body).topics[0].partitions
    assert (first.replica_nodes, int(first.error_code)) == ((1,), REPLICA_NOT_AVAILABLE)
    assert (second.replica_nodes, int(second.error_code)) == ((1,), LEADER_NOT_AVAILABLE)


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_garbage_is_a_protocol_error(version: int) -> None:
    with pytest.raises(ProtocolError):
        metadata.request_to_v4(version, request(version, ["a"])[:-1])
    with pytest.raises(ProtocolError):
        metadata.response_from_v4(version, old_response(4)[:-1])
