"""``make bench-quick``: the CPU of a request in this tree and in a revision, in pairs.

    python -m bench.quick [REVISION] [--compiled] [--rounds N] [--json]   (HEAD; two minutes)

Requests pass one connection of the product in its own process, between transports in memory: no
socket, no kernel, and no other process is measured. Three processes take turns: this tree, the
revision, and the revision once more. The ratio of the last two is the noise: a load counts as
slower, or faster, only if its median ratio is outside of the noise's middle half, and 2 % from 1.

``--compiled`` measures the hot path as mypyc compiles it, in the environment of each tree's wheel;
a wheel that is not there yet takes minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from bench.stats import summarize
from devkit.paths import PROJECT_ROOT, cache_dir
from devkit.waiting import progress

ROUNDS: Final = 31

LEAST: Final = 0.02
"""A change of less than this part is none, whatever the noise was."""

_LOAD: Final = PROJECT_ROOT / "bench" / "quick_load.py"
_SIDES: Final = ("now", "before", "before again")
_HELPERS: Final = ("bench", "devkit", "tests")

Round = Mapping[str, float]
"""Microseconds of CPU for a request, by load."""


class QuickBenchError(Exception):
    """A side could not be measured; the text says why."""


@dataclass(frozen=True, slots=True)
class Row:
    """One load in all rounds."""

    load: str

    before: float
    """Microseconds of CPU for a request, the median; ``now`` likewise."""

    now: float

    ratio: float
    """The median of now by before, in the same round."""

    noise: tuple[float, float]
    """The quartiles of the ratio of the revision to itself. (The extremes tell of the machine: of a
    virtual one whose processor was somebody else's for a moment.)"""

    @property
    def verdict(self) -> str:
        """``slower`` or ``faster`` if the noise does not explain the ratio, else empty."""
        low, high = min(self.noise[0], 1 - LEAST), max(self.noise[1], 1 + LEAST)
        if low <= self.ratio <= high:
            return ""
        return "slower" if self.ratio > high else "faster"


def rows_of(now: Sequence[Round], before: Sequence[Round], again: Sequence[Round]) -> list[Row]:
    """The rows of rounds that were measured in turn."""
    found = []
    for load in before[0]:
        noise = [other[load] / one[load] for one, other in zip(before, again, strict=True)]
        ratios = [other[load] / one[load] for one, other in zip(before, now, strict=True)]
        found.append(
            Row(
                load,
                summarize([one[load] for one in before]).median,
                summarize([one[load] for one in now]).median,
                summarize(ratios).median,
                _middle_half(noise),
            )
        )
    return found


def _middle_half(values: Sequence[float]) -> tuple[float, float]:
    """The first and the third quartile."""
    if len(values) < 2:
        return values[0], values[0]
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return first, third


def table(rows: Sequence[Row], revision: str) -> str:
    """The rows as text."""
    lines = [f"{'CPU us a request':28} {revision[:12]:>12} {'now':>9} {'ratio':>7}   noise"]
    for row in rows:
        low, high = row.noise
        lines.append(
            f"{row.load:28} {row.before:12.2f} {row.now:9.2f} {row.ratio:7.3f}"
            f"   {low:.3f} to {high:.3f}  {row.verdict}".rstrip()
        )
    return "\n".join(lines)


class Side:
    """A process that runs the loads in one tree, with the product that its ``python`` imports
    there. Raises QuickBenchError if it ends."""

    def __init__(self, tree: Path, python: Path | str = sys.executable) -> None:
        self.process = subprocess.Popen(
            [str(python), str(_LOAD)],
            cwd=tree,
            # What the loads need of development's packages, for an environment without them.
            env={**os.environ, "PYTHONPATH": sysconfig.get_path("purelib")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.form = self._read().strip()

    def round(self) -> Round:
        """Run every load once."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        found = json.loads(self._read())
        assert isinstance(found, dict)
        return found

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()

    def _read(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            _, text = self.process.communicate()
            raise QuickBenchError(text.strip() or "a side has ended")
        return line


def compare(revision: str, rounds: int, *, compiled: bool = False) -> list[Row]:
    """Measure this tree and a revision. Raises QuickBenchError."""
    sides: list[list[Round]] = [[] for _ in _SIDES]
    with ExitStack() as stack, progress("measuring"):
        before = stack.enter_context(checked_out(revision))
        running = []
        for tree in (PROJECT_ROOT, before, before):
            side = stack.enter_context(_compiled(tree)) if compiled else Side(tree)
            stack.callback(side.close)
            running.append(side)
        for number in range(rounds):
            # Each side is first, second and third equally often.
            for place in range(len(running)):
                chosen = (number + place) % len(running)
                sides[chosen].append(running[chosen].round())
    return rows_of(*sides)


@contextmanager
def _compiled(tree: Path) -> Iterator[Side]:
    """A side with the product of a tree's compiled wheel, and the test helpers of the tree. Raises
    QuickBenchError."""
    done = subprocess.run(
        [sys.executable, "-m", "devkit.installed", "compiled"],
        cwd=tree,
        env={**os.environ, "KAFKA_GATEWAY_CACHE": str(cache_dir())},
        stdout=subprocess.PIPE,
        text=True,
    )
    if done.returncode:
        raise QuickBenchError(f"the compiled form could not be installed: {done.stdout.strip()}")
    command = Path(done.stdout.splitlines()[-1])
    with tempfile.TemporaryDirectory(prefix="bench-quick-") as directory:
        for name in _HELPERS:
            (Path(directory) / name).symlink_to(tree / name)
        side = Side(Path(directory), command.parent / "python")
        if side.form != "compiled":
            side.close()
            raise QuickBenchError(f"{command} runs the hot path in another form: {side.form}")
        yield side


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """A directory with a revision's files. Raises QuickBenchError."""
    with tempfile.TemporaryDirectory(prefix="bench-quick-") as directory:
        tree = Path(directory) / "tree"
        _git("worktree", "add", "--quiet", "--detach", str(tree), revision)
        try:
            yield tree
        finally:
            _git("worktree", "remove", "--force", str(tree))


def _git(*words: str) -> None:
    done = subprocess.run(["git", *words], cwd=PROJECT_ROOT, capture_output=True, text=True)
    if done.returncode:
        raise QuickBenchError(done.stderr.strip())


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit status: 1 if a side could not be measured."""
    parser = argparse.ArgumentParser(prog="python -m bench.quick", allow_abbrev=False)
    parser.add_argument("revision", nargs="?", default="HEAD", help="what git calls a commit")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds (default: %(default)s)")
    parser.add_argument("--compiled", action="store_true", help="measure the compiled form")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    try:
        rows = compare(options.revision, max(1, options.rounds), compiled=options.compiled)
    except QuickBenchError as error:
        print(f"bench-quick: {error}", file=sys.stderr)
        return 1
    if options.json:
        print(json.dumps([{**asdict(row), "verdict": row.verdict} for row in rows], indent=2))
    else:
        print(table(rows, options.revision))
    return 0


if __name__ == "__main__":
    sys.exit(main())
