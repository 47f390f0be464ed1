"""gateway.processes.logs: one line for each event."""

from __future__ import annotations

import io
import json
import logging
import re
import warnings

import pytest

from gateway.log_details import details
from gateway.processes.logs import LineFormatter, set_up_logging
from gateway.processes.worker_process import worker_command


@pytest.fixture
def root() -> logging.Logger:
    """The root logger."""
    return logging.getLogger()


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


def test_a_line_of_json(root: logging.Logger) -> None:
    stream = io.StringIO()
    set_up_logging(3, stream=stream, form="json")
    try:
        raise ValueError("a\nb")
    except ValueError:
        root.exception("%s\n%s", "10.0.0.1:5", "x\x1b", extra=details(client_id="c", code=29))
    text = stream.getvalue()
    assert text.count("\n") == 1
    line = json.loads(text)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
    assert line.pop("traceback").endswith("ValueError: a\nb")
    assert line == {
        "level": "ERROR",
        "worker": 3,
        "logger": "root",
        "message": "10.0.0.1:5\nx\x1b",
        "client_id": "c",
        "code": 29,
    }


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_worker_logs_as_its_supervisor(root: logging.Logger, form: str) -> None:
    set_up_logging(form=form)
    assert f"--log-format={form}" in worker_command(0, 7)
