"""``python -m bench.spark_jobs``: what the Spark jobs cost, by the million records.

Tables of 1, 10 and 50 million records are made and all jobs run over each, in a process of its own.
Four things are to hold: time per million does not grow, from 10 million on all jobs together take
at most 5 s a million on 2 cores, no task takes more than three times the median of its stage, and
the driver's 2 GiB suffice.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.machine import Provenance, provenance
from bench.report import append_record, table
from devkit.paths import PROJECT_ROOT

MILLIONS: Final = (1, 10, 50)

GROWTH: Final = 1.2
"""How many times the time per million of a smaller table the largest one may take: what two runs of
the same differ by on a small machine."""

SECONDS: Final = 5.0
"""What all jobs together may take for a million records, if there are :data:`MANY` of them: below
that most of the time goes into compiling."""

MANY: Final = 10

SKEW: Final = 3.0
"""The slowest task against the median of its stage."""

JUDGED_SECONDS: Final = 1.0
"""Stages whose slowest task is faster are not judged: there a pause of the machine is skew."""

HEAP_MIB: Final = 2_048.0

LATEST: Final = Path(__file__).parent / "results" / "spark.json"
_HEAD: Final = ("Spark jobs", "unit", "value", "bar", "verdict")


@dataclass(frozen=True, slots=True)
class Skewed:
    """The most skewed of the stages that are judged."""

    job: str
    tasks: int
    median: float
    slowest: float

    @property
    def ratio(self) -> float:
        """The duration of the slowest task as a multiple of the median."""
        return self.slowest / self.median if self.median else float("inf")


@dataclass(frozen=True, slots=True)
class Run:
    """The figures of one table's jobs; ``jobs`` in seconds, sizes in MiB."""

    millions: float
    make_seconds: float
    table_mib: float
    jobs: Mapping[str, float]
    heap_mib: float
    rss_mib: float
    skewed: Skewed | None = field(default=None)

    @property
    def seconds_per_million(self) -> float:
        """The seconds per million records of all jobs together."""
        return sum(self.jobs.values()) / self.millions


class BenchError(Exception):
    """A process of the bench that failed; the text has the end of what it said."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; returns 1 if it could not, 2 if a bar is missed and --gate is given."""
    options = _options(arguments)
    where = provenance()
    started = time.monotonic()

    def say(what: str) -> None:
        print(f"{time.monotonic() - started:6.0f} s  {what}", file=sys.stderr, flush=True)

    try:
        runs = [_measured(millions, say) for millions in options.millions]
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    lines = rows(runs)
    return _tell(where, lines, runs, options)


def run_of(millions: float, made: Mapping[str, Any], measured: Mapping[str, Any]) -> Run:
    """A run, from what its two processes printed."""
    jobs = measured["jobs"]
    judged = [
        Skewed(name, int(stage["tasks"]), stage["median"], stage["slowest"])
        for name, job in jobs.items()
        for stage in job["stages"]
        if stage["slowest"] >= JUDGED_SECONDS
    ]
    return Run(
        millions,
        made["seconds"],
        made["bytes"] / 2**20,
        {name: job["seconds"] for name, job in jobs.items()},
        measured["heap_mib"],
        measured["rss_mib"],
        max(judged, key=lambda one: one.ratio, default=None),
    )


@dataclass(frozen=True, slots=True)
class Line:
    """One figure; ``bar`` is what it may be at most, None if nothing is asked of it."""

    figure: str
    unit: str
    value: float
    bar: float | None = None

    @property
    def passed(self) -> bool | None:
        """Whether the figure reaches its bar; None without a bar."""
        return None if self.bar is None else self.value <= self.bar


def rows(runs: Sequence[Run]) -> list[Line]:
    """The figures of all runs, the smallest table first."""
    found: list[Line] = []
    before: float | None = None
    for run in sorted(runs, key=lambda one: one.millions):
        of = f"{run.millions:g} million"
        bars = [SECONDS] if run.millions >= MANY else []
        bars += [] if before is None else [GROWTH * before]
        bar = min(bars, default=None)
        found.append(Line(f"{of}: all jobs", "s/million", run.seconds_per_million, bar))
        found += [
            Line(f"{of}: {name}", "s/million", seconds / run.millions)
            for name, seconds in run.jobs.items()
        ]
        if run.skewed is not None:
            worst = run.skewed
            figure = f"{of}: slowest of {worst.tasks} tasks ({worst.job})"
            found.append(Line(figure, "x median", worst.ratio, SKEW))
        found.append(Line(f"{of}: heap at most", "MiB", run.heap_mib, HEAP_MIB))
        found.append(Line(f"{of}: resident at most", "MiB", run.rss_mib))
        found.append(Line(f"{of}: table", "MiB", run.table_mib))
        found.append(Line(f"{of}: making it", "s/million", run.make_seconds / run.millions))
        before = run.seconds_per_million
    return found


def _tell(
    where: Provenance, lines: Sequence[Line], runs: Sequence[Run], options: argparse.Namespace
) -> int:
    text = table(_HEAD, [_shown(line) for line in lines])
    print(f"\n{where.line}\n\n{text}", end="")
    LATEST.parent.mkdir(exist_ok=True)
    found = [{"millions": run.millions, "jobs": dict(run.jobs)} for run in runs]
    figures = [[line.figure, line.unit, line.value, line.bar, line.passed] for line in lines]
    LATEST.write_text(json.dumps({"where": where.line, "runs": found, "figures": figures}) + "\n")
    if options.record:
        print(append_record(where, text), file=sys.stderr)
    return 2 if options.gate and any(line.passed is False for line in lines) else 0


def _shown(line: Line) -> tuple[str, ...]:
    value = f"{line.value:,.0f}" if line.value >= 100 else f"{line.value:.3g}"
    if line.bar is None:
        return line.figure, line.unit, value, "", ""
    return line.figure, line.unit, value, f"<= {line.bar:,.4g}", "pass" if line.passed else "MISS"


def _measured(millions: float, say: Callable[[str], None]) -> Run:
    scratch = PROJECT_ROOT / ".cache"
    scratch.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-spark-", dir=scratch) as directory:
        say(f"{millions:g} million: making them")
        made = _process("make", f"{directory}/table", str(round(millions * 1_000_000)))
        say(f"{millions:g} million: running the jobs")
        return run_of(millions, made, _process("measure", f"{directory}/table"))


def _process(*arguments: str) -> Any:
    """The last line that a process prints. Raises BenchError."""
    command = [sys.executable, "-m", "bench.spark_run", *arguments]
    ended = subprocess.run(command, cwd=PROJECT_ROOT, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise BenchError(f"bench.spark_run {arguments[0]} failed: {ended.stderr[-2_000:]}")
    return json.loads(ended.stdout.splitlines()[-1])


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.spark_jobs", description=__doc__)
    parser.add_argument(
        "--millions", nargs="+", type=float, default=MILLIONS, metavar="N", help="records (1 10 50)"
    )
    parser.add_argument("--record", action="store_true", help="append to bench/RESULTS.md")
    parser.add_argument("--gate", action="store_true", help="exit status 2 if a bar is missed")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
