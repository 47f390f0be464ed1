"""devkit.suite.machine_lock, and the command that takes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from devkit.suite.machine_lock import LOCK, machine
from devkit.waiting import wait_until

SECONDS = 120.0
PRINT = [sys.executable, "-c", "print('ran')"]


@pytest.fixture
def elsewhere(tmp_path: Path) -> dict[str, str]:
    """An environment in which another lock than this suite's own is taken."""
    return {**os.environ, "TMPDIR": str(tmp_path), "PYTHONUNBUFFERED": "1"}


def suite(*arguments: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "devkit.suite", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_a_second_suite_waits_and_says_for_whom(tmp_path: Path, elsewhere: dict[str, str]) -> None:
    with machine("make bench", tmp_path / LOCK.name):
        second = suite("run", *PRINT, environment=elsewhere)
        assert second.stdout is not None
        line = second.stdout.readline()
        assert "waiting for make bench in " in line
        assert f"process {os.getpid()}" in line
        assert second.poll() is None
    output, _ = second.communicate(timeout=SECONDS)
    assert "ran" in output.splitlines()
    assert second.returncode == 0


def test_a_suite_that_is_killed_leaves_no_lock(tmp_path: Path, elsewhere: dict[str, str]) -> None:
    lock = tmp_path / LOCK.name
    forever = [sys.executable, "-c", "import time; print('up'); time.sleep(600)"]
    with suite("run", *forever, environment=elsewhere) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "up\n"
        first.send_signal(signal.SIGTERM)
        assert first.wait(SECONDS) == 128 + signal.SIGTERM
        assert first.stdout.read() == ""  # so the process that it had started has ended
    with machine("make test", lock):
        pass


def test_its_exit_status_is_the_commands(elsewhere: dict[str, str]) -> None:
    failing = suite("run", sys.executable, "-c", "raise SystemExit(3)", environment=elsewhere)
    failing.communicate(timeout=SECONDS)
    assert failing.returncode == 3


def test_what_it_does_not_know_is_a_usage_error(elsewhere: dict[str, str]) -> None:
    for arguments in ((), ("no-such",), ("run",)):
        unknown = suite(*arguments, environment=elsewhere)
        unknown.communicate(timeout=SECONDS)
        assert unknown.returncode == 64


def test_the_holder_is_told_once_it_is_known(tmp_path: Path) -> None:
    lock = tmp_path / LOCK.name
    with machine("make unit", lock):
        wait_until(lambda: "make unit" in lock.read_text(), "the holder's name", SECONDS)
