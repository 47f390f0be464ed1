"""Where and of what a result was taken."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

from devkit.paths import PROJECT_ROOT


@dataclass(frozen=True, slots=True)
class Provenance:
    """A result without these says little."""

    date: str
    commit: str
    cores: int
    memory_gib: int
    python: str
    kernel: str
    load: float
    """Processes that ran or waited on average in the minute before: 0 is a quiet machine."""

    @property
    def line(self) -> str:
        """One line for people."""
        return (
            f"{self.date}, commit {self.commit}, {self.cores} cores, {self.memory_gib} GiB, "
            f"Python {self.python}, Linux {self.kernel}, load {self.load:.1f} before"
        )


def provenance() -> Provenance:
    """The commit of this working tree, and the machine."""
    return Provenance(
        date=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        commit=_commit(),
        cores=len(os.sched_getaffinity(0)),
        memory_gib=round(psutil.virtual_memory().total / (1 << 30)),
        python=platform.python_version(),
        kernel=".".join(platform.release().split(".")[:2]),
        load=os.getloadavg()[0],
    )


def _commit() -> str:
    """The commit, with a plus sign if the tree has changes; what the bench writes is none."""
    commit = _git(["rev-parse", "--short", "HEAD"])
    changes = _git(["status", "--porcelain", "--", ".", ":!bench/RESULTS.md"])
    return f"{commit or 'none'}{'+' if changes else ''}"


def _git(arguments: Sequence[str]) -> str:
    command = ["git", "-C", str(PROJECT_ROOT), *arguments]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return ended.stdout.strip() if ended.returncode == 0 else ""
