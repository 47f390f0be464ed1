"""What a job is doing, a line a step on stderr: nobody should look at nothing for minutes."""

from __future__ import annotations

import sys
import time


class Progress:
    """The steps of one job, each told when it begins, after the seconds since the first one."""

    def __init__(self, job: str, *, quiet: bool = False) -> None:
        self._job = job
        self._quiet = quiet
        self._started = time.monotonic()

    def step(self, what: str) -> None:
        """Say that ``what`` begins now."""
        if not self._quiet:
            seconds = time.monotonic() - self._started
            print(f"spark.{self._job}: {seconds:4.0f} s  {what}", file=sys.stderr, flush=True)
