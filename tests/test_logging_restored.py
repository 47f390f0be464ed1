"""The logging set up by a test ends with it (tests/conftest.py)."""

from __future__ import annotations

import io
import logging

import pytest

from gateway.processes.logs import set_up_logging
from tests.conftest import pytest_runtest_call


def test_the_next_test_does_not_meet_what_a_test_has_set_up() -> None:
    ours = io.StringIO()
    of_a_test = pytest_runtest_call()
    next(of_a_test)
    set_up_logging(level=logging.DEBUG, stream=ours)
    logging.getLogger("gateway").debug("here")
    said = ours.getvalue()
    assert "here" in said
    with pytest.raises(StopIteration):
        next(of_a_test)
    logging.getLogger("gateway").warning("elsewhere")
    assert ours.getvalue() == said
    assert logging.getLogger().level == logging.WARNING
