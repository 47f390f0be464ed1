"""gateway.processes.logs: one line an event."""

from __future__ import annotations

import io
import logging
import re
import warnings
from collections.abc import Iterator

import pytest

from gateway.processes.logs import LineFormatter, set_up_logging


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, as it was afterwards."""
    logger = logging.getLogger()
    handlers, level = logger.handlers[:], logger.level
    yield logger
    logging.captureWarnings(capture=False)
    logger.handlers[:] = handlers
    logger.setLevel(level)


def test_a_line(root: logging.Logger) -> None:
    stream = io.StringIO()
    set_up_logging(3, stream=stream)
    logging.getLogger("gateway.processes.server").warning("%s closed", "10.0.0.1:5")
    time, _, rest = stream.getvalue().partition(" ")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time)
    assert rest == "WARNING worker=3 gateway.processes.server 10.0.0.1:5 closed\n"


def test_the_supervisor_is_no_worker(root: logging.Logger) -> None:
    stream = io.StringIO()
    set_up_logging(stream=stream)
    root.info("hello")
    assert " INFO worker=- root hello\n" in stream.getvalue()


def test_the_level(root: logging.Logger) -> None:
    stream = io.StringIO()
    set_up_logging(0, logging.WARNING, stream)
    root.info("hello")
    assert stream.getvalue() == ""


def test_nothing_starts_a_new_line(root: logging.Logger) -> None:
    stream = io.StringIO()
    set_up_logging(0, stream=stream)
    try:
        raise ValueError("a\nb")
    except ValueError:
        root.exception("client %r said %s", "x\x1b[2J", "y\r\n2026 INFO forged\u2028")
    text = stream.getvalue()
    assert text.count("\n") == 1
    assert "\r" not in text
    assert "\x1b" not in text
    assert "\u2028" not in text
    assert r"y\r\n2026 INFO forged\u2028\nTraceback" in text
    assert "ValueError: a\\nb" in text


def test_warnings_are_logged(root: logging.Logger) -> None:
    stream = io.StringIO()
    set_up_logging(0, stream=stream)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old thing", DeprecationWarning, stacklevel=1)
    assert "py.warnings" in stream.getvalue()


def test_stacks_are_folded_too() -> None:
    record = logging.makeLogRecord({"msg": "m", "stack_info": "Stack:\n  a"})
    assert LineFormatter("0").format(record).endswith(r"m\nStack:\n  a")
