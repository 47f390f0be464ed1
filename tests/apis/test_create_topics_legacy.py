"""CreateTopics v0 and v1, translated to v2 and back."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apis.topics import create_topics_legacy
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import element_class, make


def request(version: int, **values: object) -> bytes:
    cls = messages.message_class("CreateTopicsRequest", version)
    topic = element_class(cls, "topics")
    config = make(element_class(topic, "configs"), {"name": "retention.ms", "value": "1"})
    assignment = make(
        element_class(topic, "assignments"), {"partition_index": 0, "broker_ids": (1, 2)}
    )
    topics = (
        make(topic, {"name": "a:t", "num_partitions": 3, "replication_factor": 1}),
        make(
            topic,
            {
                "name": "a:u",
                "num_partitions": -1,
                "replication_factor": -1,
                "configs": (config,),
                "assignments": (assignment,),
            },
        ),
    )
    return messages.write(make(cls, {"topics": topics, **values}))


def response() -> bytes:
    cls = messages.message_class("CreateTopicsResponse", 2)
    topic = element_class(cls, "topics")
    topics = (
        make(topic, {"name": "a:t", "error_code": 36, "error_message": "there is one already"}),
        make(topic, {"name": "a:u", "error_message": None}),
    )
    return messages.write(make(cls, {"topics": topics}))


def as_v2(body: bytes) -> Any:
    return messages.parse("CreateTopicsRequest", 2, body)


@pytest.mark.parametrize("version", [0, 1])
def test_a_request_says_the_same_in_v2(version: int) -> None:
    translated = create_topics_legacy.request_to_v2(version, request(version))
    assert translated == request(2)
    assert as_v2(translated).validate_only is False


def test_validate_only_is_kept() -> None:
    translated = create_topics_legacy.request_to_v2(1, request(1, validate_only=True))
    assert as_v2(translated).validate_only is True


def test_a_v1_response_has_messages_but_no_throttle_time() -> None:
    assert create_topics_legacy.response_from_v2(1, response()) == response()[4:]


def test_a_v0_response_has_no_messages() -> None:
    body = create_topics_legacy.response_from_v2(0, response())
    assert body == b"\x00\x00\x00\x02\x00\x03a:t\x00\x24\x00\x03a:u\x00\x00"
    old = messages.parse("CreateTopicsResponse", 0, body)
    assert [(topic.name, int(topic.error_code)) for topic in old.topics] == [
        ("a:t", 36),
        ("a:u", 0),
    ]


@pytest.mark.parametrize("version", [0, 1])
def test_garbage_is_a_protocol_error(version: int) -> None:
    with pytest.raises(ProtocolError):
        create_topics_legacy.request_to_v2(version, request(version)[:-1])
    with pytest.raises(ProtocolError):
        create_topics_legacy.response_from_v2(version, response()[:-1])
