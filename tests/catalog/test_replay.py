"""Records in, snapshots out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.entities import Change, Namespace, Removal
from gateway.catalog.log.records import Record, encode
from gateway.catalog.log.replay import OUT_OF_SEQUENCE, BrokenSequence, Replay
from gateway.catalog.log.signatures import Place
from gateway.catalog.snapshot import Snapshot
from tests.catalog.strategies import changes


def one(seq: int, path: str = "a", after: int | None = None) -> Record:
    """A decision of a single record that follows number ``seq`` - 1, or ``after``."""
    before = seq - 1 if after is None else after
    return encode(Namespace(path), Place(seq, seq, f"d{seq}", f"d{before}" if before else ""))


def tailing(*records: Record) -> Replay:
    """A replay that has been at the end."""
    replay = Replay()
    replay.take(records)
    replay.reach_end()
    return replay


def test_records_are_applied_in_order() -> None:
    replay = Replay()
    assert replay.take([one(1, "a"), one(2, "b"), one(3, "c")]) == ["d1", "d2", "d3"]
    assert set(replay.snapshot.namespaces) == {"a", "b", "c"}
    assert replay.snapshot.version == 3
    assert replay.decision == "d3"


@given(st.lists(st.lists(changes, min_size=1, max_size=4), max_size=6), st.integers(1, 5))
def test_however_it_is_fetched_the_state_is_the_same(
    decisions: list[list[Change]], size: int
) -> None:
    records: list[Record] = []
    before = ""
    for number, decision in enumerate(decisions):
        last = len(records) + len(decision)
        for change in decision:
            place = Place(len(records) + 1, last, f"d{number}", before, at=len(records))
            records.append(encode(change, place))
            before = f"d{number}"
    replay = Replay()
    boundaries = {0, *(sum(map(len, decisions[:n])) for n in range(1, len(decisions) + 1))}
    for start in range(0, len(records), size):
        replay.take(records[start : start + size])
        assert replay.snapshot.version in boundaries
    replay.reach_end()
    flat = [change for decision in decisions for change in decision]
    assert replay.snapshot == Snapshot().apply(flat, len(flat))


def test_a_decision_is_shown_whole() -> None:
    first = encode(Namespace("a"), Place(1, 2, "x", ""))
    second = encode(Namespace("a:b"), Place(2, 2, "x", "x"))
    replay = Replay()
    assert replay.take([first]) == []
    assert replay.holds
    assert replay.snapshot.namespaces == {}
    assert replay.take([second]) == ["x"]
    assert not replay.holds
    assert set(replay.snapshot.namespaces) == {"a", "a:b"}


def test_a_decision_whose_last_record_was_compacted_away_ends_with_the_next() -> None:
    first = encode(Namespace("a"), Place(1, 2, "x", ""))
    replay = Replay()
    assert replay.take([first, encode(Namespace("c"), Place(5, 5, "z", "y"))]) == ["x", "z"]
    assert set(replay.snapshot.namespaces) == {"a", "c"}
    assert replay.snapshot.version == 5


def test_at_the_end_nothing_is_held_back() -> None:
    replay = Replay()
    replay.take([encode(Namespace("a"), Place(1, 2, "x", ""))])
    assert replay.reach_end() == ["x"]
    assert set(replay.snapshot.namespaces) == {"a"}
    assert replay.snapshot.version == 1
    assert replay.reach_end() == []


def test_before_the_end_records_may_be_missing() -> None:
    replay = Replay()
    replay.take([one(3, "a", after=1), one(9, "b", after=5)])
    assert replay.snapshot.version == 9


@pytest.mark.parametrize("seq", [3, 2])
def test_before_the_end_numbers_must_grow(seq: int) -> None:
    replay = Replay()
    replay.take([one(3, after=1)])
    replay.take([one(seq, "b")])
    assert set(replay.snapshot.namespaces) == {"a"}
    assert [skipped.reason for skipped in replay.take_skipped()] == [OUT_OF_SEQUENCE]


@pytest.mark.parametrize("seq", [1, 2, 4])
def test_from_then_on_no_number_may_be_missing(seq: int) -> None:
    replay = tailing(one(1, "a"), one(2, "b"))
    before = replay.snapshot
    with pytest.raises(BrokenSequence, match=f"record {seq} comes after record 2"):
        replay.take([one(seq, "c")])
    assert replay.snapshot is before


def test_a_record_of_another_log_is_noticed_by_what_it_follows() -> None:
    replay = tailing(one(1, "a"), one(2, "b"))
    with pytest.raises(BrokenSequence, match="record 3 follows another one"):
        replay.take([one(3, "c", after=7)])


def test_a_break_in_the_midst_applies_nothing() -> None:
    replay = tailing(one(1, "a"))
    before = replay.snapshot
    with pytest.raises(BrokenSequence):
        replay.take([one(2, "b"), one(4, "c")])
    assert replay.snapshot is before


def test_a_first_record_follows_an_empty_log() -> None:
    replay = tailing()
    replay.take([one(1, "a")])
    assert set(replay.snapshot.namespaces) == {"a"}


def test_a_removal_removes() -> None:
    replay = tailing(one(1, "a"))
    replay.take([encode(Removal(("namespace", "a")), Place(2, 2, "d2", "d1"))])
    assert replay.snapshot.namespaces == {}
    assert replay.snapshot.version == 2


def test_nothing_new_is_the_same_snapshot() -> None:
    replay = tailing(one(1, "a"))
    before = replay.snapshot
    replay.take([])
    assert replay.snapshot is before
