"""gateway.catalog.log.reader: the newest snapshot of a log that can be read."""

from __future__ import annotations

import asyncio

import pytest

from gateway.catalog.entities import Namespace
from tests.catalog.fake_log import FakeLog
from tests.catalog.reading import not_readable, paths, reading
from tests.catalog.skipped_time import skipping
from tests.waiting import eventually


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


# -- another log than the one read so far ----------------------------------------------------------


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
