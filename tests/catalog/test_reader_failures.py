"""gateway.catalog.log.reader: logs that cannot be read, and snapshots that get old."""

from __future__ import annotations

import asyncio
import logging

import pytest

from gateway.catalog.entities import CatalogFormat, Namespace
from gateway.catalog.log.reader import Reader
from gateway.catalog.log.records import FORMAT, Record, UnreadableCatalog, encode
from gateway.catalog.log.signatures import Place
from gateway.catalog.log.topics import CatalogTopicError
from gateway.catalog.source import CatalogUnavailable
from tests.catalog import skipped_time
from tests.catalog.fake_log import FakeLog, FakePartition
from tests.catalog.reading import not_readable, paths, reading
from tests.catalog.skipped_time import skipping
from tests.waiting import eventually


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


# -- unreadable logs -------------------------------------------------------------------------------


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
        # A record that does not follow the last record read: everything is read once more.
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
    """For a hundred times as long, on a clock that the machine's load does not delay."""

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
