"""The reader: following a log, freshness, and reading anew."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from gateway.catalog.entities import CatalogFormat, Namespace
from gateway.catalog.log.reader import Reader
from gateway.catalog.log.records import FORMAT, Record, UnreadableCatalog, encode
from gateway.catalog.log.signatures import Place
from gateway.catalog.log.topics import CatalogTopicError
from gateway.catalog.source import CatalogUnavailable
from tests.catalog import skipped_time
from tests.catalog.fake_log import FakeLog, FakePartition
from tests.catalog.skipped_time import skipping
from tests.waiting import eventually


@asynccontextmanager
async def reading(
    log: FakeLog,
    *,
    max_staleness: float = 30.0,
    check: Callable[[], Awaitable[None]] | None = None,
    refresh_seconds: float = 5.0,
) -> AsyncIterator[Reader]:
    """A started reader."""
    reader = Reader(
        FakePartition(log),
        max_staleness=max_staleness,
        check=check,
        refresh_seconds=refresh_seconds,
    )
    await reader.start(5.0)
    try:
        yield reader
    finally:
        await reader.stop()


def paths(reader: Reader) -> set[str]:
    """The namespaces that it knows."""
    return set(reader.snapshot.namespaces)


async def test_it_starts_with_all_there_is() -> None:
    log = FakeLog()
    log.fetch_limit = 2
    for seq in range(1, 8):
        log.write(Namespace(f"n{seq}"), seq=seq, decision=f"d{seq}", after=f"d{seq - 1}")
    async with reading(log) as reader:
        assert len(paths(reader)) == 7
        assert reader.snapshot.version == 7
        assert reader.decision == "d7"
        assert reader.fresh


@skipping
async def test_an_empty_log_is_read_at_once() -> None:
    began = asyncio.get_running_loop().time()
    async with reading(FakeLog()) as reader:
        assert reader.snapshot.version == 0
        assert reader.fresh
        assert asyncio.get_running_loop().time() - began < 0.3


async def test_what_is_committed_is_seen_and_told_once_a_fetch() -> None:
    log = FakeLog()
    async with reading(log) as reader:
        told: list[int] = []
        reader.subscribe(lambda: told.append(reader.snapshot.version))
        log.write(Namespace("a"), Namespace("a:b"), Namespace("c"), seq=1, decision="d1")
        await eventually(lambda: reader.snapshot.version == 3, "the records")
        assert told == [3]


async def test_a_failing_subscriber_does_not_stop_the_others() -> None:
    log = FakeLog()
    async with reading(log) as reader:
        told: list[int] = []
        reader.subscribe(lambda: told.append(1 // 0))
        reader.subscribe(lambda: told.append(reader.snapshot.version))
        log.write(Namespace("a"), seq=1, decision="d1")
        await eventually(lambda: told == [1], "what the second is told")


async def test_half_a_decision_is_never_shown() -> None:
    log = FakeLog()
    log.fetch_limit = 1
    async with reading(log) as reader:
        shown: list[set[str]] = []
        reader.subscribe(lambda: shown.append(paths(reader)))
        log.write(Namespace("a"), Namespace("b"), Namespace("c"), seq=1, decision="d1")
        await eventually(lambda: reader.snapshot.version == 3, "the records")
        assert shown == [{"a", "b", "c"}]


async def test_a_refresh_returns_when_all_is_read() -> None:
    log = FakeLog()
    log.fetch_limit = 1
    async with reading(log) as reader:
        for seq in range(1, 20):
            log.write(Namespace(f"n{seq}"), seq=seq, decision=f"d{seq}", after=f"d{seq - 1}")
        await reader.refresh()
        assert len(paths(reader)) == 19


async def test_an_expected_decision_is_told_with_the_snapshot_that_holds_it() -> None:
    log = FakeLog()
    async with reading(log) as reader:
        expected = reader.expect("d2")
        log.write(Namespace("a"), seq=1, decision="d1")
        await reader.refresh()
        assert not expected.done()
        log.write(Namespace("b"), seq=2, decision="d2", after="d1")
        snapshot = await expected
        assert snapshot is not None
        assert set(snapshot.namespaces) == {"a", "b"}


async def test_an_expected_decision_is_told_after_a_log_was_read_anew() -> None:
    log = FakeLog()
    log.write(Namespace("a"), seq=1, decision="d1")
    async with reading(log) as reader:
        log.recreate()
        log.fetch_limit = 1
        expected = reader.expect("e1")
        log.write(Namespace("b"), seq=1, decision="e1")
        log.write(Namespace("c"), seq=2, decision="e2", after="e1")
        snapshot = await expected
        assert snapshot is not None
        assert set(snapshot.namespaces) == {"b", "c"}


# -- a log that is not the one read so far ---------------------------------------------------------


async def test_a_log_that_was_made_anew_is_read_anew(caplog: pytest.LogCaptureFixture) -> None:
    log = FakeLog()
    for seq in range(1, 6):
        log.write(Namespace(f"old{seq}"), seq=seq, decision=f"d{seq}", after=f"d{seq - 1}")
    async with reading(log) as reader:
        log.recreate()
        log.write(Namespace("new"), seq=1, decision="e1")
        await reader.refresh()
        assert paths(reader) == {"new"}
        assert reader.snapshot.version == 1
        assert "reading it anew" in caplog.text


async def test_a_log_without_its_older_records_is_read_anew() -> None:
    log = FakeLog()
    log.write(Namespace("a"), seq=1, decision="d1")
    async with reading(log) as reader:
        log.delete_records()
        log.write(Namespace("b"), seq=2, decision="d2", after="d1")
        await reader.refresh()
        assert "b" in paths(reader)
        log.next += 6
        log.start = log.next
        log.write(Namespace("c"), seq=9, decision="d9", after="d8")
        await reader.refresh()
        assert paths(reader) == {"c"}


async def test_the_old_snapshot_stays_until_the_new_one_is_complete() -> None:
    log = FakeLog()
    for seq in range(1, 4):
        log.write(Namespace(f"old{seq}"), seq=seq, decision=f"d{seq}", after=f"d{seq - 1}")
    async with reading(log) as reader:
        shown: list[set[str]] = []
        reader.subscribe(lambda: shown.append(paths(reader)))
        log.recreate()
        log.fetch_limit = 1
        for seq in range(1, 9):
            log.write(Namespace(f"new{seq}"), seq=seq, decision=f"e{seq}", after=f"e{seq - 1}")
        await reader.refresh()
        assert shown == [{f"new{seq}" for seq in range(1, 9)}]


async def test_a_log_that_was_compacted_behind_a_reader_is_read_anew() -> None:
    log = FakeLog()
    log.write(Namespace("a"), seq=1, decision="d1")
    async with reading(log) as reader:
        log.down = True
        await eventually(lambda: not_readable(reader), "that it is noticed")
        for seq in range(2, 8):
            value = {"retention.ms": str(seq)}
            log.write(Namespace("b", value), seq=seq, decision=f"d{seq}", after=f"d{seq - 1}")
        log.compact()
        log.down = False
        await eventually(lambda: "b" in paths(reader), "what was missed")
        assert reader.snapshot.namespaces["b"].configs == {"retention.ms": "7"}
        assert paths(reader) == {"a", "b"}


def not_readable(reader: Reader) -> bool:
    """Whether it has met failures enough to say so at once."""
    return reader._is_lost


async def test_a_topic_that_is_not_fit_any_more_is_not_read() -> None:
    fit = True

    async def check() -> None:
        if not fit:
            raise CatalogTopicError("it has cleanup.policy=delete")

    log = FakeLog()
    log.write(Namespace("a"), seq=1, decision="d1")
    async with reading(log, check=check) as reader:
        fit = False
        log.recreate()
        await eventually(lambda: not_readable(reader), "that it is noticed")
        with pytest.raises(CatalogUnavailable, match="its topic is not fit for it"):
            await reader.refresh()
        assert paths(reader) == {"a"}


# -- what cannot be read ---------------------------------------------------------------------------


async def test_it_does_not_start_with_a_newer_format() -> None:
    log = FakeLog()
    log.write(CatalogFormat(FORMAT + 1), seq=1, decision="d1")
    reader = Reader(FakePartition(log), max_staleness=30)
    with pytest.raises(UnreadableCatalog, match="upgrade"):
        await reader.start(5.0)


async def test_a_newer_format_ends_freshness_for_good() -> None:
    log = FakeLog()
    async with reading(log) as reader:
        told: list[bool] = []
        reader.subscribe(lambda: told.append(reader.fresh))
        log.write(CatalogFormat(FORMAT + 1), seq=1, decision="d1")
        await eventually(lambda: not reader.fresh, "the end of freshness")
        assert told == [False]
        with pytest.raises(CatalogUnavailable, match="upgrade this gateway"):
            await reader.refresh()


async def test_a_record_that_makes_no_sense_is_skipped(caplog: pytest.LogCaptureFixture) -> None:
    log = FakeLog()
    async with reading(log) as reader:
        headers = encode(Namespace("a"), Place(1, 1, "d1", "")).headers
        log.append([Record(b"namespace/a", b"nonsense", headers)])
        log.write(Namespace("b"), seq=1, decision="d1")
        await reader.refresh()
        assert paths(reader) == {"b"}
        assert reader.fresh
        assert reader.skipped.take_rows() == [("catalog_skipped_records", ("malformed",), 1)]
        assert ("namespace", "a") in reader.damage
    assert "holds what no gateway wrote" in caplog.text


async def test_who_waits_for_a_decision_that_was_skipped_is_told() -> None:
    log = FakeLog()
    async with reading(log) as reader:
        expected = reader.expect("d1")
        log.append([encode(Namespace("a"), Place(1, 1, "d1", "", at=17))])
        assert await expected is None


async def test_junk_is_counted_once_however_often_it_is_read() -> None:
    log = FakeLog()
    log.write(Namespace("a"), seq=1, decision="d1")
    async with reading(log) as reader:
        log.append([Record(b"junk", b"junk", ())])
        await reader.refresh()
        # A record that follows another one than what was read: everything is read once more.
        log.append([encode(Namespace("b"), Place(2, 2, "d2", "d9"))])
        await reader.refresh()
        assert paths(reader) == {"a"}
        counted = {labels: count for _, labels, count in reader.skipped.take_rows()}
        assert counted == {("malformed",): 1, ("out of sequence",): 1}


async def test_it_does_not_start_with_an_unfit_topic() -> None:
    async def check() -> None:
        raise CatalogTopicError("it has 3 partitions")

    reader = Reader(FakePartition(FakeLog()), max_staleness=30, check=check)
    with pytest.raises(CatalogTopicError, match="3 partitions"):
        await reader.start(5.0)


async def test_it_does_not_start_without_a_broker() -> None:
    log = FakeLog()
    log.down = True
    reader = Reader(FakePartition(log), max_staleness=30)
    with pytest.raises(CatalogUnavailable, match="cannot be read now: a broker does not answer"):
        await reader.start(0.2)


@skipping
async def test_it_starts_when_a_broker_comes_up() -> None:
    log = FakeLog()
    log.down = True
    log.write(Namespace("a"), seq=1, decision="d1")
    reader = Reader(FakePartition(log), max_staleness=30)
    starting = asyncio.create_task(reader.start(5.0))
    await asyncio.sleep(0.1)
    log.down = False
    await starting
    assert paths(reader) == {"a"}
    await reader.stop()


# -- how old it may be -----------------------------------------------------------------------------


def test_without_a_broker_the_snapshot_stays_and_gets_old(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)

    async def a_broker_is_lost() -> None:
        log = FakeLog()
        log.write(Namespace("a"), seq=1, decision="d1")
        async with reading(log, max_staleness=0.4) as reader:
            told: list[bool] = []
            reader.subscribe(lambda: told.append(reader.fresh))
            log.down = True
            await asyncio.sleep(0.2)
            assert reader.fresh
            await eventually(lambda: told == [False], "the end of freshness")
            assert paths(reader) == {"a"}
            log.down = False
            await eventually(lambda: told == [False, True], "freshness")

    skipped_time.run(a_broker_is_lost)
    assert caplog.text.count("is out of date") == 1
    assert caplog.text.count("the catalog cannot be read: a broker does not answer") == 1
    assert caplog.text.count("the catalog can be read again") == 1


@pytest.mark.parametrize("max_staleness", [0.3, 30.0])
def test_while_nothing_happens_it_stays_fresh(max_staleness: float) -> None:
    """For a hundred times as long, on a clock that no load of the machine makes late."""

    async def nothing_happens() -> None:
        async with reading(FakeLog(), max_staleness=max_staleness) as reader:
            told: list[bool] = []
            reader.subscribe(lambda: told.append(reader.fresh))
            await asyncio.sleep(100 * max_staleness)
            assert reader.fresh
            assert told == []

    skipped_time.run(nothing_happens)


async def test_a_stopped_reader_is_not_fresh_and_keeps_its_snapshot() -> None:
    log = FakeLog()
    log.write(Namespace("a"), seq=1, decision="d1")
    async with reading(log) as reader:
        pass
    assert not reader.fresh
    assert paths(reader) == {"a"}
    with pytest.raises(CatalogUnavailable):
        await reader.refresh()


@skipping
async def test_a_refresh_fails_at_once_while_nobody_answers() -> None:
    log = FakeLog()
    async with reading(log) as reader:
        log.down = True
        await eventually(lambda: not_readable(reader), "that it is noticed")
        began = asyncio.get_running_loop().time()
        with pytest.raises(CatalogUnavailable, match="a broker does not answer"):
            await reader.refresh()
        assert asyncio.get_running_loop().time() - began < 1.0


@skipping
async def test_a_refresh_outlives_a_hiccup() -> None:
    log = FakeLog()
    async with reading(log) as reader:
        log.down = True
        refreshing = asyncio.create_task(reader.refresh())
        await asyncio.sleep(0.02)
        log.down = False
        log.write(Namespace("a"), seq=1, decision="d1")
        await refreshing
        assert paths(reader) == {"a"}


async def test_a_refresh_ends_when_the_end_is_not_reached_in_time() -> None:
    log = FakeLog()
    async with reading(log, refresh_seconds=0.1) as reader:
        log.fetch_limit = 0  # fetches bring nothing
        log.write(Namespace("a"), seq=1, decision="d1")
        with pytest.raises(CatalogUnavailable, match="not reached in time"):
            await reader.refresh()


async def test_those_who_ask_together_share_an_answer() -> None:
    log = FakeLog()
    async with reading(log) as reader:
        await asyncio.gather(*(reader.refresh() for _ in range(50)))
        assert log.end_questions == 1


async def test_stop_closes_the_partition_and_leaves_no_task() -> None:
    log = FakeLog()
    before = asyncio.all_tasks()
    reader = Reader(FakePartition(log), max_staleness=30)
    await reader.start(5.0)
    refreshing = asyncio.gather(reader.refresh(), return_exceptions=True)
    await asyncio.sleep(0)
    await reader.stop()
    await refreshing
    assert asyncio.all_tasks() == before
