"""gateway.processes.observing: a worker reports its flows as long as the supervisor requests
that."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest

from gateway.page.clusters import DescribedCluster
from gateway.page.observed import Observed
from gateway.processes import observing as observing_module
from gateway.processes.observing import PIECE, Observing
from gateway.processes.worker_messages import Observe, WorkerReport
from tests.gateway.flow_samples import denial, flow


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


class FakeCluster:
    def __init__(self) -> None:
        self.asked = 0

    def item(self) -> dict[str, Any]:
        self.asked += 1
        return {"name": "main"}


REPORT = WorkerReport([flow(led=2, bytes_in=5)], [denial()])


class Bench:
    """A worker's side, and its reports."""

    def __init__(self) -> None:
        self.clock, self.cluster = Clock(), FakeCluster()
        self.told: list[Observed] = []
        clusters = [cast(DescribedCluster, self.cluster)]
        self.observing = Observing(clusters, self.told.append, self.clock)

    async def see(self, report: WorkerReport = REPORT, after: float = 1.0) -> list[Observed]:
        """The reports after a WorkerReport that comes ``after`` seconds after the last one."""
        self.clock.now += after
        self.observing.see(report)
        await asyncio.sleep(0.02)
        told, self.told[:] = list(self.told), []
        return told


async def test_nothing_is_summed_up_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def never() -> Any:
        raise AssertionError("flows were summed up for nobody")

    monkeypatch.setattr(observing_module, "FlowsOfSecond", never)
    bench = Bench()
    for _ in range(5):
        assert await bench.see() == []
    assert bench.cluster.asked == 0
    assert len(asyncio.all_tasks()) == 1


async def test_while_it_is_asked() -> None:
    bench = Bench()
    assert await bench.see() == []
    bench.observing.take(Observe(3.0))
    (observed,) = await bench.see(after=1.5)
    assert observed.seconds == 1.5  # since the report before, whoever requested that
    assert [counts.requests for _, counts in observed.traffic] == [2]
    assert observed.clusters is None
    assert bench.cluster.asked == 0
    bench.observing.take(Observe(3.0, clusters=True))
    (observed,) = await bench.see()
    assert observed.clusters == [{"name": "main"}]


async def test_who_stops_asking_is_told_nothing_more() -> None:
    bench = Bench()
    bench.observing.take(Observe(3.0))
    assert len(await bench.see(after=2.9)) == 1
    assert await bench.see(after=0.2) == []


async def test_denials_from_before_are_told() -> None:
    """A user who opens the page because of a denial comes after it."""
    bench = Bench()
    await bench.see(WorkerReport(denials=[denial(resource="early:x")]))
    await bench.see(WorkerReport(), after=1_000)
    bench.observing.take(Observe(3.0))
    (observed,) = await bench.see(WorkerReport(denials=[denial(resource="late:x")]))
    assert [one["resource"] for one in observed.denials] == ["late:x", "early:x"]


async def test_clients_have_their_turn_between_pieces() -> None:
    """Otherwise a report of many clients a second would delay each of them."""
    bench = Bench()
    many = WorkerReport([flow(topic=f"n:{number}", led=1) for number in range(10 * PIECE)])
    bench.observing.take(Observe(3.0))
    bench.observing.see(many)
    turns = 0
    while not bench.told:
        turns += 1
        await asyncio.sleep(0)
    assert turns >= 10
    # Another report meanwhile is left out, so that sums do not pile up.
    bench.observing.see(many)
    bench.observing.see(REPORT)
    await asyncio.sleep(0.5)
    assert len(bench.told) == 2


async def test_a_failure_is_logged_and_the_worker_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench()
    bench.cluster.item = None  # type: ignore[assignment,method-assign]
    bench.observing.take(Observe(3.0, clusters=True))
    assert await bench.see() == []
    assert "the page is not told what this worker does" in caplog.text
    bench.observing.take(Observe(3.0))
    assert len(await bench.see()) == 1
