"""The lines that a run of the suite prints at its end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Final

from devkit.suite.running import Outcome

LONGEST_TEST_SECONDS: Final = 5.0
"""The limit for a test of the gate on an idle machine, without the start of its brokers, which is
set-up."""

_FILES: Final = 10


def lines(outcomes: Sequence[Outcome], *, are_gate: bool) -> Iterator[str]:
    """Yield the time of each stage, the slowest files, slow tests, second looks, and why a stage is
    red."""
    yield ""
    yield "stages:"
    for outcome in outcomes:
        yield f"  {outcome.seconds:7.1f} s  {outcome.name}{': red' if outcome.red else ''}"
    yield f"  {sum(outcome.seconds for outcome in outcomes):7.1f} s  together"
    files = _files(outcomes)
    if files:
        yield "slowest files:"
        yield from (f"  {seconds:7.1f} s  {path}" for path, seconds in files)
    slow = [*_slow_tests(outcomes)] if are_gate else []
    if slow:
        yield f"tests of the gate that took longer than {LONGEST_TEST_SECONDS:g} s:"
        yield from (f"  {seconds:7.1f} s  {test}" for test, seconds in slow)
    looks = [look for outcome in outcomes for look in outcome.second_looks]
    if looks:
        yield "passed only on a second look:"
        for look in looks:
            yield f"  {look.test}: {look.first_seconds:.1f} s, alone {look.second_seconds:.1f} s"
            yield f"    {look.reason}"
    for outcome in outcomes:
        if outcome.red:
            yield f"red: {outcome.name}: {outcome.red}"


def _files(outcomes: Sequence[Outcome]) -> list[tuple[str, float]]:
    """The slowest files, and the seconds of all phases of their tests."""
    took: defaultdict[str, float] = defaultdict(float)
    for outcome in outcomes:
        for report in outcome.reports:
            took[report.test.partition("::")[0]] += report.seconds
    return sorted(took.items(), key=itemgetter(1), reverse=True)[:_FILES]


def _slow_tests(outcomes: Sequence[Outcome]) -> Iterator[tuple[str, float]]:
    for outcome in outcomes:
        for report in outcome.reports:
            if report.phase == "call" and report.seconds > LONGEST_TEST_SECONDS:
                yield report.test, report.seconds
