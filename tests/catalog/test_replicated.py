"""Reader and writer together, and the effects of start and stop."""

from __future__ import annotations

import asyncio

import pytest

from gateway.catalog.entities import CatalogFormat, Namespace
from gateway.catalog.log.records import FORMAT, Record, UnreadableCatalog
from gateway.catalog.log.topics import CatalogTopicError
from gateway.catalog.members import register, seed
from gateway.catalog.replicated import ReplicatedCatalog
from gateway.catalog.source import Catalog, CatalogUnavailable
from tests.catalog.fake_log import FakeLog, FakePartition, FakeTransactions
from tests.catalog.skipped_time import skipping
from tests.catalog.test_catalog_topic import TOPIC, FakeAdmin
from tests.waiting import eventually


def catalog(log: FakeLog, admin: FakeAdmin | None = None) -> ReplicatedCatalog:
    """A process's catalog on a log in memory."""
    return ReplicatedCatalog(
        [("broker", 9092)],
        admin,
        topic=TOPIC,
        replication_factor=3,
        start_seconds=0.3,
        change_seconds=0.3,
        partition=FakePartition(log),
        transactions=FakeTransactions(log),
    )


@skipping
async def test_it_is_a_catalog() -> None:
    log = FakeLog()
    admin = FakeAdmin()
    one: Catalog
    one, other = catalog(log, admin), catalog(log, admin)
    await asyncio.gather(one.start(), other.start())
    assert admin.created[0].replication_factor == 3
    told: list[int] = []
    other.subscribe(lambda: told.append(other.snapshot.version))
    await one.change(seed(["org:apache"]))
    await one.change(register("gw-1", "0.1"))
    await other.refresh()
    assert other.snapshot == one.snapshot
    assert set(other.snapshot.namespaces) == {"org", "org:apache"}
    assert told == [3, 4]
    assert other.fresh
    await one.stop()
    await other.stop()
    assert not other.fresh


@skipping
async def test_read_only_it_makes_no_topic_and_writes_nothing() -> None:
    log = FakeLog()
    log.write(Namespace("a"), seq=1, decision="d1")
    admin = FakeAdmin(partitions=1)
    reader = catalog(log, admin)
    await reader.start(read_only=True)
    assert set(reader.snapshot.namespaces) == {"a"}
    with pytest.raises(CatalogUnavailable):
        await reader.change(seed(["b"]))
    await reader.stop()
    assert admin.created == []
    assert (log.takes, log.commits) == (0, 0)


@skipping
async def test_read_only_it_needs_no_admin() -> None:
    log = FakeLog()
    log.write(Namespace("a"), seq=1, decision="d1")
    reader = catalog(log)
    await reader.start(read_only=True)
    assert set(reader.snapshot.namespaces) == {"a"}
    await reader.stop()


@skipping
async def test_read_only_a_missing_topic_stays_missing() -> None:
    admin = FakeAdmin()
    with pytest.raises(CatalogUnavailable, match="its topic is not there"):
        await catalog(FakeLog(), admin).start(read_only=True)
    assert admin.created == []


@skipping
async def test_it_does_not_start_on_an_unfit_topic() -> None:
    with pytest.raises(CatalogTopicError):
        await catalog(FakeLog(), FakeAdmin(partitions=2)).start()


@skipping
async def test_it_does_not_start_in_a_format_it_cannot_read() -> None:
    log = FakeLog()
    log.write(CatalogFormat(FORMAT + 1), seq=1, decision="d1")
    with pytest.raises(UnreadableCatalog):
        await catalog(log, FakeAdmin()).start()


@skipping
async def test_a_log_that_is_another_one_is_not_read_from_an_unfit_topic() -> None:
    log = FakeLog()
    admin = FakeAdmin()
    one = catalog(log, admin)
    await one.start()
    await one.change(seed(["a"]))
    admin.policy = "delete"
    log.recreate()
    await eventually(lambda: one._reader._is_lost, "that it is noticed")
    with pytest.raises(CatalogUnavailable, match="not fit"):
        await one.refresh()
    with pytest.raises(CatalogUnavailable, match="cannot be written now"):
        await one.change(seed(["b"]))
    assert set(one.snapshot.namespaces) == {"a"}
    await one.stop()


@skipping
async def test_an_operator_says_that_what_is_known_is_all_there_is() -> None:
    log = FakeLog()
    one = catalog(log)
    await one.start()
    await one.change(lambda _: [Namespace("a")])
    await one.stop()
    # Written while no process runs, so that no process knows the entity under the second key.
    log.append([Record(b"namespace/a", b"junk", ()), Record(b"namespace/b", b"junk", ())])
    late = catalog(log)
    await late.start()
    assert late.skipped == 2
    mended = await late.mend()
    await eventually(lambda: late.damaged == 0, "that it is read")
    newest = {entry.record.key: entry.record.value for entry in log.entries if entry.record}
    assert newest == {b"namespace/a": b"{}", b"namespace/b": None}
    counted = {name: count for name, _, count in late.take_rows()}
    assert mended + int(str(counted.get("catalog_mended_records", 0))) == 2
    await late.stop()
