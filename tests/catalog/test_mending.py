"""Entities that junk has replaced are written again by a process that still has them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from gateway.catalog.entities import Namespace, Removal
from gateway.catalog.log.reader import Reader
from gateway.catalog.log.records import Record
from gateway.catalog.log.writer import Writer
from gateway.catalog.replicated import Mender
from tests.catalog.fake_log import FakeLog, FakePartition, FakeTransactions
from tests.waiting import eventually


class Member:
    """A process that reads, writes and mends."""

    def __init__(self, log: FakeLog) -> None:
        self.reader = Reader(FakePartition(log), max_staleness=30.0)
        self.writer = Writer(self.reader, FakeTransactions(log))
        self.mender = Mender(self.reader, self.writer.change, seconds=0.01)


@asynccontextmanager
async def members(log: FakeLog, number: int) -> AsyncIterator[list[Member]]:
    """Processes of the same catalog."""
    async with AsyncExitStack() as stack:
        found = []
        for _ in range(number):
            one = Member(log)
            await one.reader.start(5.0)
            one.writer.start()
            one.mender.start()
            stack.push_async_callback(one.reader.stop)
            stack.push_async_callback(one.writer.stop)
            stack.push_async_callback(one.mender.stop)
            found.append(one)
        yield found


def newest(log: FakeLog, key: bytes) -> list[bytes | None]:
    """The values under a key, the newest last."""
    records = [entry.record for entry in log.entries if entry.record is not None]
    return [record.value for record in records if record.key == key]


async def test_junk_in_place_of_entities_is_followed_by_what_they_were() -> None:
    log = FakeLog()
    async with members(log, 3) as (one, *_):
        await one.writer.change(lambda _: [Namespace("a"), Namespace("b", {"k": "v"})])
        log.append([Record(b"namespace/a", None, ()), Record(b"namespace/b", b"junk", ())])
        log.append([Record(b"namespace/evil", b"{}", ())])
        await eventually(lambda: newest(log, b"namespace/evil")[-1] is None, "the mending")
        await eventually(lambda: newest(log, b"namespace/a")[-1] == b"{}", "the mending")
        assert newest(log, b"namespace/b")[-1] == b'{"configs":{"k":"v"}}'
        await eventually(lambda: not one.reader.damage, "that it is read")
        # One of the three processes has done it, once.
        assert len(newest(log, b"namespace/a")) == 3
        log.compact()
    async with members(log, 1) as (late,):
        assert late.reader.snapshot.namespaces == one.reader.snapshot.namespaces
        assert late.reader.skipped.lost == 0


async def test_who_begins_without_what_junk_replaced_has_it_once_it_is_mended() -> None:
    log = FakeLog()
    async with members(log, 1) as (one,):
        await one.writer.change(lambda _: [Namespace("a"), Namespace("b")])
        await one.writer.change(lambda _: [Namespace("c")])
        await one.mender.stop()
        log.append([Record(b"namespace/a", b"junk", ()), Record(b"namespace/b", None, ())])
        log.compact()
        async with members(log, 1) as (late,):
            assert set(late.reader.snapshot.namespaces) == {"c"}
            assert late.reader.skipped.lost == 2
            one.mender.start()
            await eventually(lambda: not late.reader.skipped.lost, "that it is read")
            assert late.reader.snapshot.namespaces == one.reader.snapshot.namespaces
            assert not late.reader.damage


async def test_a_process_that_begins_mends_what_it_finds() -> None:
    log = FakeLog()
    async with members(log, 1) as (one,):
        await one.writer.change(lambda _: [Namespace("a")])
    log.append([Record(b"namespace/a", b"junk", ())])
    log.append([Record(b"namespace/never", b"junk", ())])
    async with members(log, 1) as (late,):
        await eventually(lambda: newest(log, b"namespace/a")[-1] == b"{}", "the mending")
        await eventually(lambda: len(late.reader.damage) == 1, "that it is read")
        takes = log.takes
        for _ in range(20):
            late.reader.damaged.set()
            await eventually(lambda: not late.reader.damaged.is_set(), "a look at the damage")
            await late.reader.refresh()
        assert log.takes == takes, "what is not written takes the id from nobody"
    # It cannot know whether there was such a namespace.
    assert newest(log, b"namespace/never") == [b"junk"]


async def test_it_goes_on_when_the_catalog_can_be_written_again() -> None:
    log = FakeLog()
    async with members(log, 1) as (one,):
        await one.writer.change(lambda _: [Namespace("a")])
        await one.writer.change(lambda _: [Removal(("namespace", "gone"))])
        log.append([Record(b"namespace/a", b"junk", ())])
        log.down = True
        await eventually(lambda: one.reader._is_lost, "that it is noticed")
        log.down = False
        await eventually(lambda: newest(log, b"namespace/a")[-1] == b"{}", "the mending", 20)
