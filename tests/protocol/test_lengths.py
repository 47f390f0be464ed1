"""The lengths that generated code reads inline, and which it leaves to slower code."""

from __future__ import annotations

from typing import Any

import pytest

from protocol import messages
from protocol.entities import ALL_KINDS, Kind
from protocol.errors import ProtocolError, TruncatedError
from protocol.walkers import Span, walker
from tests.protocol.strategies import Case
from tests.protocol.test_segments import one_partition

NOTHING: frozenset[Kind] = frozenset()
SIZES = [0, 1, 125, 126, 127, 128, 16381, 16382, 16383, 16384, 2097150, 2097151]


def spans_of(case: Case, kinds: frozenset[Kind], body: bytes) -> list[Span]:
    spans: list[Span] = []
    assert walker(*case, kinds)(body, 0, len(body), spans) == len(body)
    return spans


def build(case: Case, **values: object) -> bytes:
    return messages.write(messages.build(messages.message_class(*case), **values))


@pytest.mark.parametrize("version", [8, 9])
@pytest.mark.parametrize("size", SIZES)
def test_records(version: int, size: int) -> None:
    case = ("ProduceRequest", version)
    body = messages.write(one_partition(case, b"\xee" * size))
    (span,) = spans_of(case, frozenset({Kind.RECORDS}), body)
    assert span[3] == size
    assert body[span[2] : span[2] + size] == b"\xee" * size
    assert body[span[1] : span[2]] == (
        size.to_bytes(4, "big")
        if version == 8
        else messages.write(sized(size))[: span[2] - span[1]]
    )
    assert spans_of(case, NOTHING, body) == []
    with pytest.raises(TruncatedError):
        walker(*case, NOTHING)(body[:-2], 0, len(body) - 2, [])


def sized(size: int) -> Any:
    """A flexible message that begins with a bytes field of ``size`` bytes."""
    cls = messages.message_class("SaslAuthenticateRequest", 2)
    return messages.build(cls, auth_bytes=b"\xee" * size)


@pytest.mark.parametrize("version", [0, 4])
@pytest.mark.parametrize("size", [size for size in SIZES if size < 2**15])
def test_strings(version: int, size: int) -> None:
    case = ("HeartbeatRequest", version)
    body = build(case, group_id="g" * size, member_id="m" * size)
    assert [span[3] for span in spans_of(case, ALL_KINDS, body)] == [b"g" * size]
    assert spans_of(case, NOTHING, body) == []


@pytest.mark.parametrize("version", [0, 2])
@pytest.mark.parametrize("value", [None, "", "t", "t" * 126, "t" * 127, "t" * 16384])
def test_strings_that_may_be_null(version: int, value: str | None) -> None:
    case = ("InitProducerIdRequest", version)
    body = build(case, transactional_id=value)
    (span,) = spans_of(case, ALL_KINDS, body)
    assert span[3] == (value.encode() if value is not None else None)
    assert spans_of(case, NOTHING, body) == []


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize("size", SIZES)
def test_bytes(version: int, size: int) -> None:
    case = ("SyncGroupResponse", version)
    body = build(case, assignment=b"a" * size)
    (span,) = spans_of(case, ALL_KINDS, body)
    assert span[1:3] == (6, len(body) - (version == 4))
    assert span[3] == b"a" * size
    assert spans_of(case, NOTHING, body) == []


@pytest.mark.parametrize("version", [3, 4])
@pytest.mark.parametrize("kinds", [ALL_KINDS, NOTHING, frozenset({Kind.PARTITION})], ids=len)
@pytest.mark.parametrize("count", [0, 1, 126, 127, 128, 16384])
def test_counts(version: int, kinds: frozenset[Kind], count: int) -> None:
    """OffsetDeleteRequest has no flexible version; DescribeProducers has no other."""
    case = ("AddPartitionsToTxnRequest", 2 if version == 3 else 3)
    topic: Any = messages.message_class(*case).__dataclass_fields__["v3_and_below_topics"].type
    partitions = tuple(range(count))
    entry = messages.build(topic.__args__[0], name="t", partitions=partitions)
    body = build(case, v3_and_below_topics=(entry,))
    spans = spans_of(case, kinds, body)
    found = [span[3] for span in spans if span[0] == Kind.PARTITION]
    assert found == (list(partitions) if kinds else [])
    counts = [span[3] for span in spans if span[0] == Kind.COUNT]
    assert counts == ([1, count] if kinds == ALL_KINDS else [])


def test_a_null_array_has_a_count_of_minus_one() -> None:
    for version in (1, 9):
        case = ("MetadataRequest", version)
        body = build(case, topics=None)
        span, *_ = spans_of(case, ALL_KINDS, body)
        assert span[0] == Kind.COUNT
        assert span[3] == -1
        assert spans_of(case, NOTHING, body) == []


def test_lengths_may_be_longer_than_need_be() -> None:
    """Two bytes for a length that fits one, as Kafka's own reader allows."""
    body = build(("SyncGroupResponse", 4), assignment=b"abc")
    longer = body.replace(b"\4abc", b"\x84\0abc")
    (span,) = spans_of(("SyncGroupResponse", 4), ALL_KINDS, longer)
    assert span[3] == b"abc"
    null = b"\x80\0" + bytes(4) + b"\0"
    (span,) = spans_of(("InitProducerIdRequest", 2), ALL_KINDS, null)
    assert span[1:] == (0, 2, None)
    with pytest.raises(ProtocolError, match="assignment is null"):
        spans_of(("SyncGroupResponse", 4), ALL_KINDS, body.replace(b"\4abc", b"\x80\0"))
