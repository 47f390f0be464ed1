"""Walkers against kio, on random messages of every API and version, both directions."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import messages
from protocol.entities import ALL_KINDS, Kind
from protocol.errors import ProtocolError, TruncatedError
from protocol.primitives import compact_string, legacy_string
from protocol.schema import message_names, message_spec, message_versions
from protocol.splice import splice
from protocol.walkers import LimitedSpans, ManySpans, Span, validator, walker, walker_source
from tests.protocol.oracle import STRINGS, encode, expected, renamed
from tests.protocol.strategies import CASES, PROFILE, Case, messages_of

NOT_SPLICED = {Kind.COUNT, Kind.SIZED, Kind.RECORDS}

unknown_tags = st.lists(
    st.tuples(st.sampled_from([100, 128, 70000]), st.sampled_from([b"", b"\x00", b"z" * 200])),
    min_size=1,
    max_size=2,
    unique_by=lambda tag: tag[0],
)
any_case_of = {
    name: st.sampled_from([(name, version) for version in message_versions(name)]).flatmap(
        lambda case: st.tuples(st.just(case), messages_of(case))
    )
    for name in message_names()
}


def walk(case: Case, buf: bytes, start: int, end: int) -> list[Span]:
    spans: list[Span] = []
    assert walker(*case, ALL_KINDS)(buf, start, end, spans) == end
    return spans


def sized(spans: list[Span]) -> list[tuple[int, int, int]]:
    return [(start, stop, value) for kind, start, stop, value in spans if kind == Kind.SIZED]


def found(spans: list[Span]) -> list[tuple[int, Any]]:
    """Kinds and values; the end of a tagged field is not in an entity."""
    return [(kind, None if kind == Kind.SIZED else value) for kind, _, _, value in spans]


def suffixed(kind: Kind, value: str) -> str:
    return f"{value}-{kind.name}-{'s' * 120}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
@PROFILE
@given(data=st.data())
def test_agrees_with_kio(case: Case, data: st.DataObject) -> None:
    entity = data.draw(messages_of(case))
    body = messages.write(entity)
    assert messages.parse(*case, body) == entity

    before, after = b"\xa5" * 7, b"\x5a" * 9
    buf = before + body + after
    start, end = len(before), len(before) + len(body)
    spans = walk(case, buf, start, end)
    assert found(spans) == expected(*case, entity, ALL_KINDS)

    same = [(at, stop, buf[at:stop]) for kind, at, stop, _ in spans if kind not in NOT_SPLICED]
    assert splice(buf, start, end, same, sized(spans)) == body

    wire_string = compact_string if message_spec(*case).flexible else legacy_string
    edits = [
        (at, stop, wire_string(suffixed(Kind(kind), value.decode()).encode()))
        for kind, at, stop, value in spans
        if kind in STRINGS and value is not None
    ]
    changed = splice(buf, start, end, edits, sized(spans))
    assert messages.parse(*case, changed) == renamed(*case, entity, suffixed)


@pytest.mark.parametrize("name", message_names())
@PROFILE
@given(data=st.data(), kinds=st.frozensets(st.sampled_from(sorted(ALL_KINDS)), max_size=3))
def test_emits_the_wanted_kinds_only(
    name: str, data: st.DataObject, kinds: frozenset[Kind]
) -> None:
    case, entity = data.draw(any_case_of[name])
    body = encode(entity)
    spans: list[Span] = []
    assert walker(*case, kinds)(body, 0, len(body), spans) == len(body)
    assert found(spans) == expected(*case, entity, kinds)


@pytest.mark.parametrize("name", message_names())
@PROFILE
@given(data=st.data(), tags=unknown_tags)
def test_passes_unknown_tagged_fields(
    name: str, data: st.DataObject, tags: list[tuple[int, bytes]]
) -> None:
    case, entity = data.draw(any_case_of[name])
    body = encode(entity, tags)
    assert encode(entity) == messages.write(entity)
    assert (body != encode(entity)) == message_spec(*case).flexible
    assert found(walk(case, body, 0, len(body))) == expected(*case, entity, ALL_KINDS)
    assert walker(*case, frozenset())(body, 0, len(body), []) == len(body)
    assert messages.parse(*case, body) == entity


@pytest.mark.parametrize("name", message_names())
@PROFILE
@given(data=st.data(), following=st.sampled_from([b"", b"\x00" * 64, b"\x01" * 64, b"\xff" * 64]))
def test_rejects_what_ends_early(name: str, data: st.DataObject, following: bytes) -> None:
    case, entity = data.draw(any_case_of[name])
    body = encode(entity)
    kinds = data.draw(st.sampled_from([ALL_KINDS, frozenset({Kind.TOPIC_NAME}), frozenset()]))
    for end in offsets(len(body)):
        buf = body[:end] + following
        spans: list[Span] = []
        # The bytes behind it may look like a null in a field that has none.
        with pytest.raises(ProtocolError if following else TruncatedError):
            walker(*case, kinds)(buf, 0, end, spans)
        assert all(start <= stop <= end for _, start, stop, _ in spans)


def offsets(size: int) -> list[int]:
    """The places of cuts: everywhere near both ends, some between."""
    return sorted({*range(min(size, 40)), *range(0, size, 1 + size // 40), size - 1} - {size, -1})


@pytest.mark.parametrize("name", message_names())
@PROFILE
@given(data=st.data())
def test_garbage_is_a_protocol_error(name: str, data: st.DataObject) -> None:
    case, entity = data.draw(any_case_of[name])
    body = bytearray(encode(entity))
    for _ in range(data.draw(st.integers(1, 4))):
        if body:
            at = data.draw(st.integers(0, len(body) - 1))
            body[at] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
    buf = bytes(body)
    spans: list[Span] = []
    try:
        assert walker(*case, ALL_KINDS)(buf, 0, len(buf), spans) <= len(buf)
    except ProtocolError:
        assert all(start <= stop <= len(buf) for _, start, stop, _ in spans)
    try:
        messages.parse(*case, buf)
    except ProtocolError:
        return


HUGE_COUNTS = {
    ("MetadataRequest", 1): b"\x7f\xff\xff\xff",
    ("MetadataRequest", 9): b"\xff\xff\xff\xff\x07",
    ("DeleteTopicsRequest", 1): b"\x7f\xff\xff\xff",
    ("ConsumerProtocolSubscription", 0): b"\x7f\xff\xff\xff",
}


@pytest.mark.parametrize("case", HUGE_COUNTS, ids=str)
@pytest.mark.parametrize("kinds", [ALL_KINDS, frozenset()], ids=["all", "none"])
def test_a_count_that_does_not_fit_is_rejected_before_its_elements(
    case: Case, kinds: frozenset[Kind]
) -> None:
    buf = HUGE_COUNTS[case] + bytes(64)
    spans: list[Span] = []
    with pytest.raises(TruncatedError):
        walker(*case, kinds)(buf, 0, len(buf), spans)
    assert [kind for kind, *_ in spans] == ([Kind.COUNT] if kinds else [])


@pytest.mark.parametrize(
    ("case", "body", "problem"),
    [
        (("MetadataRequest", 0), b"\xff\xff\xff\xff", "topics has a length of -1"),
        (("MetadataRequest", 1), b"\xff\xff\xff\xfe", "topics has a length of -2"),
        (("MetadataRequest", 0), b"\0\0\0\1\xff\xff", "topics.name has a length of -1"),
        (("MetadataRequest", 9), b"\2\0\0\0\0\0\0", "topics.name is null"),
        (("HeartbeatRequest", 0), b"\xff\xfe" + bytes(8), "group_id has a length of -2"),
        (("InitProducerIdRequest", 0), b"\xff\xfe" + bytes(4), "transactional_id has a length"),
        (("SyncGroupResponse", 0), b"\0\0\xff\xff\xff\xff", "assignment has a length of -1"),
        (
            ("ProduceRequest", 3),
            b"\xff\xff\0\1\0\0\0\0\0\0\0\1\0\1a\0\0\0\1\0\0\0\0\xff\xff\xff\xfe",
            "topic_data.partition_data.records has a length of -2",
        ),
        (("HeartbeatRequest", 4), b"\xff\xff\xff\xff\xff\xff", "longer than five bytes"),
        (("HeartbeatRequest", 4), b"\xff\xff\xff\xff\x0f", "does not fit an int32"),
    ],
)
@pytest.mark.parametrize("kinds", [ALL_KINDS, frozenset()], ids=["all", "none"])
def test_nonsense_is_rejected(
    case: Case, body: bytes, problem: str, kinds: frozenset[Kind]
) -> None:
    with pytest.raises(ProtocolError, match=problem):
        walker(*case, kinds)(body, 0, len(body), [])


def test_a_tagged_field_must_be_as_long_as_its_size_says() -> None:
    body = messages.write(messages.build(messages.message_class("ProduceResponse", 10)))
    assert body == b"\1" + bytes(4) + b"\0"
    endpoints = b"\2" + bytes(4) + b"\2h" + bytes(4) + b"\0\0"
    good = body[:-1] + b"\1\0" + bytes([len(endpoints)]) + endpoints
    assert [span[3] for span in walk(("ProduceResponse", 10), good, 0, len(good))][-1] == 0
    longer = body[:-1] + b"\1\0" + bytes([len(endpoints) + 1]) + endpoints + b"\0"
    with pytest.raises(ProtocolError, match="node_endpoints is not as long as its size says"):
        walk(("ProduceResponse", 10), longer, 0, len(longer))


def test_a_validator_looks_into_tagged_fields_that_a_walker_skips() -> None:
    body = messages.write(messages.build(messages.message_class("FetchRequest", 12)))
    cluster_id = b"\1\0\2\7a"
    long_string = body[:-1] + cluster_id
    assert walker("FetchRequest", 12, ALL_KINDS)(long_string, 0, len(long_string), []) == len(
        long_string
    )
    with pytest.raises(ProtocolError):
        validator("FetchRequest", 12)(long_string, 0, len(long_string), [])
    good = body[:-1] + b"\1\0\2\2a"
    assert validator("FetchRequest", 12)(good, 0, len(good), []) == len(good)


def test_is_compiled_once() -> None:
    kinds = frozenset({Kind.TOPIC_NAME})
    assert walker("ProduceRequest", 9, kinds) is walker("ProduceRequest", 9, kinds)


def test_unknown_messages_are_rejected() -> None:
    with pytest.raises(ProtocolError, match="no message NoSuchRequest"):
        walker("NoSuchRequest", 0, ALL_KINDS)
    with pytest.raises(ProtocolError, match="ProduceRequest has no version 99"):
        walker("ProduceRequest", 99, ALL_KINDS)


def test_unwanted_fixed_size_fields_cost_no_code() -> None:
    assert walker_source("HeartbeatRequest", 0, frozenset({Kind.GROUP_ID})).count("unpack") == 0
    assert "append" not in walker_source("HeartbeatRequest", 0, frozenset())


def run_module(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "protocol.walkers", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_module_prints_the_source() -> None:
    printed = run_module("ProduceRequest", "9", "TOPIC_NAME")
    assert printed.returncode == 0
    assert printed.stdout == walker_source("ProduceRequest", 9, frozenset({Kind.TOPIC_NAME}))
    assert run_module("ProduceRequest").returncode == 2
    rejected = run_module("ProduceRequest", "99")
    assert (rejected.returncode, rejected.stdout) == (2, "")
    assert "has no version 99" in rejected.stderr


def test_a_limited_walk_ends_long_before_a_long_message() -> None:
    """8 MiB can hold millions of names, and each span takes memory."""
    body = messages.made("FindCoordinatorRequest", 4, {"coordinator_keys": ("",) * 100_000})
    spans = LimitedSpans(1_000)
    walk = walker("FindCoordinatorRequest", 4, ALL_KINDS, paced=True)
    with pytest.raises(ManySpans):
        walk(body, 0, len(body), spans)
    assert 1_000 < len(spans) < 1_300
    assert walk(body, 0, len(body), LimitedSpans(200_000)) == len(body)
