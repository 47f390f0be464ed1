"""The demos of ``make demo`` and ``make demo-tree``, run as their users run them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from devkit.paths import PROJECT_ROOT
from devkit.process import ManagedProcess
from devkit.waiting import wait_until

SECONDS: Final = 400


def run_once(command: Sequence[str]) -> str:
    """The output of a demo that ends after its tour."""
    return _output([*command, "--once"])


@contextmanager
def serving_demo(command: Sequence[str], log_path: Path) -> Iterator[ManagedProcess]:
    """A demo that has ended its tour and serves until it is interrupted."""
    with ManagedProcess("demo", command, log_path, cwd=PROJECT_ROOT) as demo:

        def serves() -> bool:
            assert demo.running, demo.tail()
            return "Serving until" in demo.tail()

        wait_until(serves, "the demo", SECONDS)
        yield demo


def paste(line: str) -> str:
    """The output of a line that a demo shows, in another terminal."""
    return _output(["bash", "-c", line], 240)


def _output(command: Sequence[str], seconds: float | None = None) -> str:
    ended = subprocess.run(
        command, capture_output=True, text=True, cwd=PROJECT_ROOT, timeout=seconds, check=False
    )
    assert ended.returncode == 0, f"{command}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout
