"""protocol.requests: a single description of a request for all of its versions."""

from __future__ import annotations

from datetime import timedelta

import pytest

from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import Request
from protocol.pausing import on_pause
from protocol.schema import message_versions

FETCH = Request(
    "FetchRequest",
    12,
    {
        "max_wait": timedelta(seconds=1),
        "min_bytes": 1,
        "isolation_level": 1,
        "topics": [{"topic": "t", "partitions": [{"partition": 3, "fetch_offset": 9}]}],
    },
)


@pytest.mark.parametrize("version", [v for v in message_versions("FetchRequest") if v <= 12])
def test_a_broker_reads_the_values_in_every_version(version: int) -> None:
    read = messages.parse("FetchRequest", version, messages.write(FETCH.entity(version)))
    ((topic, ((partition, offset),)),) = (
        (one.topic, tuple((p.partition, p.fetch_offset) for p in one.partitions))
        for one in read.topics
    )
    assert (topic, partition, offset) == ("t", 3, 9)
    assert (read.isolation_level, read.max_wait) == (1, timedelta(seconds=1))
    # A field without a value has Kafka's default, if Kafka has a default.
    assert getattr(read, "session_epoch", -1) == -1
    assert read.replica_id == -1


def test_fields_that_a_version_does_not_have_are_left_out() -> None:
    both = {"topic_names": ["a"], "topics": [{"name": "a"}], "timeout": timedelta()}
    old, new = (Request("DeleteTopicsRequest", 6, both).entity(version) for version in (5, 6))
    assert old.topic_names == ("a",)
    assert not hasattr(old, "topics")
    assert [topic.name for topic in new.topics] == ["a"]
    assert not hasattr(new, "topic_names")


def test_null_is_a_zero_where_a_field_cannot_be_null() -> None:
    resource = {"resource_type": 2, "resource_name": None, "configuration_keys": None}
    entity = Request("DescribeConfigsRequest", 4, {"resources": [resource]}).entity(4)
    assert entity.resources[0].configuration_keys is None
    assert entity.resources[0].resource_name == ""


def test_values_may_depend_on_the_version() -> None:
    request = Request("FindCoordinatorRequest", 3, lambda version: {"key": f"v{version}"})
    assert [request.entity(version).key for version in (1, 3)] == ["v1", "v3"]


def test_bytes_and_text_are_no_arrays() -> None:
    partitions = [{"index": 0, "records": b"batch"}]
    values = {"topic_data": [{"name": "topic", "partition_data": partitions}]}
    (topic,) = Request("ProduceRequest", 11, values).entity(11).topic_data
    assert (topic.name, topic.partition_data[0].records) == ("topic", b"batch")


def test_there_is_a_pause_point_for_each_item() -> None:
    paused = []
    on_pause(lambda: paused.append(1))
    try:
        topics = [{"name": str(number)} for number in range(100)]
        Request("MetadataRequest", 9, {"topics": topics}).entity(9)
    finally:
        on_pause(None)
    assert len(paused) > 100


def test_a_version_that_kafka_does_not_have() -> None:
    with pytest.raises(ProtocolError, match="no version 99"):
        FETCH.entity(99)
