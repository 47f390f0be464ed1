"""bench.kafka_requests: requests of the builders read back as they were meant."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from bench.kafka_requests import (
    Topic,
    api_versions_request,
    fetch_request,
    metadata_request,
    produce_request,
)
from bench.record_batches import record_batch
from protocol.headers import read_request_header
from protocol.messages import parse
from protocol.schema import request_name

_TOPIC = Topic("team-a:orders", uuid.uuid4())


def _parsed(frame: bytes) -> tuple[str, int, Any]:
    key, version, _, _, at = read_request_header(frame, 4, len(frame))
    return request_name(key), version, parse(request_name(key), version, frame[at:])


def test_a_produce_request_by_name_and_by_id() -> None:
    batches = {index: record_batch(1, 10, seed=index) for index in range(3)}
    for version, named in ((12, {"name": _TOPIC.name}), (13, {"topic_id": _TOPIC.id})):
        name, found, request = _parsed(produce_request(version, _TOPIC, batches))
        assert (name, found, request.acks) == ("ProduceRequest", version, 1)
        (topic,) = request.topic_data
        assert {key: getattr(topic, key) for key in named} == named
        assert {p.index: p.records for p in topic.partition_data} == batches


def test_a_fetch_request_by_name_and_by_id() -> None:
    for version, named in ((12, {"topic": _TOPIC.name}), (15, {"topic_id": _TOPIC.id})):
        frame = fetch_request(version, _TOPIC, 4, partition_max_bytes=10, max_bytes=50)
        name, found, request = _parsed(frame)
        assert (name, found) == ("FetchRequest", version)
        assert (request.session_id, request.session_epoch) == (0, -1)
        assert (request.min_bytes, request.max_wait.total_seconds(), request.max_bytes) == (
            0,
            0,
            50,
        )
        (topic,) = request.topics
        assert {key: getattr(topic, key) for key in named} == named
        wanted = [(p.partition, p.fetch_offset, p.partition_max_bytes) for p in topic.partitions]
        assert wanted == [(index, 0, 10) for index in range(4)]


def test_an_id_that_is_not_known_is_an_error() -> None:
    with pytest.raises(ValueError, match="ProduceRequest v13 needs the id of orders"):
        produce_request(13, Topic("orders", None), {0: b""})


def test_metadata_creates_nothing() -> None:
    name, _, request = _parsed(metadata_request(12, "orders"))
    assert (name, request.allow_auto_topic_creation) == ("MetadataRequest", False)
    assert [topic.name for topic in request.topics] == ["orders"]


def test_api_versions_names_the_software() -> None:
    name, _, request = _parsed(api_versions_request(3))
    assert (name, request.client_software_name) == ("ApiVersionsRequest", "bench")
