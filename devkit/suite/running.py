"""Runs a stage, and then its failed tests a second time, alone."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from devkit.paths import PROJECT_ROOT
from devkit.suite.reports import OPTION, Report, read_reports
from devkit.suite.stages import Stage

MOST_SECOND_LOOKS: Final = 5
_PASSED: Final = 0
_TESTS_FAILED: Final = 1
_NO_TESTS: Final = 5


@dataclass(frozen=True, slots=True)
class SecondLook:
    """A test that failed among others and passed when it ran alone."""

    test: str
    reason: str
    """The first line of its first failure."""
    first_seconds: float
    second_seconds: float


@dataclass(slots=True)
class Outcome:
    """The outcome of a stage."""

    name: str
    seconds: float = 0.0
    red: str = ""
    """Why the stage is red; empty if it is green."""
    reports: list[Report] = field(default_factory=list)
    """Reports of the first run."""
    second_looks: list[SecondLook] = field(default_factory=list)


def run_stage(stage: Stage, scratch: Path, *, root: Path = PROJECT_ROOT) -> Outcome:
    """Run the tests of a stage under ``root``, then the failed tests alone, if they are few.

    The stage is red if a test fails both times, if more than ``MOST_SECOND_LOOKS`` fail (a set-up
    that the tests of a file share counts once), or if pytest or one of its processes does not end
    in good order. ``scratch`` is the directory for caches and reports, which the stage creates.
    """
    outcome = Outcome(stage.name)
    began = time.monotonic()
    where = scratch / stage.name.replace(" ", "-")
    where.mkdir(parents=True, exist_ok=True)
    status, outcome.reports = _pytest(["--cache-clear", *stage.command()], where, "first", root)
    outcome.red = _why_red(status, outcome.reports)
    if status == _TESTS_FAILED and not outcome.red:
        _look_again(stage, outcome, where, root)
    outcome.seconds = time.monotonic() - began
    return outcome


def _look_again(stage: Stage, outcome: Outcome, where: Path, root: Path) -> None:
    failed = _failures(outcome.reports)
    print(f"\n{len(failed)} failed: a second look at each, alone", flush=True)
    again = ["--last-failed", "--last-failed-no-failures=none", *stage.one_by_one().command()]
    status, reports = _pytest(again, where, "second", root)
    still = _failures(reports)
    unseen = sorted(failed.keys() - {report.test for report in reports if report.phase == "call"})
    if still or status != _PASSED:
        outcome.red = f"failed twice: {', '.join(still)}" if still else _ended(status)
    elif unseen:
        outcome.red = f"failed, and did not run again: {', '.join(unseen)}"
    outcome.second_looks = [
        SecondLook(test, reason, _seconds(outcome.reports, test), _seconds(reports, test))
        for test, reason in failed.items()
        if test not in still and test not in unseen
    ]


def _pytest(
    arguments: Sequence[str], where: Path, look: str, root: Path
) -> tuple[int, list[Report]]:
    """Run pytest; returns its exit status, negative if a signal ended it, and its reports."""
    written = where / f"{look}.jsonl"
    written.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-p", "devkit.suite.reports", OPTION, str(written)]
    status = subprocess.call([*command, "-o", f"cache_dir={where / 'cache'}", *arguments], cwd=root)
    return status, read_reports(written)


def _why_red(status: int, reports: Sequence[Report]) -> str:
    """Why a second look cannot help after a first run; empty if it can, or is not needed."""
    crashes = [report.reason for report in reports if report.phase == "crash"]
    if crashes:
        return f"a process of pytest died: {crashes[0]}"
    if status in {_PASSED, _NO_TESTS}:
        return ""
    if status != _TESTS_FAILED:
        return _ended(status)
    not_collected = [report.test for report in reports if report.phase == "collect"]
    if not_collected:
        return f"not collected: {', '.join(not_collected)}"
    failed = _failures(reports)
    if not failed:
        return _ended(status)
    count = _failed_for_themselves(reports)
    if count > MOST_SECOND_LOOKS:
        return f"{count} tests failed, and a second look is for {MOST_SECOND_LOOKS} at most"
    return ""


def _failed_for_themselves(reports: Sequence[Report]) -> int:
    """The number of failed tests; tests of a file whose shared set-up failed count once, because
    pytest runs the set-up once, and reports its failure for each of them."""
    failed = [report for report in reports if report.has_failed]
    shared = {
        (report.test.partition("::")[0], report.reason)
        for report in failed
        if report.phase == "setup"
    }
    return len(shared) + len({report.test for report in failed if report.phase != "setup"})


def _ended(status: int) -> str:
    how = f"by signal {-status}" if status < 0 else f"with status {status}"
    return f"pytest ended {how}"


def _failures(reports: Sequence[Report]) -> dict[str, str]:
    """The first failure of each test that failed in any phase."""
    failed: dict[str, str] = {}
    for report in reports:
        if report.has_failed:
            failed.setdefault(report.test, f"{report.phase}: {report.reason}")
    return failed


def _seconds(reports: Sequence[Report], test: str) -> float:
    return sum(report.seconds for report in reports if report.test == test)
