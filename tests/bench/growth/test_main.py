"""bench.growth's command: what it measures, prints and writes, with a sweep that is a formula."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.client import AnswerError
from bench.growth import __main__ as growth
from bench.growth import page
from bench.growth.curves import Figure, Kind, Sweep, curves
from bench.growth.page import begin_mark, end_mark
from bench.growth.plan import Plan, Say

FIGURES = (Figure("a start", "s", Kind.TOTAL), Figure("a lookup", "us", Kind.TOTAL))

plans: list[Plan] = []


def square(plan: Plan, say: Say) -> Sweep:
    """A start that takes the square of the size."""
    plans.append(plan)
    measured = {size: {"a start": float(size**2), "a lookup": 5.0} for size in plan.sizes}
    return Sweep("topics", "topics", curves(FIGURES, measured))


def failing(plan: Plan, say: Say) -> Sweep:
    raise AnswerError("port 1: refused")


@pytest.fixture(autouse=True)
def sweeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The page, with a place for the sweep ``topics``; ``acls`` fails."""
    path = tmp_path / "growth.md"
    path.write_text(f"{begin_mark('topics')}\n{end_mark('topics')}\n")
    monkeypatch.setattr(page, "PAGE", path)
    monkeypatch.setattr(growth, "LATEST", tmp_path / "results" / "growth.json")
    ladders = {
        "topics": growth.Ladder(square, (1, 10, 100), (1, 10)),
        "acls": growth.Ladder(failing, (1, 10), (1,)),
    }
    monkeypatch.setattr(growth, "SWEEPS", ladders)
    plans.clear()
    yield path


def test_what_is_worse_stands_last(capsys: pytest.CaptureFixture[str]) -> None:
    assert growth.main(["--sweeps", "topics"]) == 0
    printed = capsys.readouterr()
    told = "topics: a start: worse than linear: 1 to 10 (2.00), 10 to 100 (2.00)"
    assert printed.out.splitlines()[-1] == told
    assert "One round: 5 s for each load" in printed.out
    assert "sweep: topics" in printed.err
    (plan,) = plans
    assert (plan.sizes, plan.seconds, plan.limit, plan.compiled) == ([1, 10, 100], 5.0, 300.0, True)


def test_a_short_sweep_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert growth.main(["--short", "--pure", "--sweeps", "topics"]) == 0
    assert "One short round: 1 s for each load" in capsys.readouterr().out
    (plan,) = plans
    assert (plan.sizes, plan.seconds, plan.limit, plan.compiled) == ([1, 10], 1.0, 30.0, False)


def test_numbers_may_be_chosen() -> None:
    chosen = ["--sizes", "30", "20", "--seconds", "0.5", "--limit", "7"]
    assert growth.main(["--sweeps", "topics", *chosen]) == 0
    (plan,) = plans
    assert (plan.sizes, plan.seconds, plan.limit) == ([20, 30], 0.5, 7.0)


def test_sizes_are_of_one_sweep(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        growth.main(["--sizes", "20"])
    assert "--sizes needs --sweeps" in capsys.readouterr().err


def test_a_gate_fails_if_something_is_worse() -> None:
    assert growth.main(["--gate", "--sweeps", "topics"]) == 2
    assert growth.main(["--gate", "--sweeps", "topics", "--sizes", "1"]) == 0


def test_only_what_is_recorded_changes_the_page(sweeps: Path) -> None:
    before = sweeps.read_text()
    assert growth.main(["--sweeps", "topics"]) == 0
    assert sweeps.read_text() == before
    assert growth.main(["--record", "--sweeps", "topics"]) == 0
    assert "| a start" in sweeps.read_text()


def test_sweeps_before_a_failure_are_kept(sweeps: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert growth.main(["--record"]) == 1
    assert "bench-growth: port 1: refused" in capsys.readouterr().err
    assert "| a start" in sweeps.read_text()
    (latest,) = json.loads((sweeps.parent / "results" / "growth.json").read_text())
    assert latest["name"] == "topics"
