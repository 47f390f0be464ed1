"""Partial responses: the parts that only one API has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from gateway.rules import partial
from protocol import messages
from protocol.messages import element_class, make
from tests.rules.apis import api_named, topics_of
from tests.rules.samples import (
    OFFSET,
    Asked,
    ask,
    serve,
)
from tests.rules.topic_cases import (
    AUTHORIZATION_FAILED,
    BY_ID,
    BY_NAME,
    INVALID_REQUEST,
    NO_TOPIC,
    NOT_ALLOWED,
    UNKNOWN,
    answered,
    expected,
    parse_request,
    parse_response,
)


@pytest.mark.parametrize("name", ["Produce", "Fetch"])
def test_produce_and_fetch_reject_a_second_spelling(name: str) -> None:
    api = api_named(name)
    shape = topics_of(api, 9)
    asked = (Asked("a:t"), Asked("a..t"))
    body = ask(api, 9, asked, acks=1)
    parts = partial.split(api, 9, body, {}, {b"a..t": b"a:t"})
    assert parts.body is not None
    response = partial.merge(parts.kept, serve(api, 9, parts.body))
    assert answered(shape, parse_response(api, 9, response)) == [
        [expected(shape, asked[0], 0), expected(shape, asked[1], INVALID_REQUEST)]
    ]


def test_two_spellings_that_want_different_things_of_one_partition() -> None:
    api = api_named("OffsetCommit")
    shape = topics_of(api, 8)
    body = ask(api, 8, (Asked("a:t", partitions=(0, 1)), Asked("a..t", partitions=(1, 2))))
    request = messages.parse("OffsetCommitRequest", 8, body)
    first, second = request.topics
    changed = _with_offset(second, OFFSET)
    body = messages.write(replace(request, topics=(first, changed)))
    parts = partial.split(api, 8, body, {}, {b"a..t": b"a:t"})
    left = parse_request(api, 8, parts.body).topics[0].partitions
    assert {p.partition_index: p.committed_offset for p in left} == {0: 0, 1: 0, 2: OFFSET}
    assert parts.body is not None
    response = partial.merge(parts.kept, serve(api, 8, parts.body))
    assert answered(shape, parse_response(api, 8, response)) == [
        [("a:t", {0: 0, 1: 0}), ("a..t", {2: 0, 1: INVALID_REQUEST})]
    ]


def test_two_spellings_that_create_different_topics() -> None:
    api = api_named("CreateTopics")
    shape = topics_of(api, 7)
    request = messages.parse("CreateTopicsRequest", 7, ask(api, 7, (Asked("a:t"), Asked("a..t"))))
    first, second = request.topics
    bigger = replace(second, num_partitions=6)
    body = messages.write(replace(request, topics=(first, bigger)))
    parts = partial.split(api, 7, body, {}, {b"a..t": b"a:t"})
    assert parts.body is not None
    response = partial.merge(parts.kept, serve(api, 7, parts.body))
    assert answered(shape, parse_response(api, 7, response)) == [
        [("a:t", {None: 0}), ("a..t", {None: INVALID_REQUEST})]
    ]


def test_an_alias_of_a_rejected_topic_is_rejected() -> None:
    api = api_named("ListOffsets")
    shape = topics_of(api, 7)
    asked = (Asked("a:t"), Asked("a..t"))
    body = ask(api, 7, asked)
    parts = partial.split(api, 7, body, {b"a:t": NOT_ALLOWED}, {b"a..t": b"a:t"})
    assert parts.body is None
    response = parse_response(api, 7, partial.merge(parts.kept, None))
    assert answered(shape, response) == [
        [expected(shape, topic, AUTHORIZATION_FAILED) for topic in asked]
    ]


def test_produce_without_acks_has_no_answer() -> None:
    api = api_named("Produce")
    body = ask(api, 11, BY_NAME, acks=0)
    parts = partial.split(api, 11, body, {BY_NAME[0].key: NO_TOPIC})
    assert not parts.kept.answered
    assert partial.merge(parts.kept, None) == b""
    assert parse_request(api, 11, parts.body).acks == 0


def test_produce_records_pass_as_they_are() -> None:
    api = api_named("Produce")
    body = ask(api, 13, BY_ID, acks=1)
    parts = partial.split(api, 13, body, {BY_ID[0].key: NO_TOPIC})
    left = parse_request(api, 13, parts.body).topic_data
    assert [p.records for topic in left for p in topic.partition_data] == [b"abc"] * 3


@pytest.mark.parametrize("version", range(7, 16))
def test_a_fetch_that_loses_topics_leaves_its_session(version: int) -> None:
    api = api_named("Fetch")
    asked = BY_NAME if version < 13 else BY_ID
    forgotten = Asked("a:gone") if version < 13 else Asked(None, UUID(int=9))
    plain = messages.parse("FetchRequest", version, ask(api, version, asked, session_id=5))
    entry = make(
        element_class(type(plain), "forgotten_topics_data"),
        {"topic": forgotten.name, "topic_id": forgotten.topic_id, "partitions": (0,)},
    )
    body = messages.write(replace(plain, session_epoch=8, forgotten_topics_data=(entry,)))
    parts = partial.split(api, version, body, {asked[0].key: NO_TOPIC, forgotten.key: NO_TOPIC})
    request = parse_request(api, version, parts.body)
    assert (request.session_id, request.session_epoch) == (0, -1)
    assert request.forgotten_topics_data == ()
    assert parts.body is not None
    served = serve(api, version, parts.body)
    assert parse_response(api, version, served).session_id == 99
    response = parse_response(api, version, partial.merge(parts.kept, served))
    assert response.session_id == 0
    error = response.responses[0].partitions[0]
    assert (error.records, error.high_watermark, error.aborted_transactions) == (b"", -1, ())
    assert response.responses[1].partitions[0].records == b"record bytes"


def test_a_fetch_that_only_forgot_what_it_may_not_see_is_answered_here() -> None:
    api = api_named("Fetch")
    body = ask(api, 12, (), session_id=5, session_epoch=3)
    parts = partial.split(api, 12, body, {b"a:gone": NO_TOPIC})
    assert parts.body is None
    response = parse_response(api, 12, partial.merge(parts.kept, None))
    assert (response.error_code, response.session_id, response.responses) == (0, 0, ())


def test_all_offsets_are_asked_for_as_before() -> None:
    api = api_named("OffsetFetch")
    cls = messages.message_class("OffsetFetchRequest", 7)
    body = messages.write(messages.build(cls, group_id="g", topics=None))
    parts = partial.split(api, 7, body, {b"a:t": NO_TOPIC})
    assert parts.body == body
    served = serve(api, 7, ask(api, 7, BY_NAME))
    assert partial.merge(parts.kept, served) == served


def test_metadata_is_asked_for_brokers_when_every_topic_is_rejected() -> None:
    api = api_named("Metadata")
    shape = topics_of(api, 9)
    denied = {topic.key: NO_TOPIC for topic in BY_NAME}
    parts = partial.split(api, 9, ask(api, 9, BY_NAME), denied)
    request = parse_request(api, 9, parts.body)
    assert request.topics == ()
    assert not request.allow_auto_topic_creation
    parts = partial.split(api, 0, ask(api, 0, BY_NAME), denied)
    assert [t.name for t in parse_request(api, 0, parts.body).topics] == [":"]
    assert parts.body is not None
    response = partial.merge(parts.kept, serve(api, 0, parts.body))
    assert answered(shape, parse_response(api, 0, response)) == [
        [(topic.name, {None: UNKNOWN}) for topic in BY_NAME]
    ]


def test_a_page_of_partitions_begins_anew_when_its_topic_is_rejected() -> None:
    api = api_named("DescribeTopicPartitions")
    request = messages.parse("DescribeTopicPartitionsRequest", 0, ask(api, 0, BY_NAME))
    body = messages.write(_with_cursor(request, "a:second"))
    kept_cursor = partial.split(api, 0, body, {b"a:first": NO_TOPIC})
    assert parse_request(api, 0, kept_cursor.body).cursor.topic_name == "a:second"
    anew = partial.split(api, 0, body, {b"a:second": NO_TOPIC})
    assert parse_request(api, 0, anew.body).cursor is None
    alias = partial.split(api, 0, body, {}, {b"a:second": b"a:first"})
    assert parse_request(api, 0, alias.body).cursor.topic_name == "a:first"


def _with_offset(topic: Any, offset: int) -> Any:
    partitions = tuple(replace(p, committed_offset=offset) for p in topic.partitions)
    return replace(topic, partitions=partitions)


def _with_cursor(request: Any, name: str) -> Any:
    cursor = make(element_class(type(request), "cursor"), {"topic_name": name})
    return replace(request, cursor=cursor)
