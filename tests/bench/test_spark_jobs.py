"""bench.spark_jobs: how figures are evaluated, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from bench import spark_jobs
from bench.spark_jobs import GROWTH, Run, Skewed, rows, run_of


def measured(*stages: tuple[float, float], seconds: float = 10.0) -> dict[str, Any]:
    """The line that a process prints for one job; a stage is its median and its slowest task."""
    found = [{"tasks": 8, "median": median, "slowest": slowest} for median, slowest in stages]
    job = {"seconds": seconds, "stages": found}
    return {"jobs": {"usage": job}, "heap_mib": 900.0, "rss_mib": 1_500.0}


MADE = {"seconds": 4.0, "bytes": 30 * 2**20, "files": 3}


def test_the_most_skewed_stage_is_told_of_those_that_take_long() -> None:
    run = run_of(10, MADE, measured((2.0, 5.0), (0.01, 0.9), (1.0, 2.0)))
    assert run.skewed == Skewed("usage", 8, 2.0, 5.0)
    assert run.skewed.ratio == 2.5
    assert run.seconds_per_million == 1.0
    assert run_of(1, MADE, measured((0.01, 0.9))).skewed is None


def test_a_task_that_does_all_the_work_is_a_miss() -> None:
    run = run_of(10, MADE, measured((0.0, 5.0)))
    assert [line.passed for line in rows([run]) if line.unit == "x median"] == [False]


@pytest.mark.parametrize(("seconds", "passed"), [(50 * GROWTH, True), (51 * GROWTH, False)])
def test_time_per_million_may_not_grow(seconds: float, passed: bool) -> None:
    runs = [run_of(50, MADE, measured(seconds=seconds)), run_of(10, MADE, measured(seconds=10))]
    told = {line.figure: line.passed for line in rows(runs)}
    assert told["10 million: all jobs"] is True
    assert told["50 million: all jobs"] is passed


@pytest.mark.parametrize(
    ("millions", "seconds", "passed"), [(1, 9.0, None), (10, 50.0, True), (10, 51.0, False)]
)
def test_many_records_take_five_seconds_a_million(
    millions: float, seconds: float, passed: bool | None
) -> None:
    found = rows([run_of(millions, MADE, measured(seconds=seconds))])
    assert [one.passed for one in found if one.figure.endswith("all jobs")] == [passed]


def test_a_heap_beyond_the_drivers_is_a_miss() -> None:
    for heap, passed in ((2_048.0, True), (2_049.0, False)):
        run = Run(1, 1, 1, {"usage": 1.0}, heap, 3_000)
        assert {line.figure: line.passed for line in rows([run])}[
            "1 million: heap at most"
        ] is passed


def test_a_process_that_fails_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*arguments: str) -> Any:
        raise spark_jobs.BenchError("bench.spark_run make failed: no Java")

    monkeypatch.setattr(spark_jobs, "_process", fails)
    assert spark_jobs.main(["--millions", "1"]) == 1
    assert "no Java" in capsys.readouterr().err
