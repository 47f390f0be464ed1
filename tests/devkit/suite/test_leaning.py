"""devkit.suite.leaning: planted tests that lean on another test of their file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devkit.paths import PROJECT_ROOT

SECONDS = 120
LEANING = """
import os, signal
import pytest

made = []

@pytest.fixture(scope="session")
def thing():
    made.append("by a fixture")

def test_makes():
    made.append("by a test")

def test_leans():
    assert "by a test" in made

def test_has_a_fixture(thing):
    assert made.count("by a fixture") == 1

@pytest.mark.parametrize("case", range(9))
def test_leans_on_its_case_before(case):
    assert case == 0 or f"case {case - 1}" in made
    made.append(f"case {case}")
"""
ENDS = "\ndef test_ends():\n    os.kill(os.getpid(), signal.SIGKILL)\n"
CASES = "test_leans_on_its_case_before[{}]".format


def failures(root: Path, way: str, code: str) -> list[str]:
    """The tests of a planted file that fail, in their order."""
    (root / "pytest.ini").write_text("[pytest]\n")
    (root / "test_planted.py").write_text(code)
    options = ["-q", "-p", "devkit.suite.leaning", *([f"--leaning={way}"] if way else [])]
    command = [sys.executable, "-m", "pytest", *options, "-rf", "--tb=no", "-p", "no:cacheprovider"]
    env = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    run = subprocess.run(
        command, cwd=root, env=env, timeout=SECONDS, capture_output=True, text=True, check=False
    )
    lines = [line.split()[1] for line in run.stdout.splitlines() if line.startswith("FAILED")]
    assert run.returncode == (1 if lines else 0), run.stdout + run.stderr
    return [line.partition("::")[2] for line in lines]


def test_in_their_order_none_fails(tmp_path: Path) -> None:
    assert failures(tmp_path, "", LEANING) == []


def test_backwards_a_leaning_test_fails(tmp_path: Path) -> None:
    cases = [CASES(case) for case in reversed(range(1, 9))]
    assert failures(tmp_path, "backwards", LEANING) == [*cases, "test_leans"]


def test_alone_a_leaning_test_fails_and_the_cases_are_few(tmp_path: Path) -> None:
    first, drawn, last = sorted(failures(tmp_path, "alone", LEANING))
    assert (first, last) == ("test_leans", CASES(8))
    assert drawn in {CASES(case) for case in range(1, 8)}


def test_a_test_that_ends_its_process_fails(tmp_path: Path) -> None:
    assert failures(tmp_path, "alone", "import os, signal\n" + ENDS) == ["test_ends"]


@pytest.mark.parametrize("way", ["backwards", "alone"])
def test_a_run_in_which_none_leans_is_green(tmp_path: Path, way: str) -> None:
    assert failures(tmp_path, way, "def test_green():\n    print('said')\n") == []
