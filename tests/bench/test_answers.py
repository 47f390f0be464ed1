"""bench.answers: the places of error codes in a response."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from kio.schema.errors import ErrorCode

from bench.answers import error_code_offsets
from bench.client import AnswerError
from bench.entities import entity
from bench.kafka_requests import Topic, fetch_request, produce_request
from protocol.headers import frame, response_header
from protocol.messages import write

_TOPIC = Topic("orders", uuid.uuid4())
_PRODUCE = produce_request(12, _TOPIC, {0: b"", 1: b""})
_FETCH = fetch_request(15, _TOPIC, 1, partition_max_bytes=1, max_bytes=1)


def _produced(code: ErrorCode = ErrorCode.none) -> bytes:
    partitions = [{"index": 0}, {"index": 1, "error_code": code}]
    return _response(
        "ProduceResponse",
        12,
        {"responses": [{"name": "orders", "partition_responses": partitions}]},
    )


def _fetched(top: ErrorCode = ErrorCode.none) -> bytes:
    partitions = [{"partition_index": 0, "records": b"12345"}]
    topic = {"topic_id": _TOPIC.id, "partitions": partitions}
    return _response("FetchResponse", 15, {"error_code": top, "responses": [topic]})


def _response(name: str, version: int, values: dict[str, Any]) -> bytes:
    return frame(response_header(0, 1), write(entity(name, version, values)))


def test_every_partition_of_a_produce_response_has_one() -> None:
    offsets = error_code_offsets(_PRODUCE, _produced())
    assert len(offsets) == 2
    # The error code in another response is at the stated offset.
    response = _produced(ErrorCode.not_leader_or_follower)
    assert response[offsets[1] : offsets[1] + 2] == b"\0\x06"
    assert response[offsets[0] : offsets[0] + 2] == b"\0\0"


def test_a_fetch_response_has_one_at_its_top_too() -> None:
    top, partition = error_code_offsets(_FETCH, _fetched())
    assert _fetched(ErrorCode.fetch_session_id_not_found)[top : top + 2] == b"\0\x46"
    assert partition > top


def test_an_error_in_the_first_answer_is_said_at_once() -> None:
    with pytest.raises(AnswerError, match=r"ProduceResponse: NOT_LEADER_OR_FOLLOWER"):
        error_code_offsets(_PRODUCE, _produced(ErrorCode.not_leader_or_follower))
