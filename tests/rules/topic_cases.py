"""Requests for three topics, of which some are rejected, of every API that holds topics."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from gateway.decision import Denied
from gateway.exchanges.api import Api
from gateway.rules.declaration import TopicShape
from protocol import messages
from tests.rules.samples import (
    Asked,
    entries,
    holders,
    identity,
    names_topics_by,
    partition_errors,
    topic_versions,
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

ALL = list(topic_versions())
CASES = [
    pytest.param(api, version, asked, id=f"{api.name}-{version}-{how}")
    for api, version in ALL
    for how, asked, has in (
        ("name", BY_NAME, names_topics_by(api, version)[0]),
        ("id", BY_ID, names_topics_by(api, version)[1]),
    )
    if has
]
VERSIONS = [pytest.param(api, version, id=f"{api.name}-{version}") for api, version in ALL]


def parse_request(api: Api, version: int, body: bytes | None) -> Any:
    assert body is not None
    return messages.parse(f"{api.name}Request", version, body)


def parse_response(api: Api, version: int, body: bytes) -> Any:
    return messages.parse(f"{api.name}Response", version, body)


def answered(shape: TopicShape, response: Any) -> list[list[tuple[object, dict[int | None, int]]]]:
    """For each group (or the only message): the topics and the errors of their partitions."""
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


def code_of(api: Api, asked: Asked, why: Denied) -> int:
    if why.code == UNKNOWN and asked.name is None:
        return UNKNOWN_ID
    if why.code == UNKNOWN and api.name == "CreateTopics":
        return INVALID_TOPIC
    return why.code
