"""The logging set up by a test ends with it (tests/conftest.py): each test here runs after the test
above it."""

from __future__ import annotations

import io
import logging

from gateway.processes.logs import set_up_logging

OURS = io.StringIO()


def test_a_test_sets_logging_up() -> None:
    set_up_logging(level=logging.DEBUG, stream=OURS)
    logging.getLogger("gateway").debug("here")
    assert "here" in OURS.getvalue()


def test_the_next_does_not_meet_it() -> None:
    said = OURS.getvalue()
    logging.getLogger("gateway").warning("elsewhere")
    assert OURS.getvalue() == said
    assert logging.getLogger().level == logging.WARNING
