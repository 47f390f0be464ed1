"""bench.client against a server of this process."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

import pytest
from kio.schema.errors import ErrorCode

from bench.client import AnswerError, Client
from bench.entities import entity
from protocol.headers import frame, response_header
from protocol.messages import parse, write
from tests.bench.scripted_server import Answer, scripted_server

_ID = uuid.uuid4()


def _answer(message: str, version: int, header: int, values: Mapping[str, object]) -> Answer:
    response = frame(response_header(0, header), write(entity(message, version, values)))
    return lambda _: response


def test_api_versions_are_the_newest_by_key() -> None:
    keys = [{"api_key": 0, "min_version": 3, "max_version": 13}, {"api_key": 1, "max_version": 18}]
    answer = _answer("ApiVersionsResponse", 3, 0, {"api_keys": keys})
    with scripted_server(answer) as served, Client(served.port) as client:
        assert client.api_versions() == {0: 13, 1: 18}


def _metadata(leaders: list[int], code: ErrorCode = ErrorCode.none) -> Answer:
    brokers = [{"node_id": 1, "host": "h", "port": 9001}, {"node_id": 2, "host": "h", "port": 9002}]
    partitions = [{"partition_index": i, "leader_id": node} for i, node in enumerate(leaders)]
    topic = {"name": "orders", "topic_id": _ID, "error_code": code, "partitions": partitions}
    return _answer("MetadataResponse", 12, 1, {"brokers": brokers, "topics": [topic]})


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (_metadata([2, 2]), (_ID, 9002)),
        (_metadata([1, 2]), None),
        (_metadata([-1]), None),
        (_metadata([]), None),
        (_metadata([1], ErrorCode.leader_not_available), None),
    ],
)
def test_a_topic_has_one_leader_or_none_yet(
    answer: Answer, expected: tuple[uuid.UUID, int] | None
) -> None:
    with scripted_server(answer) as served, Client(served.port) as client:
        assert client.topic_leader("orders") == expected


def _created(code: ErrorCode) -> Answer:
    topic = {"name": "orders", "error_code": code, "error_message": "no"}
    return _answer("CreateTopicsResponse", 7, 1, {"topics": [topic]})


@pytest.mark.parametrize("code", [ErrorCode.none, ErrorCode.topic_already_exists])
def test_a_topic_is_created_with_its_settings(code: ErrorCode) -> None:
    with scripted_server(_created(code)) as served, Client(served.port) as client:
        client.create_topic("orders", 8, {"retention.ms": "-1"})
    (request,) = served.requests
    (topic,) = parse("CreateTopicsRequest", 7, request[request.index(b"bench") + 6 :]).topics
    assert (topic.name, topic.num_partitions, topic.replication_factor) == ("orders", 8, 1)
    assert [(config.name, config.value) for config in topic.configs] == [("retention.ms", "-1")]


def test_a_topic_that_is_rejected_is_an_error() -> None:
    answer = _created(ErrorCode.invalid_topic_exception)
    with (
        scripted_server(answer) as served,
        Client(served.port) as client,
        pytest.raises(AnswerError, match=r"creating orders: INVALID_TOPIC_EXCEPTION no"),
    ):
        client.create_topic("orders", 1, {})


def test_a_closed_connection_is_an_error() -> None:
    with (
        scripted_server(lambda _: b"") as served,
        Client(served.port) as client,
        pytest.raises(AnswerError, match=f"port {served.port}"),
    ):
        client.api_versions()


def test_a_port_that_nobody_listens_on_is_an_error() -> None:
    with pytest.raises(AnswerError, match="port 1: "):
        Client(1)
