"""The stages of the suite: which tests each runs, in how many processes.

A test is in the gate unless it is marked ``long`` or ``alone`` (tests/marks.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from devkit.paths import PROJECT_ROOT

_LIVE: Final = ("tests/live", "tests/devkit", "tests/bench")
_SPARK: Final = ("tests/spark",)
_GATE: Final = "not long and not alone"


@dataclass(frozen=True, slots=True)
class Stage:
    """Tests that run together."""

    name: str
    marks: str
    """pytest's expression of marks."""
    paths: Sequence[str]
    """Where they are: each process collects what it is given, and all tests take 20 s."""
    processes: int = 1
    options: Sequence[str] = ()

    def command(self) -> list[str]:
        """pytest's options and paths."""
        spread = ["-n", str(self.processes), "--dist", "loadfile", "--no-loadscope-reorder"]
        return [
            *(spread if self.processes > 1 else ["-p", "no:xdist"]),
            *self.options,
            "-m",
            self.marks,
            *self.paths,
        ]

    def alone(self) -> Stage:
        """The same tests one by one, with nothing beside them."""
        return Stage(self.name, self.marks, self.paths, 1, ("-v",))


UNIT: Final = Stage(
    "without Kafka", f"not live and not spark and {_GATE}", ("tests",), 2, ("--ignore=tests/live",)
)
# Two at a time, each with a Spark that its tests share: planning takes one processor.
JOBS: Final = Stage("Spark", f"spark and not live and {_GATE}", _SPARK, 2, ("-v",))
# Three on two processors: a test waits for brokers and clients half of its time.
LIVE: Final = Stage("on a real Kafka", f"live and {_GATE}", _LIVE, 3, ("-v",))


def long_stages() -> tuple[Stage, ...]:
    """What the gate leaves out: first beside each other, then one by one."""
    return (
        Stage("long", "long and not alone", files_with("pytest.mark.long("), 3, ("-v",)),
        Stage("alone", "alone", files_with("pytest.mark.alone"), 1, ("-v",)),
    )


def files_with(mark: str, root: Path = PROJECT_ROOT) -> tuple[str, ...]:
    """Files of tests in which a mark stands, relative to the project's directory."""
    found = sorted((root / "tests").rglob("test_*.py"))
    return tuple(str(path.relative_to(root)) for path in found if mark in path.read_text("utf-8"))
