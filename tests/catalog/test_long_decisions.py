"""gateway.catalog.log.reader: a long decision is read in slices, and becomes visible at once."""

from __future__ import annotations

import asyncio
import gc
from asyncio import events
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import thread_time

import pytest

from gateway import slices
from gateway.acl_model import (
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from gateway.acls.standard import StandardAuthorizer
from gateway.audit.audit import Audit
from gateway.audit.event import AuditEvent
from gateway.catalog.entities import Change, Namespace, Removal, ResourceAcls
from gateway.catalog.log.reader import Reader
from gateway.catalog.log.records import Fetched, Record, encode
from gateway.catalog.log.signatures import KeyFile, Place, SigningKey
from gateway.catalog.snapshot import Snapshot
from gateway.sinks.record_writer import RecordSink
from tests.catalog.fake_log import FakeLog, FakePartition
from tests.catalog.reading import reading
from tests.catalog.writing import create, member

MANY = 10_000
"""ACLs of one CreateAcls request at most, in Kafka."""


def namespaces(number: int) -> list[Change]:
    """This number of namespaces."""
    return [Namespace(f"n{one:05}") for one in range(number)]


async def test_nobody_sees_a_part_of_a_decision() -> None:
    log, sizes = FakeLog(), set()
    async with reading(log) as reader:
        prepared: list[Snapshot] = []
        reader.prepare(prepared.append)
        log.write(*namespaces(3_000), seq=1, decision="a")
        refreshed = asyncio.create_task(reader.refresh())
        while not refreshed.done():
            sizes.add((len(reader.snapshot.namespaces), reader.position > 0))
            assert len(reader.snapshot.namespaces) in (0, 3_000)
            await asyncio.sleep(0)
        await refreshed
        assert len(reader.snapshot.namespaces) == 3_000
        assert prepared == [reader.snapshot]
    assert len(sizes) > 1, "others had turns meanwhile"


async def test_what_is_decided_by_is_prepared_before_it_shows() -> None:
    log, order = FakeLog(), []
    async with reading(log) as reader:
        reader.prepare(lambda snapshot: order.append(("prepared", snapshot, reader.snapshot)))
        reader.subscribe(lambda: order.append(("shown", reader.snapshot, reader.snapshot)))
        before = reader.snapshot
        log.write(Namespace("a"), seq=1, decision="a")
        await reader.refresh()
        assert [what for what, _, _ in order] == ["prepared", "shown"]
        assert order[0][1] is order[1][1] is reader.snapshot
        assert order[0][2] is before


async def test_a_preparation_with_a_defect_holds_nothing_up(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(_: Snapshot) -> None:
        raise ZeroDivisionError

    log = FakeLog()
    async with reading(log) as reader:
        reader.prepare(broken)
        log.write(Namespace("a"), seq=1, decision="a")
        await reader.refresh()
        log.write(Namespace("b"), seq=2, decision="b", after="a")
        await reader.refresh()
        assert set(reader.snapshot.namespaces) == {"a", "b"}
    assert "preparing for a change of the catalog failed" in caplog.text


async def test_a_short_decision_shows_in_the_turn_in_which_it_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The first decision of a process takes longer than the first slice, on a busy machine.
    monkeypatch.setattr(slices, "FIRST_SECONDS", 3600.0)
    log = FakeLog()
    async with reading(log) as reader:
        shown: list[int] = []
        reader.subscribe(lambda: shown.append(len(reader.snapshot.namespaces)))
        turns = 0

        async def take_turn() -> None:
            nonlocal turns
            turns += 1

        reader.turns.next = take_turn  # type: ignore[method-assign]
        log.write(Namespace("a"), seq=1, decision="a")
        await reader.refresh()
        assert (shown, turns) == ([1], 0)


async def test_a_reader_that_is_stopped_in_the_middle_begins_anew() -> None:
    log = FakeLog()
    reader = Reader(FakePartition(log), max_staleness=30.0)
    await reader.start(5.0)
    middle = asyncio.Event()
    first = reader.turns.next

    async def turn() -> None:
        middle.set()
        await first()

    reader.turns.next = turn  # type: ignore[method-assign]
    log.write(*namespaces(900), seq=1, decision="a")
    await middle.wait()
    await reader.stop()
    assert not reader.snapshot.namespaces and not reader.fresh
    await reader.start(5.0)
    assert len(reader.snapshot.namespaces) == 900
    assert not reader.skipped.total
    await reader.stop()


async def test_an_observer_is_told_all_of_a_long_decision_in_turns() -> None:
    log, sink = FakeLog(), Sink()
    async with member(log, observer=Audit([sink]).catalog_changed) as one:
        await one.writer.change(lambda _: namespaces(2_000))
        told = set()
        while sink.events < 2_000:
            told.add(sink.events)
            await asyncio.sleep(0)
        await one.writer.change(create("last"))
    assert sink.events == 2_001
    assert len(told) > 1, "others had turns meanwhile"


async def test_a_writer_that_is_stopped_tells_its_observer_the_rest_at_once() -> None:
    log = FakeLog()
    sink = Sink()
    async with member(log, observer=Audit([sink]).catalog_changed) as one:
        await one.writer.change(lambda _: namespaces(2_000))
        task = one.writer._task
        assert task is not None
        task.cancel()
        await asyncio.wait([task])
    assert sink.events == 2_000


class Sink(RecordSink[AuditEvent]):
    """Counts the events that it is given."""

    def __init__(self) -> None:
        super().__init__("a sink", "events", 0)
        self.events = 0

    def put(self, record: AuditEvent) -> None:
        self.events += 1


# -- how long its callbacks take -------------------------------------------------------------------


@dataclass
class Longest:
    """CPU seconds of the longest callback."""

    seconds: float = 0.0


@contextmanager
def timed_callbacks() -> Iterator[Longest]:
    """Time every callback of the event loop."""
    # Otherwise Python's collector would look at the test's objects again and again.
    gc.collect()
    gc.freeze()
    longest, run = Longest(), events.Handle._run

    def timed(handle: events.Handle) -> None:
        began = thread_time()
        run(handle)
        longest.seconds = max(longest.seconds, thread_time() - began)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(events.Handle, "_run", timed)
        yield longest
    gc.unfreeze()


class Keys(KeyFile):
    """A key file with a single key."""

    def __init__(self, key: SigningKey) -> None:
        self._key = key

    def refresh(self) -> None:
        """Do nothing."""

    def get(self, key_id: str) -> SigningKey | None:
        return self._key if key_id == self._key.key_id else None


class Ready(FakePartition):
    """A partition whose records are made before, so that only reading them takes time."""

    def __init__(self) -> None:
        super().__init__(FakeLog())
        self.records: list[Record] = []
        self.decision = ""

    async def fetch(self, offset: int, wait: float) -> Fetched:
        await asyncio.sleep(0 if offset < len(self.records) else 0.01)
        until = min(offset + 1_000, len(self.records))
        return Fetched(self.records[offset:until], until, len(self.records))

    async def end(self) -> int:
        return len(self.records)

    def prepare(self, changes: Sequence[Change], decision: str, key: SigningKey | None) -> None:
        """Make the records of one more decision."""
        at = len(self.records)
        after = self.decision
        last = at + len(changes)
        for number, change in enumerate(changes, at):
            place = Place(number + 1, last, decision, after, number, 0)
            self.records.append(encode(change, place, key)._replace(offset=number))
            after = decision
        self.decision = decision


def _acls(name: str, *principals: str) -> ResourceAcls:
    entries = (AclEntry(one, "*", Operation.READ, Permission.ALLOW) for one in principals)
    pattern = ResourcePattern(ResourceType.TOPIC, PatternType.LITERAL, name)
    return ResourceAcls(pattern, frozenset(entries))


LONG: dict[str, Callable[[], list[ResourceAcls]]] = {
    "one principal": lambda: [_acls(f"t{number:05}", "User:a") for number in range(MANY)],
    "a name": lambda: [_acls("t", *(f"User:{number}" for number in range(MANY // 2)))],
}


@pytest.mark.alone
@pytest.mark.parametrize("key", [None, SigningKey("k", b"x" * 32)], ids=["plain", "signed"])
@pytest.mark.parametrize("way", LONG)
async def test_no_callback_is_long_while_10_000_acls_are_made_and_deleted(
    way: str, key: SigningKey | None
) -> None:
    longest = [await _longest_callback(LONG[way](), key) for _ in range(3)]
    assert min(longest) < 0.03


async def _longest_callback(made: Sequence[ResourceAcls], key: SigningKey | None) -> float:
    partition, authorizer = Ready(), StandardAuthorizer()
    keys = None if key is None else Keys(key)
    reader = Reader(partition, max_staleness=30.0, keys=keys)
    await reader.start(5.0)
    reader.prepare(authorizer.prepare)
    reader.subscribe(lambda: authorizer.see(reader.snapshot))
    seconds = 0.0
    removed = [Removal(("acl", str(one.pattern))) for one in made]
    for decision, changes in ("a", made), ("b", removed):
        expected = reader.expect(decision)
        partition.prepare(changes, decision, key)
        with timed_callbacks() as longest:
            await expected
        assert len(reader.snapshot.acls) == (len(made) if decision == "a" else 0)
        assert longest.seconds, "this event loop can be timed"
        seconds = max(seconds, longest.seconds)
    await reader.stop()
    return seconds
