"""The Makefile's steps together run every test: each names the folders where its tests are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
MAKEFILE = (TESTS.parent / "Makefile").read_text()


def folders(variable: str) -> tuple[Path, ...]:
    """The folders that a variable of the Makefile lists."""
    (value,) = re.findall(rf"^{variable} := (.+)$", MAKEFILE, re.MULTILINE)
    return tuple(TESTS.parent / name for name in value.split())


@pytest.mark.parametrize("mark", ["live", "alone", "spark"])
def test_marked_tests_are_in_the_folders_of_their_step(mark: str) -> None:
    word = f"pytest.mark.{mark}"
    marked = [
        path for path in TESTS.rglob("test_*.py") if re.search(rf"{word}\b", path.read_text())
    ]
    listed = [*folders("LIVE"), *folders("SPARK")]
    assert marked
    assert [
        path for path in marked if not any(path.is_relative_to(folder) for folder in listed)
    ] == []


def test_steps_leave_no_test_out() -> None:
    """A test is live, of Spark, or neither; a live one of Spark's folder runs with its jobs."""
    commands = re.findall(r"^\t\$\(PYTEST\) (.*-m .*)$", MAKEFILE, re.MULTILINE)
    selected = {re.sub(r".* -m ", "", command) for command in commands}
    assert selected == {
        '"not live and not spark" --ignore=tests/live',
        "spark $(SPARK)",
        '"live and not alone" $(LIVE)',
        '"live and alone" $(LIVE)',
    }
