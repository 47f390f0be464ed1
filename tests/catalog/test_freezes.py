"""Decisions about freezes, and about the workers that have to let go of the names that they
hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.catalog.entities import (
    Alias,
    CatalogFormat,
    Change,
    Freeze,
    Gateway,
    Link,
    Removal,
    TopicEntry,
    Worker,
    key_of,
)
from gateway.catalog.freezes import (
    NOTHING_FROZEN,
    UNDER_WAY,
    Frozen,
    acknowledge,
    arrive,
    begin_with_freezes,
    ended_lately,
    expired,
    forgotten,
    freezes_in,
    frozen_by_others,
    leave,
    names_of,
    thaw,
    waited_for,
    workers_in,
)
from gateway.catalog.members import forget
from gateway.catalog.schema.table import FREEZE_FORMAT
from gateway.catalog.snapshot import Snapshot
from gateway.names import LogicalName

NOW = 1_700_000_000_000
SILENCE = 120_000

FREEZE = Freeze("f", "a", NOW + 60_000, ("org:x",), ("team",))
A = Worker("a", "gw-1", 0)
B = Worker("b", "gw-1", 1)
C = Worker("c", "gw-2", 0)


def catalog(*changes: Change, level: int = FREEZE_FORMAT) -> Snapshot:
    """A catalog of that format with these entities."""
    return Snapshot.of(["org", "team:sub"]).apply([CatalogFormat(level), *changes], 9)


# -- formats ---------------------------------------------------------------------------------------


def test_a_new_catalog_begins_with_the_format_that_freezes_need() -> None:
    assert begin_with_freezes(Snapshot()) == [CatalogFormat(FREEZE_FORMAT)]


def test_a_catalog_that_older_gateways_may_go_back_to_keeps_its_own() -> None:
    assert begin_with_freezes(Snapshot().apply([Gateway("old", 5, "0.1")], 1)) == []


# -- workers ---------------------------------------------------------------------------------------


def test_a_worker_takes_part_once_the_format_allows_it() -> None:
    assert arrive(catalog(level=FREEZE_FORMAT - 1), A, 2, NOW) == []
    assert arrive(catalog(), A, 2, NOW) == [A]
    assert arrive(catalog(A), A, 2, NOW) == []


@pytest.mark.parametrize("former", [Worker("x", "gw-1", 0), Worker("x", "gw-1", 2)])
def test_one_that_was_killed_is_known_by_its_successor(former: Worker) -> None:
    """Or by any other worker, if there are fewer workers now. Names that it had frozen are free at
    once."""
    held = replace(FREEZE, run="x")
    snapshot = catalog(former, B, C, held)
    changes = arrive(snapshot, A, 2, NOW)
    assert changes == [replace(former, gone=NOW), Removal(key_of(held)), A]
    again = snapshot.apply(changes, 10)
    third = Worker("d", "gw-1", 0)
    gone = {one.run for one in arrive(again, third, 2, NOW + 5) if isinstance(one, Worker)}
    assert gone == {"a", "d"}, "it is gone since it was found so first"


def test_one_that_ends_in_peace_leaves_nothing() -> None:
    assert leave(catalog(A), "a", unsure=False, now=NOW) == [Removal(key_of(A))]
    assert leave(catalog(A), "a", unsure=True, now=NOW) == [replace(A, gone=NOW)]
    assert leave(catalog(), "a", unsure=True, now=NOW) == []


def test_workers_of_a_gateway_that_is_forgotten_go_with_it() -> None:
    snapshot = catalog(A, C, Gateway("gw-1", 5, "1"))
    assert forget("gw-1")(snapshot) == [Removal(("gateway", "gw-1")), Removal(key_of(A))]


# -- freezes ---------------------------------------------------------------------------------------


def test_a_freeze_waits_for_every_worker_but_its_own() -> None:
    snapshot = catalog(A, B, C, FREEZE)
    assert waited_for(snapshot, FREEZE, NOW, SILENCE) == [B, C]
    (answered,) = acknowledge(snapshot, "b", ["f", "of the past"])
    assert answered == replace(B, has_read=("f",))
    assert waited_for(snapshot.apply([answered], 10), FREEZE, NOW, SILENCE) == [C]


def test_nothing_is_said_twice() -> None:
    snapshot = catalog(replace(B, has_read=("f",)), FREEZE)
    assert acknowledge(snapshot, "b", ["f"]) == []
    assert acknowledge(snapshot, "unknown", ["f"]) == []


def test_what_was_said_of_ended_freezes_is_forgotten() -> None:
    snapshot = catalog(replace(B, has_read=("f", "old")), replace(FREEZE, freeze_id="g"))
    assert acknowledge(snapshot, "b", ["g"]) == [replace(B, has_read=("g",))]


@pytest.mark.parametrize(
    ("worker", "until"),
    [(replace(B, gone=NOW), UNDER_WAY), (replace(B, unheard=NOW), SILENCE)],
)
def test_a_worker_that_ended_or_is_silent_counts_for_a_while(worker: Worker, until: int) -> None:
    snapshot = catalog(A, worker, FREEZE)
    for at, waits in ((NOW, True), (NOW + until - 1, True), (NOW + until, False)):
        assert waited_for(snapshot, FREEZE, at, SILENCE) == ([worker] if waits else [])
        assert forgotten(snapshot, at, SILENCE) == ([] if waits else [Removal(key_of(worker))])


def test_silence_is_counted_from_the_first_change_that_it_held_up() -> None:
    gone = replace(C, gone=NOW - 5)
    snapshot = catalog(A, B, gone, FREEZE)
    changes = thaw(snapshot, FREEZE, [B, gone], NOW)
    assert changes == [Removal(key_of(FREEZE)), replace(B, unheard=NOW)]
    later = snapshot.apply([changes[1]], 10)
    assert thaw(later, FREEZE, [B], NOW + 9) == [Removal(key_of(FREEZE))]
    assert acknowledge(later, "b", []) == [B], "it is heard of again"


def test_workers_that_ended_lately_are_known_before_anything_is_frozen() -> None:
    snapshot = catalog(A, replace(B, gone=NOW))
    (gone,) = [one for one in workers_in(snapshot).values() if one.gone]
    assert ended_lately(snapshot, NOW + 1_999, 10_000) == [], "it may be there"
    assert ended_lately(snapshot, NOW + 2_000, 10_000) == [gone]
    assert ended_lately(snapshot, NOW + UNDER_WAY - 10_001, 10_000) == [gone]
    assert ended_lately(snapshot, NOW + UNDER_WAY - 10_000, 10_000) == [], "it is worth waiting for"


def test_one_that_was_taken_for_gone_says_that_it_is_there() -> None:
    """As if two gateways had the same id."""
    assert acknowledge(catalog(replace(B, gone=NOW)), "b", []) == [B]


def test_a_freeze_ends_once() -> None:
    assert thaw(catalog(A), FREEZE, [A], NOW) == []
    assert expired(catalog(FREEZE), FREEZE.until - 1) == []
    assert expired(catalog(FREEZE), FREEZE.until) == [FREEZE]


# -- frozen names ----------------------------------------------------------------------------------


def test_names_and_all_in_a_namespace_are_frozen() -> None:
    frozen = Frozen.of([FREEZE])
    held = ["org:x", "team:x", "team:sub:y"]
    free = ["org:y", "x", "team-b:x", "teams:x"]
    names = {text: LogicalName(*text.rpartition(":")[::2]) for text in held + free}
    assert {text for text, name in names.items() if frozen.holds_name(name)} == {*held}
    assert Frozen.of([]) is NOTHING_FROZEN


def test_a_topic_is_concerned_under_any_of_its_names() -> None:
    entry = TopicEntry(
        "stored", LogicalName("new", "n"), aliases=(Alias(LogicalName("old", "o"), NOW),)
    )
    link = Link(LogicalName("far", "l"), "stored", b"i" * 16)
    snapshot = Snapshot.of(["new", "old", "far", "org"], topics=[entry]).apply([link], 5)
    assert set(map(str, names_of(snapshot, "stored"))) == {"new:n", "old:o", "far:l"}
    assert set(map(str, names_of(snapshot, "stored", links=False))) == {"new:n", "old:o"}
    for name in ("new:n", "old:o", "far:l"):
        assert Frozen(frozenset({name})).concerns(snapshot, "stored")
    assert not Frozen(frozenset({"org:x"})).concerns(snapshot, "stored")
    assert Frozen(frozenset({"org:x"})).concerns(snapshot, "org..x")


def test_what_was_sent_to_a_name_before_a_topic_came_there_is_not_the_topics() -> None:
    """A broker may be at work on it for a minute; the topic may be used meanwhile."""
    moved = TopicEntry("left..orders", LogicalName("right", "orders"))
    snapshot = Snapshot.of(["left", "right"], topics=[moved])
    by_name = Frozen(frozenset({"right:orders"}))
    assert by_name.concerns(snapshot, "left..orders")
    assert not by_name.concerns(snapshot, "right..orders")
    # A client that makes the namespace anew may make a topic that is stored under that name.
    assert Frozen(namespaces=("right",)).concerns(snapshot, "right..orders")


def test_they_are_kept_as_all_else_is() -> None:
    snapshot = catalog(A, FREEZE)
    assert (dict(workers_in(snapshot)), dict(freezes_in(snapshot))) == ({"a": A}, {"f": FREEZE})
    assert snapshot.size == catalog().size, "they say nothing that lasts"


@pytest.mark.parametrize(
    ("names", "namespaces", "held"),
    [
        (("org:x",), (), True),
        (("org:y",), (), False),
        (("team:sub:y",), (), True),
        (("teams:y",), (), False),
        ((), ("org",), True),
        ((), ("team:sub",), True),
        ((), ("te",), False),
        ((), ("org:x",), False),
    ],
)
def test_what_another_freeze_holds(
    names: tuple[str, ...], namespaces: tuple[str, ...], held: bool
) -> None:
    """Names and namespaces: it is enough if either holds the other, whichever was first."""
    snapshot = catalog(FREEZE)
    assert frozen_by_others(snapshot, names, namespaces) is held
    assert not frozen_by_others(snapshot, names, namespaces, FREEZE.freeze_id)
    other = catalog(replace(FREEZE, names=names, namespaces=namespaces))
    assert frozen_by_others(other, FREEZE.names, FREEZE.namespaces) is held
