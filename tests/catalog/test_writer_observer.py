"""Changes that a writer commits are reported once, by the process that made them, with their
principal."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from gateway.catalog.entities import Namespace
from gateway.catalog.log import writer as writer_module
from gateway.catalog.source import ACTOR, GATEWAY, Actor, CatalogUnavailable, Committed
from tests.catalog.fake_log import FakeLog
from tests.catalog.skipped_time import skipping
from tests.catalog.writing import Exists, Member, create, member
from tests.waiting import eventually


class Told:
    """The changes that an observer got, and in how many calls."""

    def __init__(self) -> None:
        self.changes: list[Committed] = []
        self.calls = 0

    def __call__(self, changes: Sequence[Committed]) -> None:
        self.calls += 1
        self.changes += changes

    @property
    def paths(self) -> list[str]:
        return [change.key[1] for change in self.changes]


async def change_as(one: Member, principal: str, path: str) -> None:
    """Make a change in a task of its own, as for every client."""

    async def run() -> None:
        ACTOR.set(Actor(principal))
        await one.writer.change(create(path))

    await asyncio.create_task(run())


async def test_each_change_is_told_with_who_asked_for_it() -> None:
    log, told = FakeLog(), Told()
    async with member(log, observer=told) as one:
        await one.writer.change(create("seed"))
        await asyncio.gather(change_as(one, "User:alice", "a"), change_as(one, "User:bob", "b"))
    assert [(c.key[1], c.actor.principal, c.version) for c in told.changes] == [
        ("seed", GATEWAY.principal, 1),
        ("a", "User:alice", 2),
        ("b", "User:bob", 3),
    ]
    assert all(change.certain for change in told.changes)
    assert told.calls == log.commits == 2


async def test_only_the_process_that_wrote_tells() -> None:
    log, told, other = FakeLog(), Told(), Told()
    async with member(log, observer=told) as one, member(log, observer=other) as another:
        await one.writer.change(create("a"))
        await another.writer.change(create("b"))
        await one.reader.refresh()
        assert set(one.reader.snapshot.namespaces) == {"a", "b"}
    assert (told.paths, other.paths) == (["a"], ["b"])


async def test_rejections_and_nothing_are_not_told() -> None:
    log, told = FakeLog(), Told()
    async with member(log, observer=told) as one:
        await one.writer.change(create("a"))
        with pytest.raises(Exists):
            await one.writer.change(create("a"))
        await one.writer.change(lambda _: [])
    assert told.paths == ["a"]


async def test_what_was_lost_and_written_again_is_told_once() -> None:
    log, told = FakeLog(), Told()
    async with member(log, observer=told) as one:
        log.lost_commits = 2
        await one.writer.change(create("a"))
        log.lost_answers = 1
        await one.writer.change(create("b"))
    assert [(change.key[1], change.certain) for change in told.changes] == [
        ("a", True),
        ("b", True),
    ]


async def test_a_fenced_writer_tells_nothing_until_it_wins() -> None:
    log, told = FakeLog(), Told()
    async with member(log, observer=told) as one:

        async def fence() -> None:
            log.before_commit = None
            log.epoch += 1

        log.before_commit = fence
        await one.writer.change(create("a"))
    assert told.paths == ["a"]


async def test_a_client_that_goes_away_has_made_its_change_all_the_same() -> None:
    log, told = FakeLog(), Told()
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slowly() -> None:
        begun.set()
        await go_on.wait()

    async with member(log, observer=told) as one:
        log.before_commit = slowly
        gone = asyncio.create_task(change_as(one, "User:alice", "a"))
        await begun.wait()
        gone.cancel()
        go_on.set()
        await eventually(lambda: told.changes, "the commit")
    assert [(change.key[1], change.actor.principal) for change in told.changes] == [
        ("a", "User:alice")
    ]


@skipping
async def test_an_outcome_that_stays_unknown_is_told_as_such() -> None:
    log, told = FakeLog(), Told()
    async with member(log, observer=told, change_seconds=0.3) as one:
        log.lost_commits = 1

        async def then_nobody_answers() -> None:
            log.down = True

        log.before_commit = then_nobody_answers
        with pytest.raises(CatalogUnavailable, match="not known whether the change was made"):
            await one.writer.change(create("a"))
        await eventually(lambda: told.changes, "that it is told")
        log.before_commit, log.down = None, False
    assert [(change.key[1], change.certain) for change in told.changes] == [("a", False)]


async def test_so_is_one_in_the_middle_of_which_the_process_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer_module, "_STOP_SECONDS", 0.05)
    log, told = FakeLog(), Told()
    begun = asyncio.Event()

    async def for_ever() -> None:
        begun.set()
        await asyncio.Event().wait()

    async with member(log, observer=told) as one:
        log.before_commit = for_ever
        change = asyncio.create_task(one.writer.change(create("a")))
        await begun.wait()
        await one.writer.stop()
        with pytest.raises(CatalogUnavailable, match="the gateway stops"):
            await change
    assert [(one.key[1], one.certain) for one in told.changes] == [("a", False)]


async def test_before_and_after_are_those_of_the_catalog() -> None:
    log, told = FakeLog(), Told()
    async with member(log, observer=told) as one:
        await one.writer.change(create("a", "first"))
        await one.writer.change(lambda _: [Namespace("a", {"owner": "second"})])
    first, second = (Namespace("a", {"owner": owner}) for owner in ("first", "second"))
    steps = [(change.before, change.after) for change in told.changes]
    assert steps == [(None, first), (first, second)]


async def test_an_observer_with_a_defect_costs_no_change(caplog: pytest.LogCaptureFixture) -> None:
    class Defect(Told):
        def __call__(self, changes: Sequence[Committed]) -> None:
            super().__call__(changes)
            raise ZeroDivisionError

    log, told = FakeLog(), Defect()
    async with member(log, observer=told) as one:
        await one.writer.change(create("a"))
        await one.writer.change(create("b"))
    assert told.paths == ["a", "b"]
    assert log.commits == 2
    assert caplog.text.count("telling of a change of the catalog failed") == 2
