"""The topic table says what the message classes say, in every version."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gateway.apis.table import APIS
from gateway.rules.api_keys import ApiKey
from gateway.rules.nested import element_class, has_field
from gateway.rules.topic_shapes import (
    MORE_TOPICS,
    TOPIC_ID,
    TOPIC_SHAPES,
    Topics,
    TopicShape,
    topic_shape,
)
from protocol import messages
from protocol.schema import request_name, response_name
from tests.rules.samples import shape_versions, topic_class

CASES = [pytest.param(s, v, id=f"{s.api_key.name}-{v}") for s, v in shape_versions()]


def sides(shape: TopicShape) -> Iterator[tuple[str, Topics]]:
    yield request_name(shape.api_key), shape.request
    yield response_name(shape.api_key), shape.response


@pytest.mark.parametrize(("shape", "version"), CASES)
def test_the_fields_of_a_row_exist(shape: TopicShape, version: int) -> None:
    for message, topics in sides(shape):
        message_class = messages.message_class(message, version)
        entry_class = topic_class(shape, topics, message_class)
        if not topics.name:
            assert issubclass(entry_class, str)
            continue
        assert has_field(entry_class, topics.name) or has_field(entry_class, TOPIC_ID)
        if topics.partitions is None:
            continue
        partition_class = element_class(entry_class, topics.partitions)
        if not topics.index:
            assert issubclass(partition_class, int)
        else:
            assert has_field(partition_class, topics.index)


@pytest.mark.parametrize(("shape", "version"), CASES)
def test_the_error_field_exists(shape: TopicShape, version: int) -> None:
    message_class = messages.message_class(response_name(shape.api_key), version)
    cls = topic_class(shape, shape.response, message_class)
    if shape.response.partitions is not None:
        cls = element_class(cls, shape.response.partitions)
    assert has_field(cls, shape.error_code)


@pytest.mark.parametrize("shape", TOPIC_SHAPES, ids=lambda s: f"{s.api_key.name}-{s.last}")
def test_the_values_beside_an_error_exist_in_the_last_version(shape: TopicShape) -> None:
    message_class = messages.message_class(response_name(shape.api_key), shape.last)
    cls = topic_class(shape, shape.response, message_class)
    if shape.response.partitions is not None:
        cls = element_class(cls, shape.response.partitions)
    assert all(has_field(cls, attribute) for attribute in shape.error_values)


def test_every_decided_api_that_holds_topics_has_its_rows() -> None:
    topical = {shape.api_key for shape in TOPIC_SHAPES}
    for key, api in APIS.items():
        rows = [v for v in range(api.first, api.last + 1) if topic_shape(key, v) is not None]
        assert rows in ([], list(range(api.first, api.last + 1)))
        assert (rows != []) == (key in topical)


def test_paths_to_more_topics_exist() -> None:
    for api_key, paths in MORE_TOPICS.items():
        for path in paths:
            cls = messages.message_class(response_name(api_key), 1)
            for attribute in path:
                cls = element_class(cls, attribute)
            assert issubclass(cls, str) or has_field(cls, TOPIC_ID)


def test_other_versions_have_no_row() -> None:
    assert topic_shape(ApiKey.DELETE_TOPICS, 0) is None
    assert topic_shape(ApiKey.HEARTBEAT, 0) is None
