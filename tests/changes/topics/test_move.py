"""Moves as decisions: the moves that a catalog state allows, and the record that follows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.catalog.entities import Alias, Namespace, Removal, TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import Outdated
from gateway.changes.base.inherited import ground, own_of, settled
from gateway.changes.base.rejected import Rejected
from gateway.changes.topics.move import Source, check_target, move, release
from gateway.names import LogicalName

NOW = 1_700_000_000_000
NEW_ID = b"n" * 16
OLD_ID = b"o" * 16
ORG_X = LogicalName("org", "x")

SNAPSHOT = Snapshot.of(["org:apache", "team"])


def source(
    snapshot: Snapshot, flat: str, *others: str, seen: Snapshot | None = None, **dynamic: str
) -> Source:
    """A topic at a broker that has it and ``others``."""
    return Source(flat, dynamic, seen or snapshot, lambda name: name in (flat, *others), NOW)


def moved(
    snapshot: Snapshot, flat: str, to: LogicalName, until: int | None = None, **dynamic: str
) -> TopicEntry:
    facts = replace(source(snapshot, flat), dynamic=dynamic)
    change = move(snapshot, facts, to, NEW_ID, until)
    assert change is not None
    after = snapshot.apply([change], snapshot.version + 1)
    assert after.flat_of(to) == flat
    assert after.owner(flat) == to
    return change


def rejection(snapshot: Snapshot, flat: str, to: LogicalName, *there: str) -> tuple[int, str]:
    with pytest.raises(Rejected) as caught:
        move(snapshot, source(snapshot, flat, *there), to, NEW_ID)
    return caught.value.why.code, caught.value.why.message


def test_the_record_of_a_move() -> None:
    entry = moved(SNAPSHOT, "org..x", LogicalName("team", "z"))
    assert entry == TopicEntry(
        "org..x", LogicalName("team", "z"), topic_id=NEW_ID, apply=True, since=NOW
    )


def test_a_move_gives_a_new_id_even_where_the_topic_came_from() -> None:
    first = moved(SNAPSHOT, "org..x", LogicalName("team", "x"))
    there = SNAPSHOT.apply([replace(first, topic_id=OLD_ID, apply=False)], 2)
    assert moved(there, "org..x", ORG_X).topic_id == NEW_ID


def test_aliases_are_kept_until_they_expire_and_not_for_the_new_name() -> None:
    entry = TopicEntry(
        "x0",
        ORG_X,
        topic_id=OLD_ID,
        aliases=(
            Alias(LogicalName("", "x0"), NOW + 5),
            Alias(LogicalName("org", "past"), NOW),
            Alias(LogicalName("team", "x"), NOW + 9, b"a" * 16),
        ),
        since=NOW + 50,
    )
    snapshot = SNAPSHOT.apply([entry], 2)
    change = moved(snapshot, "x0", LogicalName("team", "x"), until=NOW + 7)
    assert change.aliases == (
        Alias(LogicalName("", "x0"), NOW + 5),
        Alias(ORG_X, NOW + 7, OLD_ID),
    )
    assert change.since == NOW + 51


@pytest.mark.parametrize(
    ("until", "alias_id", "expected"),
    [(NOW + 1, b"a" * 16, b"a" * 16), (NOW + 1, None, None), (NOW, b"a" * 16, NEW_ID)],
)
def test_back_to_an_alias_its_id_comes_back_while_it_works(
    until: int, alias_id: bytes | None, expected: bytes | None
) -> None:
    alias = Alias(LogicalName("team", "x"), until, alias_id)
    entry = TopicEntry("x0", ORG_X, topic_id=OLD_ID, aliases=(alias,))
    change = moved(SNAPSHOT.apply([entry], 2), "x0", LogicalName("team", "x"), until=NOW + 9)
    assert change.topic_id == expected
    assert change.aliases == (Alias(ORG_X, NOW + 9, OLD_ID),)


def test_own_configs_of_a_topic_that_had_no_entry() -> None:
    inherits = SNAPSHOT.apply([Namespace("org", {"a": "1", "b": "2"})], 2)
    assert moved(inherits, "org..x", LogicalName("team", "x"), a="1", b="3", c="4").own_configs == (
        "b",
        "c",
    )
    assert moved(SNAPSHOT, "x", ORG_X, a="1").own_configs == ("a",)


def test_own_configs_are_not_guessed_while_something_is_being_applied() -> None:
    pending = SNAPSHOT.apply([Namespace("org", {"a": "1"}, apply=("a", "b"), apply_since=1)], 2)
    assert own_of(pending, "org..x", {"a": "0", "b": "0", "c": "0"}) == {"c"}
    entry = TopicEntry("org..x", ORG_X, own_configs=("b",), apply=True)
    assert own_of(SNAPSHOT.apply([entry], 2), "org..x", {"a": "0", "b": "0"}) == {"b"}


def test_a_topic_of_the_default_namespace_owns_what_is_set_and_nothing_else() -> None:
    entry = TopicEntry("org..y", LogicalName("", "y"), own_configs=("gone",))
    assert own_of(SNAPSHOT.apply([entry], 2), "org..y", {"a": "0"}) == {"a"}


def test_what_was_read_before_the_catalog_changed_is_read_anew() -> None:
    newer = SNAPSHOT.apply([Namespace("org", {"a": "1"})], 2)
    facts = source(newer, "org..x", seen=SNAPSHOT)
    with pytest.raises(Outdated):
        move(newer, facts, LogicalName("team", "x"), NEW_ID)
    elsewhere = SNAPSHOT.apply([Namespace("team", {"a": "1"})], 2)
    assert ground(elsewhere, "org..x") == ground(SNAPSHOT, "org..x")
    facts = source(elsewhere, "org..x", seen=SNAPSHOT)
    assert move(elsewhere, facts, LogicalName("team", "x"), NEW_ID)


def test_to_where_it_is_nothing_is_to_be_done() -> None:
    assert move(SNAPSHOT, source(SNAPSHOT, "org..x"), ORG_X, NEW_ID) is None


@pytest.mark.parametrize(
    ("to", "code", "text"),
    [
        (LogicalName("nowhere", "x"), 17, "InvalidNamespaceException: namespace 'nowhere' does"),
        (LogicalName("org:gone:far", "x"), 17, "namespace 'org:gone' does not exist"),
        (LogicalName("team", "a b"), 17, "characters other than"),
        (LogicalName("team", "a:b"), 17, "characters other than"),
        (LogicalName("team", ""), 17, "is not allowed"),
        (LogicalName("team", "x" * 249), 17, "leaves 243 of Kafka's 249"),
        (LogicalName("", "__consumer_offsets"), 17, "reserved"),
        (LogicalName("", "__kafka_gateway_x"), 17, "reserved"),
        (LogicalName("", "team..x"), 17, "collide with names of a namespace"),
        (LogicalName("", "team__x"), 17, "collide with names of a namespace"),
        (LogicalName("", "team.."), 17, "collide with names of a namespace"),
        (LogicalName("team", "taken"), 36, "Topic 'team:taken' already exists."),
        (LogicalName("team", "held"), 36, "Topic 'team:held' already exists."),
        (LogicalName("team", "aliased"), 36, "already exists."),
        (LogicalName("", "plain"), 36, "Topic 'plain' already exists."),
    ],
)
def test_where_nothing_goes(to: LogicalName, code: int, text: str) -> None:
    snapshot = SNAPSHOT.apply(
        [
            TopicEntry("somewhere", LogicalName("team", "held")),
            TopicEntry("other", ORG_X, aliases=(Alias(LogicalName("team", "aliased"), NOW + 1),)),
        ],
        2,
    )
    found, message = rejection(snapshot, "org..y", to, "team..taken", "plain")
    assert found == code
    assert text in message


def test_a_flat_name_that_another_topic_has_left_is_free_as_a_name() -> None:
    left = SNAPSHOT.apply([TopicEntry("team..x", LogicalName("team", "y"), topic_id=OLD_ID)], 2)
    entry = TopicEntry("z", ORG_X)
    snapshot = left.apply([entry], 3)
    facts = source(snapshot, "z", "team..x")
    change = move(snapshot, facts, LogicalName("team", "x"), NEW_ID)
    assert change is not None
    after = snapshot.apply([change], 4)
    assert after.flat_of(LogicalName("team", "x")) == "z"
    assert after.flat_of(LogicalName("team", "y")) == "team..x"


def test_into_what_is_being_deleted() -> None:
    deleting = SNAPSHOT.apply([Namespace("org", deleting=1)], 2)
    code, message = rejection(deleting, "team..x", LogicalName("org:apache", "x"))
    assert (code, message) == (
        17,
        "InvalidNamespaceException: namespace 'org' is being deleted, so nothing can be moved"
        " into it.",
    )


def test_a_topic_that_does_not_exist_or_not_yet() -> None:
    facts = replace(source(SNAPSHOT, "org..x"), exists=lambda _: False)
    with pytest.raises(Rejected, match=r"Topic 'org:x' does not exist\."):
        move(SNAPSHOT, facts, LogicalName("team", "x"), NEW_ID)
    creating = SNAPSHOT.apply([TopicEntry("x0", ORG_X, creating=True)], 2)
    with pytest.raises(Rejected) as caught:
        release(creating, source(creating, "x0"))
    assert caught.value.why.code == 3


# -- release ---------------------------------------------------------------------------------------


def test_a_release_takes_off_first_what_was_inherited() -> None:
    entry = TopicEntry("orders", ORG_X, topic_id=OLD_ID, own_configs=("a",), since=5)
    snapshot = SNAPSHOT.apply([entry], 2)
    change = release(snapshot, source(snapshot, "orders", a="1"))
    assert change == TopicEntry(
        "orders", LogicalName("", "orders"), own_configs=("a",), apply=True, since=NOW
    )
    assert isinstance(change, TopicEntry)
    again = snapshot.apply([change], 3)
    assert release(again, source(again, "orders")) is None
    done = settled(again, replace(change, apply=False))
    assert done == Removal(("topic", "orders"))


def test_a_release_out_of_the_default_namespace_leaves_nothing() -> None:
    entry = TopicEntry("orders", LogicalName("", "other"), topic_id=OLD_ID)
    snapshot = SNAPSHOT.apply([entry], 2)
    assert release(snapshot, source(snapshot, "orders")) == Removal(("topic", "orders"))
    assert release(SNAPSHOT, source(SNAPSHOT, "orders")) is None


def test_a_release_keeps_promised_aliases_but_none_with_the_broker_s_id() -> None:
    kept = Alias(LogicalName("team", "y"), NOW + 9, b"a" * 16)
    aliases = (Alias(LogicalName("team", "z"), NOW + 9), kept, replace(kept, until=NOW))
    entry = TopicEntry("orders", ORG_X, topic_id=OLD_ID, aliases=aliases)
    snapshot = SNAPSHOT.apply([entry], 2)
    change = release(snapshot, source(snapshot, "orders"))
    assert isinstance(change, TopicEntry)
    assert change.aliases == (kept,)
    assert settled(snapshot, replace(change, apply=False)) == replace(change, apply=False)


@pytest.mark.parametrize("flat", ["org..x", "org__x", "team..x.1a2b3c4d"])
def test_a_name_of_a_namespace_is_not_released(flat: str) -> None:
    snapshot = SNAPSHOT.apply([TopicEntry(flat, LogicalName("team", "q"), topic_id=OLD_ID)], 2)
    with pytest.raises(Rejected, match="move it to the namespace") as caught:
        release(snapshot, source(snapshot, flat))
    assert caught.value.why.code == 42
    with pytest.raises(Rejected, match="move it to the namespace"):
        release(SNAPSHOT, source(SNAPSHOT, "org..x"))


def test_a_release_to_a_name_that_somebody_took() -> None:
    entries = [
        TopicEntry("orders", ORG_X, topic_id=OLD_ID),
        TopicEntry("orders.1a2b3c4d", LogicalName("", "orders")),
    ]
    snapshot = SNAPSHOT.apply(entries, 2)
    with pytest.raises(Rejected, match="already exists") as caught:
        release(snapshot, source(snapshot, "orders", "orders.1a2b3c4d"))
    assert caught.value.why.code == 36


# -- the remaining entry ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "entry",
    [
        TopicEntry("org..x", ORG_X, own_configs=("a",)),
        TopicEntry("org..x", ORG_X, topic_id=OLD_ID),
        TopicEntry("org..x", ORG_X, creating=True),
        TopicEntry("org..x", ORG_X, apply=True),
        TopicEntry("org..x", ORG_X, aliases=(Alias(LogicalName("team", "x"), NOW),)),
        TopicEntry("org__x", ORG_X),
        TopicEntry("org..y", LogicalName("", "y")),
        TopicEntry("y", LogicalName("", "y"), own_configs=("a",), apply=True),
    ],
)
def test_entries_that_say_something_stay(entry: TopicEntry) -> None:
    assert settled(SNAPSHOT, entry) == entry


def test_entries_that_say_nothing_go() -> None:
    assert settled(SNAPSHOT, TopicEntry("org..x", ORG_X)) == Removal(("topic", "org..x"))
    entry = TopicEntry("y", LogicalName("", "y"), own_configs=("a",))
    assert settled(SNAPSHOT, entry) == Removal(("topic", "y"))


def test_the_target_of_a_topic_may_be_the_flat_name_it_has() -> None:
    snapshot = SNAPSHOT.apply([TopicEntry("org..x", LogicalName("team", "q"))], 2)
    check_target(snapshot, "org..x", ORG_X, lambda flat: flat == "org..x")
