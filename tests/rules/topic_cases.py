"""Requests for three topics, of which some are refused, through every row of the topic table."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from gateway.decision import Denied
from gateway.rules.api_keys import ApiKey
from gateway.rules.topic_shapes import TopicShape
from protocol import messages
from protocol.schema import request_name, response_name
from tests.rules.samples import (
    Asked,
    entries,
    holders,
    identity,
    names_topics_by,
    partition_errors,
    shape_versions,
)

UNKNOWN = 3
INVALID_TOPIC = 17
AUTHORIZATION_FAILED = 29
INVALID_REQUEST = 42
NOT_ATTEMPTED = 55
UNKNOWN_ID = 100

FIRST = UUID("11111111-1111-1111-1111-111111111111")
SECOND = UUID("22222222-2222-2222-2222-222222222222")
THIRD = UUID("33333333-3333-3333-3333-333333333333")

BY_NAME = (Asked("a:first"), Asked("a:second"), Asked("b:third", partitions=(7,)))
BY_ID = (Asked(None, FIRST), Asked(None, SECOND), Asked(None, THIRD, (7,)))

NO_TOPIC = Denied(UNKNOWN, "namespace 'a' does not exist", "namespace")
NOT_ALLOWED = Denied(AUTHORIZATION_FAILED, "not yours", "access")

ALL = list(shape_versions())
CASES = [
    pytest.param(shape, version, asked, id=f"{shape.api_key.name}-{version}-{how}")
    for shape, version in ALL
    for how, asked, has in (
        ("name", BY_NAME, names_topics_by(shape, version)[0]),
        ("id", BY_ID, names_topics_by(shape, version)[1]),
    )
    if has
]
VERSIONS = [pytest.param(s, v, id=f"{s.api_key.name}-{v}") for s, v in ALL]


def parse_request(shape: TopicShape, version: int, body: bytes | None) -> Any:
    assert body is not None
    return messages.parse(request_name(shape.api_key), version, body)


def parse_response(shape: TopicShape, version: int, body: bytes) -> Any:
    return messages.parse(response_name(shape.api_key), version, body)


def answered(shape: TopicShape, response: Any) -> list[list[tuple[object, dict[int | None, int]]]]:
    """For each group (or the one message): the topics and the errors of their partitions."""
    return [
        [
            (identity(shape.response, e), partition_errors(shape, e))
            for e in entries(shape.response, h)
        ]
        for h in holders(shape.response, response)
    ]


def expected(shape: TopicShape, asked: Asked, code: int) -> tuple[object, dict[int | None, int]]:
    numbers: tuple[int | None, ...] = asked.partitions
    if shape.response.partitions is None:
        numbers = (None,)
    return asked.identity, dict.fromkeys(numbers, code)


def code_of(shape: TopicShape, asked: Asked, why: Denied) -> int:
    if why.code == UNKNOWN and asked.name is None:
        return UNKNOWN_ID
    if why.code == UNKNOWN and shape.api_key == ApiKey.CREATE_TOPICS:
        return INVALID_TOPIC
    return why.code
