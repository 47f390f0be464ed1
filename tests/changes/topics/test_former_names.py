"""Names that topics were moved away from."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from gateway import slices
from gateway.catalog.entities import Alias, Removal, TopicEntry
from gateway.changes.topics.former_names import FEW_TOPICS, MAX_NAMES, FormerNames
from gateway.names import LogicalName
from tests.changes.fakes import START, World

A, B, C = (LogicalName(namespace, "t") for namespace in ("a", "b", "c"))
FLAT = "a..t"


def world() -> World:
    return World(["a", "b", "c"])


def names(one: World) -> FormerNames:
    """The former names; a long change is looked through at once."""
    return FormerNames(one.gateway().catalog, run)


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run work that awaits nothing."""
    with pytest.raises(StopIteration):
        work.send(None)


def moved(count: int) -> list[TopicEntry]:
    return [TopicEntry(f"a..t{n}", LogicalName("b", f"t{n}")) for n in range(count)]


def test_every_name_that_a_topic_had() -> None:
    one = world()
    former = names(one)
    one.log.append([TopicEntry(FLAT, B)])
    one.log.append([TopicEntry(FLAT, C, since=1)])
    assert [name in former for name in (A, B, C)] == [True, True, False]


def test_an_alias_works_until_it_ends() -> None:
    one = world()
    former = names(one)
    one.log.append([TopicEntry(FLAT, B, aliases=(Alias(A, START),))])
    assert A not in former
    one.log.append([TopicEntry(FLAT, B)])
    assert A in former


def test_an_alias_of_a_topic_that_needs_no_entry_then() -> None:
    one = world()
    former = names(one)
    one.log.append([TopicEntry(FLAT, A, aliases=(Alias(B, START),))])
    one.log.append([Removal(("topic", FLAT))])
    assert B in former
    assert A not in former


def test_a_deleted_topic_leaves_its_name_free() -> None:
    one = world()
    one.log.append([TopicEntry("t.1234", A)])
    former = names(one)
    one.log.append([Removal(("topic", "t.1234"))])
    assert A not in former


def test_a_topic_that_is_created_has_left_nothing() -> None:
    one = world()
    former = names(one)
    one.log.append([TopicEntry("t.1234", A, creating=True, since=1)])
    one.log.append([TopicEntry("t.1234", A, since=1)])
    one.log.append([TopicEntry("x__y", LogicalName("", "x__y"), creating=True)])
    one.log.append([TopicEntry("x__y", LogicalName("", "x__y"), counted=1)])
    one.log.append([Removal(("topic", "x__y"))])
    assert not any(name in former for name in (A, LogicalName("", "x__y")))


def test_the_oldest_are_forgotten() -> None:
    one = world()
    former = names(one)
    count = MAX_NAMES + 5
    one.log.append(moved(count))
    held = [n for n in range(count) if LogicalName("a", f"t{n}") in former]
    assert len(held) == MAX_NAMES


def test_a_few_moved_topics_need_no_task() -> None:
    one = world()
    tasks: list[Coroutine[Any, Any, None]] = []
    former = FormerNames(one.gateway().catalog, tasks.append, slices.Turns())
    one.log.append(moved(FEW_TOPICS))
    assert not tasks
    assert LogicalName("a", "t0") in former
    assert B not in former


async def test_many_moved_topics_are_looked_through_in_slices(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every name counts as one of them meanwhile; changes that come meanwhile follow."""
    for seconds in ("FIRST_SECONDS", "SLICE_SECONDS"):
        monkeypatch.setattr(slices, seconds, 0.0)
    one = world()
    tasks: list[asyncio.Task[None]] = []
    former = FormerNames(
        one.gateway().catalog,
        lambda work: tasks.append(asyncio.ensure_future(work)),
        slices.Turns(),
    )
    count = FEW_TOPICS + 1
    one.log.append(moved(count))
    assert B in former
    rounds = 0
    while not tasks[0].done():
        await asyncio.sleep(0)
        rounds += 1
        if rounds == 1:
            one.log.append([TopicEntry("a..t0", LogicalName("c", "t0"))])
        assert tasks[0].done() or B in former
    assert rounds >= 2 * count / 256  # they are compared, and then read
    assert len(tasks) == 1
    assert B not in former
    every = [LogicalName("a", f"t{n}") for n in range(count)]
    assert all(name in former for name in (*every, LogicalName("b", "t0")))
    assert LogicalName("c", "t0") not in former
