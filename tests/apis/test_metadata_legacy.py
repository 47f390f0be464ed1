"""Metadata v0 to v3, translated to v4 and back."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apis.topics import metadata_legacy
from gateway.apis.topics import metadata_messages as metadata
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import element_class, make

VERSIONS = range(4)
LEADER_NOT_AVAILABLE, REPLICA_NOT_AVAILABLE = 5, 9


def request(version: int, names: list[str] | None) -> bytes:
    cls = messages.message_class("MetadataRequest", version)
    topic = element_class(cls, "topics")
    topics = None if names is None else tuple(make(topic, {"name": name}) for name in names)
    return messages.write(make(cls, {"topics": topics}))


def as_v4(version: int, names: list[str] | None) -> Any:
    body = metadata_legacy.request_to_v4(version, request(version, names))
    asked = messages.parse("MetadataRequest", 4, body)
    assert asked.allow_auto_topic_creation is False
    return asked.topics if asked.topics is None else [topic.name for topic in asked.topics]


def response(version: int) -> bytes:
    """Brokers 1 and 2; 3, which holds a replica of each partition, is away, and led the last."""
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


@pytest.mark.parametrize("version", VERSIONS)
def test_a_request_asks_for_the_same_and_creates_nothing(version: int) -> None:
    assert as_v4(version, ["a:t", "b"]) == ["a:t", "b"]
    assert as_v4(version, []) == (None if version == 0 else [])
    if version:
        assert as_v4(version, None) is None


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_response_says_what_its_version_can(version: int) -> None:
    assert metadata_legacy.response_from_v4(version, response(4)) == response(version)


def test_version_0_leaves_out_replicas_that_are_away() -> None:
    body = metadata_legacy.response_from_v4(0, response(4))
    assert body == metadata.drop_brokers(0, response(0), {3})
    first, second = messages.parse("MetadataResponse", 0, body).topics[0].partitions
    assert (first.replica_nodes, int(first.error_code)) == ((1,), REPLICA_NOT_AVAILABLE)
    assert (second.replica_nodes, int(second.error_code)) == ((1,), LEADER_NOT_AVAILABLE)


@pytest.mark.parametrize("version", VERSIONS)
def test_garbage_is_a_protocol_error(version: int) -> None:
    with pytest.raises(ProtocolError):
        metadata_legacy.request_to_v4(version, request(version, ["a"])[:-1])
    with pytest.raises(ProtocolError):
        metadata_legacy.response_from_v4(version, response(4)[:-1])
