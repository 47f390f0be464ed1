"""CreateTopics v0 and v1, as old clients and brokers (Kafka 3.9) put them on the wire."""

from __future__ import annotations

import datetime
from typing import Any

from kio.schema.errors import ErrorCode

from protocol import messages

TOPIC = (
    b"\0\1t"  # name
    b"\0\0\0\3"  # partitions
    b"\0\2"  # replication factor
    b"\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\1\0\0\0\2"  # partition 0 on brokers 1 and 2
    b"\0\0\0\2\0\1k\0\1v\0\1n\xff\xff"  # k=v, n=null
)
REQUEST = b"\0\0\0\1" + TOPIC + b"\0\0\x03\xe8"


def test_request_v0() -> None:
    request: Any = messages.parse("CreateTopicsRequest", 0, REQUEST)
    (topic,) = request.topics
    assert (topic.name, topic.num_partitions, topic.replication_factor) == ("t", 3, 2)
    assert [(a.partition_index, a.broker_ids) for a in topic.assignments] == [(0, (1, 2))]
    assert [(c.name, c.value) for c in topic.configs] == [("k", "v"), ("n", None)]
    assert request.timeout == datetime.timedelta(seconds=1)
    assert not hasattr(request, "validate_only")
    assert messages.write(request) == REQUEST


def test_request_v1_is_laid_out_like_v2() -> None:
    body = REQUEST + b"\1"
    request: Any = messages.parse("CreateTopicsRequest", 1, body)
    assert request.validate_only is True
    assert messages.write(request) == body
    assert messages.write(messages.parse("CreateTopicsRequest", 2, body)) == body


def test_response_v0_has_no_message_and_v1_has() -> None:
    v0 = b"\0\0\0\1\0\1t\0\x24"
    response: Any = messages.parse("CreateTopicsResponse", 0, v0)
    (topic,) = response.topics
    assert (topic.name, topic.error_code) == ("t", ErrorCode.topic_already_exists)
    assert not hasattr(topic, "error_message")
    assert messages.write(response) == v0
    v1 = v0 + b"\0\2no"
    response = messages.parse("CreateTopicsResponse", 1, v1)
    assert response.topics[0].error_message == "no"
    assert messages.write(response) == v1


def test_classes_know_what_they_are() -> None:
    for name in ("CreateTopicsRequest", "CreateTopicsResponse"):
        for version in (0, 1):
            cls: Any = messages.message_class(name, version)
            assert (cls.__version__, cls.__api_key__, cls.__flexible__) == (version, 19, False)
