"""bench.loads: the loads that the bench measures."""

from __future__ import annotations

import pytest

from bench import bars, loads
from bench.generators import Report
from bench.report import unit_of

_GIB = 1 << 30


def _report(**values: float) -> Report:
    base = {"requests": 1000, "seconds": 2.0, "bytes_out": 0, "bytes_in": 0}
    latencies = {"mean_us": 12.0, "p50_us": 10.0, "p90_us": 20.0, "p99_us": 30.0}
    return Report(**{**base, **latencies, **values})  # type: ignore[arg-type]


def test_bulk_is_measured_by_what_moved_both_ways() -> None:
    load = next(load for load in loads.loads(1.0) if load.name == "bulk fetch")
    measures = load.measures(_report(bytes_in=_GIB, bytes_out=_GIB), cpu=3.0)
    assert measures == {"cpu": 1.5, "rate": pytest.approx(_GIB / 1e6), "gib": 2.0}


@pytest.mark.parametrize("name", ["pipelined produce", "closed-loop fetch", "paced fetch"])
def test_requests_are_measured_in_microseconds(name: str) -> None:
    load = next(load for load in loads.loads(1.0) if load.name == name)
    measures = load.measures(_report(), cpu=0.01)
    assert measures == {"cpu": pytest.approx(10.0), "rate": 500.0, "p50": 10.0, "p99": 30.0}


def test_the_proxies_are_kept_apart_where_cpu_time_has_a_bar() -> None:
    for load in loads.loads(1.0):
        judged = bars.bar_of(load.name, bars.IDS, "cpu") is not None
        assert load.kept_apart is judged


def test_every_bar_is_shown_in_the_table() -> None:
    for load in loads.loads(1.0):
        for metric in ("cpu", "p50"):
            if bars.bar_of(load.name, bars.IDS, metric) is not None:
                assert unit_of(load.name, metric) is not None
