"""The writer: decisions one after the other, fencing, and outcomes that are not known."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack

import pytest

from gateway.catalog.entities import Change, Namespace, Removal
from gateway.catalog.log.reader import Reader
from gateway.catalog.log.records import Record
from gateway.catalog.log.writer import Writer
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import CatalogUnavailable
from protocol.pausing import pause_point
from tests.catalog.fake_log import FakeLog, FakePartition, FakeTransactions
from tests.catalog.skipped_time import skipping
from tests.catalog.writing import Exists, Member, create, member
from tests.pauses import pause_everywhere
from tests.waiting import eventually


async def test_a_change_returns_what_was_read_back() -> None:
    log = FakeLog()
    async with member(log) as one:
        snapshot = await one.writer.change(create("a"))
        assert set(snapshot.namespaces) == {"a"}
        assert snapshot.version == 1
        assert one.reader.snapshot is snapshot


async def test_numbers_grow_by_one_for_each_record() -> None:
    log = FakeLog()
    async with member(log) as one:
        for turn in range(3):
            made = [Namespace(f"{turn}-{n}") for n in range(turn + 1)]
            await one.writer.change(lambda _, made=made: made)  # type: ignore[misc]
        headers = [dict(entry.record.headers) for entry in log.entries if entry.record]
        seqs = [int(found["seq"] or b"") for found in headers]
        assert seqs == [1, 2, 3, 4, 5, 6]


async def test_waiting_changes_share_a_transaction_and_see_each_other() -> None:
    log = FakeLog()
    async with member(log) as one:
        results = await asyncio.gather(
            *(one.writer.change(create(path)) for path in ("a", "b", "a", "c")),
            return_exceptions=True,
        )
        assert isinstance(results[2], Exists)
        assert log.commits == 1
        assert set(one.reader.snapshot.namespaces) == {"a", "b", "c"}


async def test_nothing_to_change_writes_nothing() -> None:
    log = FakeLog()
    async with member(log) as one:
        log.write(Namespace("a"), seq=1, decision="d1")
        snapshot = await one.writer.change(lambda _: [])
        assert set(snapshot.namespaces) == {"a"}
        assert log.commits == 0


async def test_a_decision_is_made_of_the_newest_state() -> None:
    log = FakeLog()
    async with member(log) as one, member(log) as other:
        await one.writer.change(create("a"))
        with pytest.raises(Exists):
            await other.writer.change(create("a"))


async def test_while_the_epoch_holds_the_id_is_not_taken_again() -> None:
    log = FakeLog()
    async with member(log) as one:
        for number in range(5):
            await one.writer.change(create(f"n{number}"))
        assert log.takes == 1


async def test_who_hears_of_another_writer_takes_the_id_again() -> None:
    log = FakeLog()
    async with member(log) as one, member(log) as other:
        for turn in range(3):
            await one.writer.change(create(f"a{turn}"))
            await other.writer.change(create(f"b{turn}"))
        assert log.takes == 6
        assert len(other.reader.snapshot.namespaces) == 6


@skipping
async def test_an_idle_writer_lets_go() -> None:
    log = FakeLog()
    async with member(log, idle_seconds=0.05) as one:
        await one.writer.change(create("a"))
        await eventually(lambda: one.transactions.closed == 1, "that it lets go")
        await one.writer.change(create("b"))
        assert log.takes == 2
        await asyncio.sleep(0.15)
        assert one.transactions.closed == 2


async def test_racing_writers_never_both_win() -> None:
    log = FakeLog()
    async with AsyncExitStack() as stack:
        members = [await stack.enter_async_context(member(log)) for _ in range(6)]
        paths = [f"n{number}" for number in range(30)]

        async def race(name: str, one: Member) -> set[str]:
            won = set()
            for path in paths:
                try:
                    await one.writer.change(create(path, name))
                    won.add(path)
                except Exists:
                    pass
            return won

        wins = await asyncio.gather(*(race(str(n), one) for n, one in enumerate(members)))
        assert sorted(path for won in wins for path in won) == sorted(paths)
        await members[0].reader.refresh()
        for number, won in enumerate(wins):
            for path in won:
                owner = members[0].reader.snapshot.namespaces[path].configs["owner"]
                assert owner == str(number)
        for one in members[1:]:
            await one.reader.refresh()
            assert one.reader.snapshot == members[0].reader.snapshot


async def test_a_rejection_that_rests_on_an_unwritten_change_is_decided_anew() -> None:
    log = FakeLog()
    async with member(log) as one, member(log) as other:

        async def other_writer() -> None:
            log.before_commit = None
            await other.writer.change(create("b"))

        log.before_commit = other_writer

        def first(snapshot: Snapshot) -> Sequence[Change]:
            return [] if "b" in snapshot.namespaces else [Namespace("a")]

        def second(snapshot: Snapshot) -> Sequence[Change]:
            if "a" in snapshot.namespaces:
                raise Exists("a")
            return [Namespace("c")]

        results = await asyncio.gather(one.writer.change(first), one.writer.change(second))
        assert set(results[1].namespaces) == {"b", "c"}


async def test_an_error_is_for_its_own_caller() -> None:
    log = FakeLog()
    async with member(log) as one:
        results = await asyncio.gather(
            one.writer.change(lambda snapshot: [Namespace(str(1 // snapshot.version))]),
            one.writer.change(create("a")),
            return_exceptions=True,
        )
        assert isinstance(results[0], ZeroDivisionError)
        assert isinstance(results[1], Snapshot)


@skipping
async def test_a_caller_that_is_gone_is_forgotten() -> None:
    log = FakeLog()
    async with member(log) as one:
        log.down = True
        gone = asyncio.create_task(one.writer.change(create("a")))
        await asyncio.sleep(0.05)
        gone.cancel()
        log.down = False
        await eventually(lambda: not one.reader._is_lost, "that a broker answers")
        await one.writer.change(create("b"))
        assert set(one.reader.snapshot.namespaces) == {"b"}


# -- outcomes that are not known -----------------------------------------------------------------


async def test_a_commit_without_an_answer_that_was_made_is_no_failure() -> None:
    log = FakeLog()
    async with member(log) as one:
        log.lost_answers = 1
        snapshot = await one.writer.change(create("a"))
        assert set(snapshot.namespaces) == {"a"}
        assert log.commits == 1


async def test_a_commit_without_an_answer_that_was_not_made_is_made_again() -> None:
    log = FakeLog()
    async with member(log) as one:
        log.lost_commits = 2
        snapshot = await one.writer.change(create("a"))
        assert set(snapshot.namespaces) == {"a"}
        assert log.commits == 1


async def test_another_ones_record_of_that_number_is_not_taken_for_success() -> None:
    log = FakeLog()
    async with member(log) as one:

        async def other_writer() -> None:
            log.before_commit = None
            log.write(Namespace("a", {"owner": "other"}), seq=1, decision="other")

        log.before_commit = other_writer
        log.lost_commits = 1
        with pytest.raises(Exists):
            await one.writer.change(create("a", "one"))
        assert one.reader.snapshot.namespaces["a"].configs == {"owner": "other"}


@skipping
async def test_an_outcome_that_stays_unknown_is_told_so() -> None:
    log = FakeLog()
    async with member(log, change_seconds=0.3) as one:
        log.lost_commits = 1

        async def then_nobody_answers() -> None:
            log.down = True

        log.before_commit = then_nobody_answers
        with pytest.raises(CatalogUnavailable, match="not known whether the change was made"):
            await one.writer.change(create("a"))
        log.before_commit, log.down = None, False


@skipping
async def test_a_long_decision_lets_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """And it counts, although its time is over before it is made."""
    pause_everywhere(monkeypatch)
    log, rounds = FakeLog(), 0

    async def look() -> None:
        nonlocal rounds
        while True:
            await asyncio.sleep(0)
            rounds += 1

    async with member(log, change_seconds=0.05) as one:
        until = 0.0

        def decide(_: Snapshot) -> Sequence[Change]:
            nonlocal until
            until = until or time.monotonic() + 0.1
            while time.monotonic() < until:
                pause_point()
            return [Namespace("a")]

        looking = asyncio.create_task(look())
        await one.writer.change(decide)
        looking.cancel()
        assert rounds > 20
        assert set(one.reader.snapshot.namespaces) == {"a"}


@skipping
async def test_what_cannot_be_written_in_time_is_rejected_with_nothing_changed() -> None:
    log = FakeLog()
    async with member(log, change_seconds=0.3) as one:
        log.down = True
        with pytest.raises(
            CatalogUnavailable,
            match="cannot be written now: a broker does not answer; nothing was changed",
        ):
            await one.writer.change(create("a"))
        log.down = False
        await eventually(lambda: not one.reader._is_lost, "that a broker answers")
        await one.writer.change(create("b"))
        assert set(one.reader.snapshot.namespaces) == {"b"}


@skipping
async def test_what_brokers_deny_is_rejected_at_once_and_not_to_be_tried_again() -> None:
    log = FakeLog()
    async with member(log, change_seconds=3600.0) as one:
        log.denies = True
        with pytest.raises(CatalogUnavailable) as caught:
            await one.writer.change(create("a"))
        assert "TRANSACTIONAL_ID_AUTHORIZATION_FAILED" in str(caught.value)
        assert "try again" not in str(caught.value)
        log.denies = False
        assert "a" in (await one.writer.change(create("a"))).namespaces


async def test_who_is_always_fenced_is_told_so() -> None:
    log = FakeLog()
    async with member(log, change_seconds=0.3) as one:

        async def fence() -> None:
            log.epoch += 1

        log.before_commit = fence
        with pytest.raises(CatalogUnavailable, match="other gateways are writing it"):
            await one.writer.change(create("a"))
        assert log.commits == 0


@skipping
async def test_an_unreadable_catalog_is_not_written() -> None:
    log = FakeLog()
    async with member(log, change_seconds=0.3) as one:
        log.write(Removal(("nonsense", "")), seq=1, decision="d1")
        with pytest.raises(CatalogUnavailable, match="upgrade"):
            await one.writer.change(create("a"))
        assert log.commits == 0


# -- the end ---------------------------------------------------------------------------------------


async def test_stop_ends_what_is_under_way_and_rejects_the_rest() -> None:
    log = FakeLog()
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def slowly() -> None:
        begun.set()
        await go_on.wait()

    async with member(log) as one:
        log.before_commit = slowly
        first = asyncio.create_task(one.writer.change(create("a")))
        await begun.wait()
        second = asyncio.create_task(one.writer.change(create("b")))
        await asyncio.sleep(0)
        stopping = asyncio.create_task(one.writer.stop())
        await asyncio.sleep(0.02)
        go_on.set()
        await stopping
        assert set((await first).namespaces) == {"a"}
        with pytest.raises(CatalogUnavailable, match="the gateway stops; nothing was changed"):
            await second
        with pytest.raises(CatalogUnavailable, match="does not write"):
            await one.writer.change(create("c"))


async def test_a_writer_that_was_not_started_rejects() -> None:
    log = FakeLog()
    reader = Reader(FakePartition(log), max_staleness=30.0)
    with pytest.raises(CatalogUnavailable, match="this gateway does not write it"):
        await Writer(reader, FakeTransactions(log)).change(create("a"))


async def test_stop_leaves_no_task() -> None:
    before = asyncio.all_tasks()
    async with member(FakeLog()) as one:
        await one.writer.change(create("a"))
    assert asyncio.all_tasks() == before


# -- another program writes to the topic -----------------------------------------------------------


async def test_what_stands_elsewhere_than_it_was_meant_to_is_written_again() -> None:
    """Junk that comes between reading and writing, so no reader believes the records behind it."""
    log = FakeLog()
    async with member(log) as one, member(log) as other:
        await one.writer.change(create("a"))

        async def junk() -> None:
            log.before_commit = None
            log.append([Record(b"junk", b"junk", ())])

        log.before_commit = junk
        snapshot = await one.writer.change(create("b"))
        assert set(snapshot.namespaces) == {"a", "b"}
        assert log.commits == 3
        await other.reader.refresh()
        assert other.reader.snapshot == one.reader.snapshot


async def test_junk_stops_no_writer() -> None:
    log = FakeLog()
    async with member(log) as one, member(log) as other:
        for number in range(10):
            log.append([Record(b"namespace/a", b"junk", ())])
            writer = (one, other)[number % 2].writer
            await writer.change(create(f"n{number}"))
        await one.reader.refresh()
        await other.reader.refresh()
        assert len(one.reader.snapshot.namespaces) == 10
        assert other.reader.snapshot == one.reader.snapshot


async def test_each_record_says_where_it_stands() -> None:
    log = FakeLog()
    async with member(log) as one:
        for turn in range(3):
            made = [Namespace(f"{turn}-{n}") for n in range(turn + 1)]
            await one.writer.change(lambda _, made=made: made)  # type: ignore[misc]
        found = [
            (entry.offset, dict(entry.record.headers)) for entry in log.entries if entry.record
        ]
        assert [int(headers["at"] or b"") for _, headers in found] == [at for at, _ in found]
        assert [int(headers["entities"] or b"") for _, headers in found] == [1, 3, 3, 6, 6, 6]
