"""A worker's part in freezes: it takes part, reports when it is done, and leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace

import pytest

from gateway.catalog.entities import CatalogFormat, Freeze, Removal, Worker
from gateway.catalog.freezes import freezes_in, workers_in
from gateway.catalog.schema.table import FREEZE_FORMAT
from gateway.connections.connection import Connection
from gateway.connections.tasks import Tasks
from gateway.connections.under_way import UnderWay
from gateway.processes.taking_part import TakingPart
from gateway.slices import Turns
from tests.connections.connected import connected, settled
from tests.session.pair import Pair, request_frame, response_frame
from tests.session.producing import batch, produce, produced

NOW = 1_700_000_000_000
ELSEWHERE = Worker("elsewhere", "gw-2", 0)
FREEZE = Freeze("f", ELSEWHERE.run, NOW + 60_000, ("team-a:orders",))


class Part:
    """A worker with one client, in a catalog that other workers write to."""

    def __init__(self) -> None:
        self.pair = Pair(topics=["team-a..orders"])
        self.connection, _, _ = connected(self.pair)
        self.open: set[Connection] = {self.connection}
        self.log = self.pair.log
        self.part = TakingPart(self.pair.catalog, "gw-1", 1, 2, clock=lambda: NOW)
        self.part.watch(UnderWay(self.open, Turns(), Tasks()), self.pair.worker)
        self.pair.catalog.subscribe(self.part.changed)

    @property
    def listed(self) -> Worker | None:
        """This worker in the catalog."""
        return workers_in(self.log.newest).get(self.part.run)

    def has_read(self) -> tuple[str, ...]:
        """The freezes that it has let go of."""
        return () if self.listed is None else self.listed.has_read

    async def arrives(self) -> None:
        self.log.append([CatalogFormat(FREEZE_FORMAT), ELSEWHERE])
        await self.pair.catalog.change(self.part.arrive)
        self.part.start()

    async def produces(self) -> None:
        asked = produce({"team-a:orders": [batch(1)]})
        self.connection.data_received(request_frame("Produce", 9, asked))
        await asyncio.sleep(0)

    def is_answered(self) -> None:
        answer = response_frame("Produce", 9, produced({"team-a..orders": [0]}))
        self.connection.broker_data(answer)


async def until(condition: Callable[[], object]) -> None:
    """Wait for the effects of other tasks."""
    async with asyncio.timeout(120):
        while not condition():
            await asyncio.sleep(0.001)


@pytest.fixture
async def part() -> AsyncIterator[Part]:
    made = Part()
    yield made
    await made.part.stop()


async def test_it_answers_a_freeze_of_another_worker(part: Part) -> None:
    await part.arrives()
    part.log.append([FREEZE])
    await until(lambda: part.has_read() == ("f",))


async def test_not_before_its_client_is_answered(part: Part) -> None:
    await part.produces()
    await settled()
    await part.arrives()
    part.log.append([FREEZE, replace(FREEZE, freeze_id="g", names=("team-b:x",))])
    await until(lambda: part.has_read() == ("g",))
    assert part.part.here("f") == ["client 127.0.0.1:5000 on listener test"]
    part.is_answered()
    await until(lambda: part.has_read() == ("f", "g"))


class CountedPasses(set[Connection]):
    """Connections that count how often all of them are looked through."""

    passes = 0

    def __iter__(self) -> Iterator[Connection]:
        self.passes += 1
        return super().__iter__()


async def test_the_freezes_of_one_snapshot_share_a_pass_over_the_connections(part: Part) -> None:
    connections = CountedPasses(part.open)
    part.part.watch(UnderWay(connections, Turns(), Tasks()), part.pair.worker)
    await part.produces()
    await settled()
    await part.arrives()
    connections.passes = 0
    others = [replace(FREEZE, freeze_id=f"g{n}", names=(f"team-b:x{n}",)) for n in range(20)]
    part.log.append([*others, FREEZE])
    assert connections.passes == 1
    await until(lambda: all(part.part.here(one.freeze_id) == [] for one in others))
    assert part.part.here("f") == ["client 127.0.0.1:5000 on listener test"]
    part.log.append([Removal(("freeze", "g0"))])
    assert connections.passes == 1, "no freeze is new"
    assert part.part.here("g0") is None
    part.is_answered()
    await until(lambda: part.part.here("f") == [])


async def test_it_says_nothing_of_its_own_freeze(part: Part) -> None:
    await part.arrives()
    own = replace(FREEZE, freeze_id="own", run=part.part.run)
    assert part.part.here("own") is None
    part.log.append([own, FREEZE])
    assert part.part.here("own") == []
    await until(lambda: part.has_read() == ("f",))
    part.log.append([Removal(("freeze", "own"))])
    assert part.part.here("own") is None


async def test_one_that_was_taken_for_gone_takes_part_again(part: Part) -> None:
    await part.arrives()
    assert part.part.is_listed
    part.log.append([Removal(("worker", part.part.run))])
    assert not part.part.is_listed, "it decides nothing until it is listed again"
    await until(lambda: part.part.is_listed)


async def test_one_that_was_not_heard_of_says_that_it_is_there(part: Part) -> None:
    await part.arrives()
    assert part.listed is not None
    part.log.append([replace(part.listed, unheard=NOW)])
    await until(lambda: part.listed is not None and not part.listed.unheard)


async def test_it_takes_part_as_soon_as_the_format_allows_it(part: Part) -> None:
    part.part.start()
    assert part.part.is_listed, "nothing can be frozen"
    part.log.append([CatalogFormat(FREEZE_FORMAT)])
    assert not part.part.is_listed
    await until(lambda: part.part.is_listed)


@pytest.mark.parametrize("answered", [True, False])
async def test_it_leaves_and_says_whether_anything_may_be_under_way(
    part: Part, answered: bool
) -> None:
    await part.produces()
    await settled()
    await part.arrives()
    if answered:
        part.is_answered()
    await part.part.stop()
    assert (part.listed is None) is answered
    if part.listed is not None:
        assert part.listed.gone == NOW


async def test_a_defect_does_not_hold_up_changes_for_good(
    part: Part, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("gateway.processes.taking_part._RETRY", 0.001)
    await part.arrives()
    failures = [RuntimeError("once")]

    def here(freeze_id: str) -> list[str] | None:
        if failures:
            raise failures.pop()
        return []

    monkeypatch.setattr(part.part, "here", here)
    part.log.append([FREEZE])
    await until(lambda: part.has_read() == ("f",))
    assert "answering freezes failed" in caplog.text
    assert freezes_in(part.log.newest)


async def test_it_waits_for_its_own_changes(part: Part) -> None:
    await part.arrives()
    with part.part.at_work.on(["team-a..orders"]):
        part.log.append([FREEZE, replace(FREEZE, freeze_id="g", names=("team-b:x",))])
        await until(lambda: part.has_read() == ("g",))
        assert part.part.here("f")
    await until(lambda: part.has_read() == ("f", "g"))


async def test_it_leaves_and_says_that_a_change_may_be_under_way(part: Part) -> None:
    await part.arrives()
    with part.part.at_work.on(["team-a..orders"]):
        await part.part.stop()
    assert part.listed is not None
    assert part.listed.gone == NOW
