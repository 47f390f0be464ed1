"""Names that topics were moved away from."""

from __future__ import annotations

from gateway.catalog.entities import Alias, Removal, TopicEntry
from gateway.changes.topics.auto_creation import MAX_NAMES, FormerNames
from gateway.names import LogicalName
from tests.changes.fakes import START, World

A, B, C = (LogicalName(namespace, "t") for namespace in ("a", "b", "c"))
FLAT = "a..t"


def world() -> World:
    return World(["a", "b", "c"])


def test_every_name_that_a_topic_had() -> None:
    one = world()
    former = FormerNames(one.gateway().catalog)
    one.log.append([TopicEntry(FLAT, B)])
    one.log.append([TopicEntry(FLAT, C, since=1)])
    assert [name in former for name in (A, B, C)] == [True, True, False]


def test_an_alias_works_until_it_ends() -> None:
    one = world()
    former = FormerNames(one.gateway().catalog)
    one.log.append([TopicEntry(FLAT, B, aliases=(Alias(A, START),))])
    assert A not in former
    one.log.append([TopicEntry(FLAT, B)])
    assert A in former


def test_an_alias_of_a_topic_that_needs_no_entry_then() -> None:
    one = world()
    former = FormerNames(one.gateway().catalog)
    one.log.append([TopicEntry(FLAT, A, aliases=(Alias(B, START),))])
    one.log.append([Removal(("topic", FLAT))])
    assert B in former
    assert A not in former


def test_a_deleted_topic_leaves_its_name_free() -> None:
    one = world()
    one.log.append([TopicEntry("t.1234", A)])
    former = FormerNames(one.gateway().catalog)
    one.log.append([Removal(("topic", "t.1234"))])
    assert A not in former


def test_a_topic_that_is_created_has_left_nothing() -> None:
    one = world()
    former = FormerNames(one.gateway().catalog)
    one.log.append([TopicEntry("t.1234", A, creating=True, since=1)])
    one.log.append([TopicEntry("t.1234", A, since=1)])
    one.log.append([TopicEntry("x__y", LogicalName("", "x__y"), creating=True)])
    one.log.append([TopicEntry("x__y", LogicalName("", "x__y"), counted=1)])
    one.log.append([Removal(("topic", "x__y"))])
    assert not any(name in former for name in (A, LogicalName("", "x__y")))


def test_the_oldest_are_forgotten() -> None:
    one = world()
    former = FormerNames(one.gateway().catalog)
    count = MAX_NAMES + 5
    one.log.append([TopicEntry(f"a..t{n}", LogicalName("b", f"t{n}")) for n in range(count)])
    held = [n for n in range(count) if LogicalName("a", f"t{n}") in former]
    assert len(held) == MAX_NAMES
