"""devkit.waiting."""

from __future__ import annotations

import io
import re
import threading

import pytest

from devkit import waiting
from devkit.waiting import DeadlineError, progress, wait_until


def test_wait_until_returns_what_the_condition_answers() -> None:
    answers = iter([0, 0, 7])
    assert wait_until(lambda: next(answers), "seven", 5, poll=0) == 7


def test_wait_until_says_what_it_waited_for() -> None:
    with pytest.raises(DeadlineError, match=r"the moon: not within 0\.01 s"):
        wait_until(lambda: False, "the moon", 0.01, poll=0.001)


def test_a_long_step_tells_of_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "QUIET_SECONDS", 0.01)
    stream = io.StringIO()
    with progress("fetching", stream) as state:
        state.detail = "3 of 4"
        wait_until(lambda: "3 of 4" in stream.getvalue(), "a line", 120)
    assert re.search(r"^  fetching: 3 of 4 \(\d+ s\)$", stream.getvalue(), re.MULTILINE)


def test_a_short_step_says_nothing_and_leaves_no_thread() -> None:
    stream = io.StringIO()
    before = {*threading.enumerate()}
    with progress("fetching", stream):
        pass
    assert stream.getvalue() == ""
    assert {*threading.enumerate()} <= before  # a thread of another test may end meanwhile
