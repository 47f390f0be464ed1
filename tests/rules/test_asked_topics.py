"""Dividing a request's topics: the topics forwarded, and the record of the others."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from gateway.decision import Denied
from gateway.rules.declaration import TopicShape
from gateway.rules.topic_entries import Rejection, divide
from protocol import messages
from tests.rules.apis import api_named, topics_of
from tests.rules.samples import Asked, ask

DENIED = Denied(3, "no such namespace", "namespace")
TOPIC = UUID("11111111-1111-1111-1111-111111111111")


def shape_of(name: str, version: int) -> TopicShape:
    return topics_of(api_named(name), version)


def entries_of(name: str, version: int, *asked: Asked) -> tuple[Any, ...]:
    body = ask(api_named(name), version, asked)
    request = messages.parse(f"{name}Request", version, body)
    topics: tuple[Any, ...] = getattr(request, shape_of(name, version).request.array)
    return topics


@pytest.mark.parametrize(
    ("api", "version", "name", "topic_id", "code"),
    [
        ("ListOffsets", 7, "a:t", None, 3),
        ("CreateTopics", 7, "a:t", None, 17),
        ("Fetch", 13, None, TOPIC, 100),
        ("DeleteTopics", 6, None, TOPIC, 100),
        ("DeleteTopics", 6, "a:t", None, 3),
    ],
)
def test_the_code_fits_the_api_and_the_way_of_naming(
    api: str, version: int, name: str | None, topic_id: UUID | None, code: int
) -> None:
    rejection = Rejection(shape_of(api, version), {b"a:t": DENIED, TOPIC.bytes: DENIED})
    why = rejection.of(name, topic_id)
    assert why is not None
    assert (why.code, why.message, why.rule) == (code, DENIED.message, DENIED.rule)


def test_what_nothing_is_said_of_is_not_rejected() -> None:
    rejection = Rejection(shape_of("DeleteTopics", 6), {b"a:t": DENIED})
    assert rejection.of("a:u", None) is None
    assert rejection.of(None, TOPIC) is None
    assert rejection.of(None, None) is None


def test_the_order_of_the_request_stays() -> None:
    shape = shape_of("ListOffsets", 7)
    entries = entries_of("ListOffsets", 7, Asked("c"), Asked("a"), Asked("d"), Asked("b"))
    left, asked = divide(entries, Rejection(shape, {b"a": DENIED}))
    assert [entry.name for entry in left] == ["c", "d", "b"]
    assert [topic.name for topic in asked] == ["c", "a", "d", "b"]
    assert [topic.denied for topic in asked] == [None, DENIED, None, None]


def test_three_spellings_make_one_entry() -> None:
    shape = shape_of("OffsetFetch", 7)
    entries = entries_of(
        "OffsetFetch",
        7,
        Asked("x", partitions=(2,)),
        Asked("y", partitions=(2, 3)),
        Asked("z", partitions=(1,)),
    )
    left, asked = divide(entries, Rejection(shape, aliases={b"x": b"y", b"z": b"y"}))
    assert [(entry.name, entry.partition_indexes) for entry in left] == [("y", (2, 3, 1))]
    assert [topic.partitions for topic in asked] == [(2,), (2, 3), (1,)]
    assert [topic.forwarded for topic in asked] == ["y", "y", "y"]


def test_a_second_spelling_without_the_first_goes_on_under_the_first() -> None:
    shape = shape_of("DeleteTopics", 3)
    left, (asked,) = divide(("a..t",), Rejection(shape, aliases={b"a..t": b"a:t"}))
    assert left == ("a:t",)
    assert (asked.name, asked.forwarded, asked.denied) == ("a..t", "a:t", None)


def test_one_rejected_topic_stops_a_transaction() -> None:
    shape = shape_of("AddPartitionsToTxn", 3)
    entries = entries_of("AddPartitionsToTxn", 3, Asked("a"), Asked("b"))
    left, asked = divide(entries, Rejection(shape, {b"b": DENIED}))
    assert left == ()
    assert [topic.denied.code for topic in asked if topic.denied] == [55, 3]


def test_an_empty_name_beside_an_id_says_nothing() -> None:
    """Java's client sends Metadata requests for an id like this."""
    version = 12
    shape = shape_of("Metadata", version)
    topics = entries_of("Metadata", version, Asked("", TOPIC))
    forwarded, (asked,) = divide(topics, Rejection(shape, {b"": DENIED}))
    assert forwarded == topics
    assert (asked.name, asked.topic_id, asked.denied) == (None, TOPIC, None)
