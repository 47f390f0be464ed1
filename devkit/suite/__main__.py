"""``python -m devkit.suite COMMAND``: a part of the suite, or another command, as the only one on
this machine.

    test        the gate: check, then the tests that are not marked long or alone
    test-all    the gate and the rest
    long        the rest
    unit, jobs, live    a stage of the gate
    run COMMAND ...     any command that has to be alone on the machine, such as a bench

The exit status is 0 if all stages are green.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Final

from devkit import class_archive
from devkit.paths import PROJECT_ROOT, cache_dir
from devkit.suite.machine_lock import machine
from devkit.suite.running import Outcome, run_stage
from devkit.suite.stages import (
    EXAMPLES,
    GATE,
    GATE_EXAMPLES,
    JOBS,
    LIVE,
    UNIT,
    Stage,
    long_stages,
)
from devkit.suite.summary import lines
from devkit.suite.warm_up import warming_up

_PARTS: Final[Mapping[str, Callable[[], Sequence[Stage]]]] = {
    "unit": lambda: (UNIT,),
    "jobs": lambda: (JOBS,),
    "live": lambda: (LIVE,),
    "test": lambda: GATE,
    "test-all": lambda: (*GATE, *long_stages()),
    "long": long_stages,
}


def main(arguments: Sequence[str]) -> int:
    """Run a command; returns the exit status."""
    command, *more = arguments or [""]
    # Removed: otherwise each of hundreds of gateways and commands compiles its sources anew, which
    # is a fourth of its start.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    # So that subprocess.call ends its process, and no suite goes on without the lock.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    if command == "run" and more:
        with machine(" ".join(more)):
            return subprocess.call(more)
    if command not in _PARTS:
        print(__doc__, file=sys.stderr)
        return 64
    if command == "test":
        os.environ.setdefault(EXAMPLES, str(GATE_EXAMPLES))
    with machine(f"make {command}"):
        outcomes = _run(_PARTS[command](), with_check=command in {"test", "test-all"})
    print("\n".join(lines(outcomes, are_gate=command != "long")), flush=True)
    return 1 if any(outcome.red for outcome in outcomes) else 0


def _run(stages: Sequence[Stage], *, with_check: bool) -> list[Outcome]:
    """Run every stage, also after a red stage, because a run must show everything that is red. If
    ``make check`` fails, nothing else runs."""
    outcomes = []
    with warming_up() if with_check else nullcontext():
        if with_check:
            outcomes.append(_check())
            if outcomes[-1].red:
                return outcomes
        scratch = cache_dir() / "suite"
        for stage in stages:
            print(f"\nstage: {stage.name}", flush=True)
            if any(path.startswith("tests/live") for path in stage.paths):
                class_archive.main()
            outcomes.append(run_stage(stage, scratch))
    return outcomes


def _check() -> Outcome:
    began = time.monotonic()
    status = subprocess.call(["make", "--no-print-directory", "check"], cwd=PROJECT_ROOT)
    red = f"make check ended with status {status}" if status else ""
    return Outcome("check", time.monotonic() - began, red)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
