"""Logging to standard error: a line per event, ``time level worker=K logger message``, or a JSON
object.

No text of a client can start a new line or move the cursor: control characters are written as
escapes, and a traceback is folded into its line.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Callable, Mapping
from typing import Final, TextIO

from gateway.foreign_text import one_line
from gateway.log_details import details_of

SUPERVISOR = "-"
"""Replaces the worker's number in the supervisor's lines."""


class LineFormatter(logging.Formatter):
    """``2026-01-31T12:00:00.123Z INFO worker=0 gateway.processes.server message``, in UTC."""

    def __init__(self, worker: str) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        """The record on a line, whatever characters it has."""
        text = record.getMessage()
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        if record.stack_info:
            text = f"{text}\n{record.stack_info}"
        return (
            f"{_time(record)} {record.levelname} worker={self._worker} "
            f"{record.name} {one_line(text)}"
        )


class JsonFormatter(logging.Formatter):
    """``{"time": ..., "level": ..., "worker": ..., "logger": ..., "message": ...}``, and the names
    that the line concerns (``details``); a traceback is in ``traceback``. ``worker`` is null in the
    supervisor's lines."""

    def __init__(self, worker: int | None) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        """The record as an object on a line, whatever characters it has."""
        found: dict[str, object] = {
            "time": _time(record),
            "level": record.levelname,
            "worker": self._worker,
            "logger": record.name,
            "message": record.getMessage(),
            **details_of(record),
        }
        if record.exc_info:
            found["traceback"] = self.formatException(record.exc_info)
        return json.dumps(found, default=str)


JSON: Final = "json"
"""The format in which each line is a JSON object."""

FORMATS: Mapping[str, Callable[[int | None], logging.Formatter]] = {
    "text": lambda worker: LineFormatter(SUPERVISOR if worker is None else str(worker)),
    JSON: JsonFormatter,
}


def set_up_logging(
    worker: int | None = None,
    level: int = logging.INFO,
    stream: TextIO | None = None,
    form: str = "text",
) -> None:
    """Log to ``stream``, by default standard error, as a worker or (None) as the supervisor, in the
    format ``form`` of ``FORMATS``."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(FORMATS[form](worker))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(capture=True)


def log_format() -> str:
    """The format that this process logs in."""
    formatters = [handler.formatter for handler in logging.getLogger().handlers]
    return JSON if any(isinstance(one, JsonFormatter) for one in formatters) else "text"


def _time(record: logging.LogRecord) -> str:
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
    return f"{seconds}.{int(record.msecs):03d}Z"
