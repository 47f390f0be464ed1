"""Dividing a request's topics: what goes on, and what is remembered of the rest."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from gateway.decision import Denied
from gateway.rules.api_keys import ApiKey
from gateway.rules.asked_topics import Refusal, divide
from gateway.rules.topic_shapes import TopicShape, topic_shape
from protocol import messages
from protocol.schema import request_name
from tests.rules.samples import Asked, ask

DENIED = Denied(3, "no such namespace", "namespace")
TOPIC = UUID("11111111-1111-1111-1111-111111111111")


def shape_of(api_key: ApiKey, version: int) -> TopicShape:
    shape = topic_shape(api_key, version)
    assert shape is not None
    return shape


def topics_of(shape: TopicShape, version: int, *asked: Asked) -> tuple[Any, ...]:
    message = request_name(shape.api_key)
    request = messages.parse(message, version, ask(shape, version, asked))
    topics: tuple[Any, ...] = getattr(request, shape.request.array)
    return topics


@pytest.mark.parametrize(
    ("api_key", "version", "name", "topic_id", "code"),
    [
        (ApiKey.LIST_OFFSETS, 7, "a:t", None, 3),
        (ApiKey.CREATE_TOPICS, 7, "a:t", None, 17),
        (ApiKey.FETCH, 13, None, TOPIC, 100),
        (ApiKey.DELETE_TOPICS, 6, None, TOPIC, 100),
        (ApiKey.DELETE_TOPICS, 6, "a:t", None, 3),
    ],
)
def test_the_code_fits_the_api_and_the_way_of_naming(
    api_key: ApiKey, version: int, name: str | None, topic_id: UUID | None, code: int
) -> None:
    refusal = Refusal(shape_of(api_key, version), {b"a:t": DENIED, TOPIC.bytes: DENIED})
    why = refusal.of(name, topic_id)
    assert why is not None
    assert (why.code, why.message, why.rule) == (code, DENIED.message, DENIED.rule)


def test_what_nothing_is_said_of_is_not_refused() -> None:
    refusal = Refusal(shape_of(ApiKey.DELETE_TOPICS, 6), {b"a:t": DENIED})
    assert refusal.of("a:u", None) is None
    assert refusal.of(None, TOPIC) is None
    assert refusal.of(None, None) is None


def test_the_order_of_the_request_stays() -> None:
    shape = shape_of(ApiKey.LIST_OFFSETS, 7)
    entries = topics_of(shape, 7, Asked("c"), Asked("a"), Asked("d"), Asked("b"))
    left, asked = divide(entries, Refusal(shape, {b"a": DENIED}))
    assert [entry.name for entry in left] == ["c", "d", "b"]
    assert [topic.name for topic in asked] == ["c", "a", "d", "b"]
    assert [topic.denied for topic in asked] == [None, DENIED, None, None]


def test_three_spellings_make_one_entry() -> None:
    shape = shape_of(ApiKey.OFFSET_FETCH, 7)
    entries = topics_of(
        shape,
        7,
        Asked("x", partitions=(2,)),
        Asked("y", partitions=(2, 3)),
        Asked("z", partitions=(1,)),
    )
    left, asked = divide(entries, Refusal(shape, aliases={b"x": b"y", b"z": b"y"}))
    assert [(entry.name, entry.partition_indexes) for entry in left] == [("y", (2, 3, 1))]
    assert [topic.partitions for topic in asked] == [(2,), (2, 3), (1,)]
    assert [topic.forwarded for topic in asked] == ["y", "y", "y"]


def test_a_second_spelling_without_the_first_goes_on_under_the_first() -> None:
    shape = shape_of(ApiKey.DELETE_TOPICS, 3)
    left, (asked,) = divide(("a..t",), Refusal(shape, aliases={b"a..t": b"a:t"}))
    assert left == ("a:t",)
    assert (asked.name, asked.forwarded, asked.denied) == ("a..t", "a:t", None)


def test_one_refused_topic_stops_a_transaction() -> None:
    shape = shape_of(ApiKey.ADD_PARTITIONS_TO_TXN, 3)
    entries = topics_of(shape, 3, Asked("a"), Asked("b"))
    left, asked = divide(entries, Refusal(shape, {b"b": DENIED}))
    assert left == ()
    assert [topic.denied.code for topic in asked if topic.denied] == [55, 3]


def test_an_empty_name_beside_an_id_says_nothing() -> None:
    """Java's client asks Metadata for an id so."""
    version = 12
    shape = shape_of(ApiKey.METADATA, version)
    topics = topics_of(shape, version, Asked("", TOPIC))
    forwarded, (asked,) = divide(topics, Refusal(shape, {b"": DENIED}))
    assert forwarded == topics
    assert (asked.name, asked.topic_id, asked.denied) == (None, TOPIC, None)
