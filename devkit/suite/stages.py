"""The stages of the suite: the tests that each runs, and the number of processes.

A test is in the gate unless it is marked ``long`` or ``alone`` (tests/marks.py).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devkit.paths import PROJECT_ROOT

_LONG: Final = ("long", "alone")

EXAMPLES: Final = "KAFKA_GATEWAY_EXAMPLES"
"""The environment variable with the number of examples that hypothesis tries for each property,
unless a test sets its own."""

MOST_EXAMPLES: Final = 100
GATE_EXAMPLES: Final = 25
"""In ``make test``: the first of the examples of all other runs, because the order is always the
same."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Tests that run together: tests in ``paths`` that have all of ``marks`` and none of
    ``without``."""

    name: str
    marks: Sequence[str]
    without: Sequence[str]
    paths: Sequence[str]
    """Folders or files; only these, because each process collects them, which takes 20 s for all
    tests."""
    processes: int = 1
    options: Sequence[str] = ()

    def command(self) -> list[str]:
        """pytest's options and paths."""
        spread = ["-n", str(self.processes), "--dist", "loadfile", "--no-loadscope-reorder"]
        marks = " and ".join([*self.marks, *(f"not {mark}" for mark in self.without)])
        return [
            *(spread if self.processes > 1 else ["-p", "no:xdist"]),
            *self.options,
            *(["-m", marks] if marks else []),
            *self.paths,
        ]

    def one_by_one(self) -> Stage:
        """A stage of the same tests, which run one by one."""
        return Stage(self.name, self.marks, self.without, self.paths, 1, ("-v",))

    def selects(self, marks: Set[str], path: str) -> bool:
        """Whether a test with these marks, in the file ``path``, belongs to the stage."""
        return (
            marks >= set(self.marks)
            and marks.isdisjoint(self.without)
            and any(f"{path}/".startswith(f"{own}/") for own in self.paths)
        )


# Three, because some tests wait for a second or two: with two a sixth of the time was idle.
UNIT: Final = Stage(
    "without Kafka", (), ("live", "spark", *_LONG), ("tests",), 3, ("--ignore=tests/live",)
)
# Two at a time, each with a Spark that its tests share: planning takes one processor.
JOBS: Final = Stage("Spark", ("spark",), ("live", *_LONG), ("tests/spark",), 2, ("-v",))
# Three on two processors: a test waits for brokers and clients half of its time. Four took longer.
LIVE: Final = Stage(
    "on a real Kafka", ("live",), _LONG, ("tests/live", "tests/devkit", "tests/bench"), 3, ("-v",)
)
GATE: Final = (UNIT, JOBS, LIVE)


def long_stages(root: Path = PROJECT_ROOT) -> tuple[Stage, Stage]:
    """Stages of the tests that the gate leaves out: in three processes, then one by one."""
    long, alone = (_files_with(f"pytest.mark.{mark}", root) for mark in _LONG)
    return (
        Stage("long", ("long",), ("alone",), long, 3, ("-v",)),
        Stage("alone", ("alone",), (), alone, 1, ("-v",)),
    )


def _files_with(mark: str, root: Path) -> tuple[str, ...]:
    """Test files that contain a mark, relative to the project's directory."""
    files = sorted((root / "tests").rglob("test_*.py"))
    return tuple(str(path.relative_to(root)) for path in files if mark in path.read_text("utf-8"))
