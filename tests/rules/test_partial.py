"""Partial responses: every topic of a request is answered once, by the decision on it."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.exchanges.api import Api
from gateway.rules import partial
from protocol import messages
from protocol.errors import ProtocolError
from protocol.messages import element_class, make
from tests.examples import examples
from tests.rules.apis import api_named, topics_of
from tests.rules.samples import (
    Asked,
    ask,
    entries,
    holders,
    identity,
    names_topics_by,
    serve,
)
from tests.rules.topic_cases import (
    ALL,
    AUTHORIZATION_FAILED,
    BY_ID,
    BY_NAME,
    CASES,
    FIRST,
    INVALID_REQUEST,
    NO_TOPIC,
    NOT_ALLOWED,
    NOT_ATTEMPTED,
    SECOND,
    THIRD,
    UNKNOWN,
    VERSIONS,
    answered,
    code_of,
    expected,
    parse_request,
    parse_response,
)


@pytest.mark.parametrize(("api", "version", "asked"), CASES)
def test_two_of_three_rejected(api: Api, version: int, asked: tuple[Asked, ...]) -> None:
    shape = topics_of(api, version)
    denied = {asked[0].key: NO_TOPIC, asked[2].key: NOT_ALLOWED}
    parts = partial.split(api, version, ask(api, version, asked, acks=-1), denied)
    middle = 0
    if shape.all_or_nothing:
        assert parts.body is None
        response = partial.merge(parts.kept, None)
        middle = NOT_ATTEMPTED
    else:
        request = parse_request(api, version, parts.body)
        for holder in holders(shape.request, request):
            left = entries(shape.request, holder)
            assert [identity(shape.request, entry) for entry in left] == [asked[1].identity]
        assert parts.body is not None
        response = partial.merge(parts.kept, serve(api, version, parts.body))
    lists = answered(shape, parse_response(api, version, response))
    assert lists == [
        [
            expected(shape, asked[0], code_of(api, asked[0], NO_TOPIC)),
            expected(shape, asked[1], middle),
            expected(shape, asked[2], AUTHORIZATION_FAILED),
        ]
    ] * len(lists)
    assert lists


@pytest.mark.parametrize(("api", "version", "asked"), CASES)
def test_all_rejected(api: Api, version: int, asked: tuple[Asked, ...]) -> None:
    shape = topics_of(api, version)
    denied = {topic.key: NOT_ALLOWED for topic in asked}
    parts = partial.split(api, version, ask(api, version, asked, acks=1), denied)
    assert (parts.body is None) != shape.always_asked
    response = partial.merge(parts.kept, None)
    lists = answered(shape, parse_response(api, version, response))
    assert lists == [[expected(shape, topic, AUTHORIZATION_FAILED) for topic in asked]] * len(lists)
    assert lists


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_messages_are_kept_where_the_version_has_room(api: Api, version: int) -> None:
    shape = topics_of(api, version)
    by_name, _ = names_topics_by(api, version)
    asked = BY_NAME if by_name else BY_ID
    body = ask(api, version, asked, acks=1)
    parts = partial.split(api, version, body, {asked[0].key: NO_TOPIC})
    response = parse_response(api, version, partial.merge(parts.kept, None))
    (entry, *_) = entries(shape.response, holders(shape.response, response)[0])
    if shape.response.partitions is not None:
        entry = getattr(entry, shape.response.partitions)[0]
    assert getattr(entry, "error_message", NO_TOPIC.message) == NO_TOPIC.message
    has_room = {
        "Produce": version >= 8,
        "CreateTopics": version >= 1,
        "DeleteTopics": version >= 5,
        "CreatePartitions": True,
        "DescribeProducers": True,
        "ElectLeaders": True,
        "AlterPartitionReassignments": True,
        "ShareAcknowledge": True,
        "DescribeShareGroupOffsets": True,
        "AlterShareGroupOffsets": True,
        "DeleteShareGroupOffsets": True,
    }
    assert hasattr(entry, "error_message") == has_room.get(api.name, False)


ALIASED = [
    pytest.param(api, version, id=f"{api.name}-{version}")
    for api, version in ALL
    if names_topics_by(api, version)[0] and not topics_of(api, version).one_spelling
]


@pytest.mark.parametrize(("api", "version"), ALIASED)
@pytest.mark.parametrize("second_comes_first", [False, True])
def test_a_topic_under_two_spellings(api: Api, version: int, second_comes_first: bool) -> None:
    shape = topics_of(api, version)
    one = Asked("a:t", partitions=(0, 1))
    two = Asked("a..t", partitions=(1, 2))
    asked = (two, one) if second_comes_first else (one, two)
    body = ask(api, version, asked)
    parts = partial.split(api, version, body, {}, {b"a..t": b"a:t"})
    request = parse_request(api, version, parts.body)
    for holder in holders(shape.request, request):
        (left,) = entries(shape.request, holder)
        assert identity(shape.request, left) == "a:t"
    assert parts.body is not None
    response = partial.merge(parts.kept, serve(api, version, parts.body))
    lists = answered(shape, parse_response(api, version, response))
    assert lists == [[expected(shape, topic, 0) for topic in asked]] * len(lists)


@pytest.mark.parametrize(("api", "version", "asked"), CASES)
def test_dropped_topics_are_gone(api: Api, version: int, asked: tuple[Asked, ...]) -> None:
    shape = topics_of(api, version)
    served = serve(api, version, ask(api, version, asked))
    hidden = {asked[0].key, asked[2].key}
    left = parse_response(api, version, partial.drop(api, version, served, hidden))
    for holder in holders(shape.response, left):
        names = [identity(shape.response, entry) for entry in entries(shape.response, holder)]
        assert names == [asked[1].identity]


def test_dropped_topics_are_gone_from_a_described_group() -> None:
    cls = messages.message_class("ConsumerGroupDescribeResponse", 1)
    group_class = element_class(cls, "groups")
    member_class = element_class(group_class, "members")
    assignment_class = element_class(member_class, "assignment")
    topic_class = element_class(assignment_class, "topic_partitions")
    assigned = make(
        assignment_class,
        {
            "topic_partitions": tuple(
                make(topic_class, {"topic_name": name, "topic_id": topic_id})
                for name, topic_id in (("a:x", FIRST), ("a:y", SECOND), ("a:z", THIRD))
            )
        },
    )
    member = make(
        member_class,
        {
            "subscribed_topic_names": ("a:x", "a:y", "a:z"),
            "assignment": assigned,
            "target_assignment": assigned,
        },
    )
    body = messages.write(make(cls, {"groups": (make(group_class, {"members": (member,)}),)}))
    left = partial.drop(api_named("ConsumerGroupDescribe"), 1, body, {b"a:x", THIRD.bytes})
    (shown,) = messages.parse("ConsumerGroupDescribeResponse", 1, left).groups[0].members
    assert shown.subscribed_topic_names == ("a:y", "a:z")
    for assignment in (shown.assignment, shown.target_assignment):
        assert [topic.topic_name for topic in assignment.topic_partitions] == ["a:y"]


def test_an_empty_assignment_has_nothing_to_drop() -> None:
    cls = messages.message_class("ConsumerGroupHeartbeatResponse", 0)
    body = messages.write(messages.build(cls, assignment=None))
    assert partial.drop(api_named("ConsumerGroupHeartbeat"), 0, body, {FIRST.bytes}) == body


@settings(max_examples=examples(60), deadline=None)
@given(
    case=st.sampled_from([case for case in ALL if names_topics_by(*case)[0]]),
    names=st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=8, unique=True),
    chosen=st.data(),
)
def test_each_topic_is_answered_once(
    case: tuple[Api, int], names: list[str], chosen: st.DataObject
) -> None:
    api, version = case
    shape = topics_of(api, version)
    rejected = chosen.draw(st.sets(st.sampled_from(names)))
    second = chosen.draw(st.sets(st.sampled_from(names)))
    asked = [Asked(name, partitions=(0, 1)) for name in names]
    asked += [Asked(name * 2, partitions=(1, 2)) for name in names if name in second]
    asked = chosen.draw(st.permutations(asked))
    aliases = {(name * 2).encode(): name.encode() for name in second}
    denied = {name.encode(): NOT_ALLOWED for name in rejected}
    body = ask(api, version, asked, acks=1)
    parts = partial.split(api, version, body, denied, aliases)
    served = None if parts.body is None else serve(api, version, parts.body)
    response = parse_response(api, version, partial.merge(parts.kept, served))

    def code(topic: Asked) -> int:
        assert topic.name is not None
        if topic.name[0] in rejected:
            return AUTHORIZATION_FAILED
        if shape.one_spelling and len(topic.name) == 2:
            return INVALID_REQUEST
        return NOT_ATTEMPTED if shape.all_or_nothing and rejected else 0

    lists = answered(shape, response)
    assert lists == [[expected(shape, topic, code(topic)) for topic in asked]] * len(lists)
    assert lists


@settings(max_examples=examples(200), deadline=None)
@given(case=st.sampled_from(ALL), where=st.integers(0), byte=st.integers(0, 255))
def test_a_damaged_body_is_read_or_a_protocol_error(
    case: tuple[Api, int], where: int, byte: int
) -> None:
    api, version = case
    asked = BY_NAME if names_topics_by(api, version)[0] else BY_ID
    denied = {asked[0].key: NO_TOPIC}
    body = ask(api, version, asked, acks=1)
    kept = partial.split(api, version, body, denied).kept
    with contextlib.suppress(ProtocolError):
        damaged = with_byte(body, where, byte)
        partial.merge(partial.split(api, version, damaged, denied).kept, None)
    with contextlib.suppress(ProtocolError):
        partial.merge(kept, with_byte(serve(api, version, body), where, byte))


def test_garbage_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError):
        partial.split(api_named("Metadata"), 9, b"\xff\xff\xff", {})


def test_an_api_without_topics_is_a_lookup_error() -> None:
    with pytest.raises(LookupError):
        partial.split(api_named("Heartbeat"), 4, b"", {})


@pytest.mark.parametrize(("api", "version"), VERSIONS)
def test_rejecting_everything_keeps_the_code(api: Api, version: int) -> None:
    shape = topics_of(api, version)
    by_name, _ = names_topics_by(api, version)
    asked = BY_NAME if by_name else BY_ID
    body = ask(api, version, asked, acks=-1)
    response = partial.reject_all(api, version, body, NO_TOPIC)
    lists = answered(shape, parse_response(api, version, response))
    assert lists == [[expected(shape, topic, UNKNOWN) for topic in asked]] * len(lists)
    assert lists


def with_byte(body: bytes, where: int, byte: int) -> bytes:
    """``body`` with another byte at one place, counted round and round."""
    at = where % len(body)
    return body[:at] + bytes((byte,)) + body[at + 1 :]
