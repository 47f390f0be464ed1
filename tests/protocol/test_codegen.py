"""Fields that generated code reads at once: runs of fixed-size fields and arrays of fixed-size
elements."""

from __future__ import annotations

from typing import Any

import pytest

from protocol import messages
from protocol.entities import Kind
from protocol.errors import TruncatedError
from protocol.walkers import Span, walker, walker_source
from tests.protocol.oracle import encode
from tests.protocol.test_segments import element


def fetch_request(version: int, partitions: int) -> Any:
    cls: Any = messages.message_class("FetchRequest", version)
    topic = element(cls, "topics")
    partition = element(topic, "partitions")
    entries = tuple(messages.build(partition, partition=index) for index in range(partitions))
    return messages.build(
        cls,
        session_id=7,
        session_epoch=8,
        topics=(messages.build(topic, topic="t", partitions=entries),),
    )


def test_wanted_numbers_of_a_run_are_unpacked_together() -> None:
    source = walker_source("FetchRequest", 12, frozenset({Kind.SESSION_ID, Kind.SESSION_EPOCH}))
    assert source.count('Struct(">ii")') == 1
    body = messages.write(fetch_request(12, 1))
    spans: list[Span] = []
    walker("FetchRequest", 12, frozenset({Kind.SESSION_ID, Kind.SESSION_EPOCH}))(
        body, 0, len(body), spans
    )
    assert spans == [(Kind.SESSION_ID, 17, 21, 7), (Kind.SESSION_EPOCH, 21, 25, 8)]


@pytest.mark.parametrize("version", [11, 12])
@pytest.mark.parametrize("partitions", [0, 1, 3, 200])
def test_elements_of_fixed_size_are_passed_at_once(version: int, partitions: int) -> None:
    walk = walker("FetchRequest", version, frozenset({Kind.TOPIC_NAME}))
    body = messages.write(fetch_request(version, partitions))
    spans: list[Span] = []
    assert walk(body, 0, len(body), spans) == len(body)
    assert [span[3] for span in spans] == [b"t"]
    for end in range(len(body) - 1, 0, -7):
        with pytest.raises(TruncatedError):
            walk(body, 0, end, [])


@pytest.mark.parametrize("first", [0, 1, 2])
def test_but_one_by_one_if_any_has_tagged_fields(first: int) -> None:
    """Only the partition ``first`` has an unknown tagged field."""
    request = fetch_request(12, 3)
    plain = messages.write(request)
    tagged = encode(request.topics[0].partitions[first], [(9, b"new")])
    one = encode(request.topics[0].partitions[first])
    assert plain.count(one) == 1
    body = plain.replace(one, tagged)
    for kinds in (frozenset({Kind.TOPIC_NAME}), frozenset({Kind.PARTITION})):
        assert walker("FetchRequest", 12, kinds)(body, 0, len(body), []) == len(body)


@pytest.mark.parametrize("error", [0, 1, 256, -1])
def test_error_codes_are_emitted_only_if_there_is_an_error(error: int) -> None:
    body = bytes(4) + error.to_bytes(2, "big", signed=True) + b"\0"
    spans: list[Span] = []
    walker("HeartbeatResponse", 4, frozenset({Kind.ERROR_CODE}))(body, 0, len(body), spans)
    assert spans == ([(Kind.ERROR_CODE, 4, 6, error)] if error else [])
    with pytest.raises(TruncatedError):
        walker("HeartbeatResponse", 4, frozenset({Kind.ERROR_CODE}))(body, 0, 5, spans)
    assert len(spans) == bool(error)


def test_no_call_is_made_for_short_lengths() -> None:
    source = walker_source("ProduceRequest", 9, frozenset({Kind.TOPIC_NAME}))
    calls = [line for line in source.splitlines() if "(buf, " in line and "def " not in line]
    before = {source.splitlines()[source.splitlines().index(call) - 1].strip() for call in calls}
    assert before == {"else:", "if buf[pos]:"}
