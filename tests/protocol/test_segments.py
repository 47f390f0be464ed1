"""Segments: the units of a message that streams, against the walker of the whole message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol import messages
from protocol.entities import ALL_KINDS, Kind
from protocol.errors import ProtocolError, TruncatedError
from protocol.walkers import Segments, Span, Walker, segments, walker
from tests.protocol.oracle import encode
from tests.protocol.strategies import CASES, PROFILE, Case, messages_of

STREAMED = [case for case in CASES if case[0] in ("ProduceRequest", "FetchResponse")]
WANTED = frozenset({Kind.TOPIC_NAME, Kind.TOPIC_ID, Kind.ERROR_CODE, Kind.HOST, Kind.SIZED})

Step = Callable[[Walker, int, list[Span]], int]


def walk(units: Segments, step: Step) -> tuple[list[Span], int]:
    """All units of a body, each walked by ``step(walker, pos, out) -> pos``; the spans, and where
    the body ends."""
    spans: list[Span] = []

    def unit(walker: Walker, pos: int) -> tuple[int, Any]:
        out: list[Span] = []
        pos = step(walker, pos, out)
        spans.extend(out)
        return pos, out[-1] if out else None

    pos, topics = unit(units.prefix, 0)
    for _ in range(topics[3]):
        pos, partitions = unit(units.topic_head, pos)
        for _ in range(partitions[3]):
            pos, records = unit(units.partition_head, pos)
            assert (records[0], records[2]) == (Kind.RECORDS, pos)
            pos, _ = unit(units.partition_tail, pos + records[3])
        pos, _ = unit(units.topic_tail, pos)
    pos, _ = unit(units.tail, pos)
    return spans, pos


@pytest.mark.parametrize("case", STREAMED, ids=lambda case: f"{case[0]}-{case[1]}")
@PROFILE
@given(data=st.data(), tags=st.sampled_from([[], [(100, b"new")]]))
def test_agrees_with_the_walker(case: Case, data: st.DataObject, tags: Any) -> None:
    body = encode(data.draw(messages_of(case)), tags)
    units = segments(*case, ALL_KINDS)
    spans, end = walk(units, lambda unit, pos, out: unit(body, pos, len(body), out))
    whole: list[Span] = []
    assert walker(*case, ALL_KINDS)(body, 0, len(body), whole) == end == len(body)
    assert spans == [
        span for span in whole if span[0] != Kind.COUNT or span[1:] in {s[1:] for s in spans}
    ]
    assert {span for span in whole if span[0] != Kind.COUNT} <= set(spans)


@pytest.mark.parametrize("case", STREAMED, ids=lambda case: f"{case[0]}-{case[1]}")
@PROFILE
@given(data=st.data())
def test_each_unit_can_be_retried_with_more_bytes(case: Case, data: st.DataObject) -> None:
    body = encode(data.draw(messages_of(case)))
    units = segments(*case, WANTED)

    def byte_by_byte(unit: Walker, pos: int, out: list[Span]) -> int:
        end = pos
        while True:
            try:
                return unit(body[:end], pos, end, out)
            except TruncatedError:
                out.clear()
                # Far from the unit's end in few steps, near it byte by byte.
                end += 1 if end - pos < 200 else 97
                assert end <= len(body) + 97
                end = min(end, len(body))

    at_once, _ = walk(units, lambda unit, pos, out: unit(body, pos, len(body), out))
    assert walk(units, byte_by_byte) == (at_once, len(body))


@pytest.mark.parametrize("case", STREAMED, ids=lambda case: f"{case[0]}-{case[1]}")
def test_counts_and_records_are_emitted_unasked(case: Case) -> None:
    kinds = [
        [Kind(span[0]) for span in spans]
        for spans in walk_units(case, messages.write(one_partition(case)), frozenset())
    ]
    assert kinds == [[Kind.COUNT], [Kind.COUNT], [Kind.RECORDS], [], [], []]


def test_the_records_themselves_need_not_have_arrived() -> None:
    case = ("ProduceRequest", 9)
    body = messages.write(one_partition(case, b"r" * 1000))
    units = segments(*case, WANTED)
    head = body.index(b"r")
    spans: list[Span] = []
    pos = units.topic_head(body, units.prefix(body, 0, head, spans), head, spans)
    assert units.partition_head(body[:head], pos, head, spans) == head
    assert spans[-1][2:] == (head, 1000)
    with pytest.raises(TruncatedError):
        units.partition_tail(body[:head], head + 1000, head, [])


@pytest.mark.parametrize("case", [("ProduceRequest", 3), ("FetchResponse", 4)], ids=str)
def test_null_records_are_none(case: Case) -> None:
    *_, records, _, _, _ = walk_units(case, messages.write(one_partition(case, None)), WANTED)
    assert records[-1][3] == 0


def test_other_messages_have_no_segments() -> None:
    with pytest.raises(ProtocolError, match="MetadataResponse carries no records"):
        segments("MetadataResponse", 12, ALL_KINDS)


def walk_units(case: Case, body: bytes, kinds: frozenset[Kind]) -> list[list[Span]]:
    """The spans of each unit of a body with a topic and a partition."""
    found: list[list[Span]] = []

    def step(unit: Walker, pos: int, out: list[Span]) -> int:
        pos = unit(body, pos, len(body), out)
        found.append(out)
        return pos

    assert walk(segments(*case, kinds), step)[1] == len(body)
    return found


def one_partition(case: Case, records: bytes | None = b"abc") -> Any:
    topics, partitions = {
        "ProduceRequest": ("topic_data", "partition_data"),
        "FetchResponse": ("responses", "partitions"),
    }[case[0]]
    message = messages.message_class(*case)
    topic = element(message, topics)
    partition = messages.build(element(topic, partitions), records=records)
    return messages.build(
        message, **{topics: (messages.build(topic, **{partitions: (partition,)}),)}
    )


def element(cls: Any, name: str) -> Any:
    """The class of an array's elements."""
    return cls.__dataclass_fields__[name].type.__args__[0]
