"""The changes that a writer has committed, entity by entity."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.entities import (
    CatalogFormat,
    Change,
    Entity,
    Key,
    Namespace,
    Removal,
    Signing,
    key_of,
)
from gateway.catalog.members import signed
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import GATEWAY, Actor, Committed, committed
from tests.catalog import strategies

ALICE = Actor("User:alice")

# If a catalog has no record of them, it has the first format, and no seeds.
ALWAYS_THERE = {("format", ""), ("seeds", "")}


def test_made_altered_and_removed() -> None:
    state = Snapshot.of(["a", "b"], version=7)
    made, altered = Namespace("c"), Namespace("a", {"x": "1"})
    changes: list[Change] = [made, altered, Removal(("namespace", "b"))]
    assert list(committed(ALICE, state, changes)) == [
        Committed(ALICE, ("namespace", "c"), None, made, 8),
        Committed(ALICE, ("namespace", "a"), Namespace("a"), altered, 9),
        Committed(ALICE, ("namespace", "b"), Namespace("b"), None, 10),
    ]


def test_what_stays_as_it_is_is_no_change() -> None:
    state = Snapshot.of(["a"], version=7)
    changes: list[Change] = [Namespace("a"), Removal(("namespace", "gone")), Namespace("b")]
    assert [one.version for one in committed(GATEWAY, state, changes)] == [10]


def test_one_decision_may_change_an_entity_twice() -> None:
    first, second = Namespace("a", {"x": "1"}), Namespace("a", {"x": "2"})
    changes: list[Change] = [first, second, Removal(("namespace", "a"))]
    steps = [(one.before, one.after) for one in committed(GATEWAY, Snapshot(), changes)]
    assert steps == [(None, first), (first, second), (second, None)]


@given(st.lists(strategies.changes, max_size=6), st.lists(strategies.changes, max_size=6))
def test_what_is_told_leads_from_one_state_to_the_next(
    earlier: list[Change], changes: list[Change]
) -> None:
    state = Snapshot().apply(earlier, len(earlier))
    after = state.apply(changes, len(earlier) + len(changes))
    now = _by_key(state)
    for one in committed(GATEWAY, state, changes):
        if one.key in ALWAYS_THERE:
            continue
        assert now.get(one.key) == one.before
        assert one.before != one.after
        if one.after is None:
            del now[one.key]
        else:
            now[one.key] = one.after
    assert now == _by_key(after)


def _by_key(state: Snapshot) -> dict[Key, Entity]:
    by_key = {key_of(entity): entity for entity in state.entities()}
    return {key: entity for key, entity in by_key.items() if key not in ALWAYS_THERE}


@given(st.lists(strategies.changes, max_size=8))
def test_every_entity_is_found_by_its_key(changes: list[Change]) -> None:
    state = Snapshot().apply(changes, len(changes))
    for entity in state.entities():
        assert state.entity(key_of(entity)) == entity


def test_that_everything_is_signed_is_one_change() -> None:
    """Entities that are only written once more are left out."""
    state = Snapshot().apply([CatalogFormat(2), Namespace("a")], 2)
    (one,) = committed(GATEWAY, state, signed(state, "k1"))
    assert (one.key, one.before, one.after) == (("signing", ""), None, Signing("k1"))
    again = state.apply(signed(state, "k1"), 6)
    assert list(committed(GATEWAY, again, signed(again, "k1"))) == []
