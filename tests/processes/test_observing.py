"""gateway.processes.observing: a worker tells what it does while it is asked to, and no longer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from gateway import flows
from gateway.flows import Flow
from gateway.page.clusters import DescribedCluster
from gateway.processes import observing as observing_module
from gateway.processes.observing import Observing, form
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


def made() -> tuple[Observing, Clock, FakeCluster]:
    clock, cluster = Clock(), FakeCluster()
    return Observing([cast(DescribedCluster, cluster)], clock), clock, cluster


def test_nothing_is_summed_up_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: Sequence[Flow]) -> Any:
        raise AssertionError("flows were summed up for nobody")

    for name in ("traffic_of", "latency_of", "errors_of"):
        monkeypatch.setattr(observing_module, name, never)
    observing, clock, cluster = made()
    for _ in range(5):
        clock.now += 1
        assert observing.observed(REPORT) is None
    assert cluster.asked == 0


def test_while_it_is_asked() -> None:
    observing, clock, cluster = made()
    clock.now += 1
    assert observing.observed(REPORT) is None
    observing.take(Observe(3.0))
    clock.now += 1.5
    observed = observing.observed(REPORT)
    assert observed is not None
    assert observed.seconds == 1.5  # since the report before, whoever wanted that
    assert [counts.requests for _, counts in observed.traffic] == [2]
    assert observed.clusters is None
    assert cluster.asked == 0
    observing.take(Observe(3.0, clusters=True))
    clock.now += 1
    observed = observing.observed(REPORT)
    assert observed is not None
    assert observed.clusters == [{"name": "main"}]


def test_who_stops_asking_is_told_nothing_more() -> None:
    observing, clock, _ = made()
    observing.take(Observe(3.0))
    clock.now += 2.9
    assert observing.observed(REPORT) is not None
    clock.now += 0.2
    assert observing.observed(REPORT) is None


def test_denials_from_before_are_told() -> None:
    """Who opens the page because something was denied comes after it."""
    observing, clock, _ = made()
    observing.observed(WorkerReport(denials=[denial(resource="early:x")]))
    clock.now += 1_000
    observing.observed(WorkerReport())
    observing.take(Observe(3.0))
    observed = observing.observed(WorkerReport(denials=[denial(resource="late:x")]))
    assert observed is not None
    assert [one["resource"] for one in observed.denials] == ["late:x", "early:x"]


@pytest.mark.parametrize(
    ("file", "expected"), [("flows.py", "pure"), ("flows.cpython-311-x86_64.so", "compiled")]
)
def test_the_form(file: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "__file__", file)
    assert form() == expected
