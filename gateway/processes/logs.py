"""Logging: one line an event, ``time level worker=K logger message``, on standard error.

Nothing that a client sent can start a new line or move the cursor: control characters are
written as escapes, a traceback is folded into its line.
"""

from __future__ import annotations

import logging
import sys
import time
from typing import TextIO

from gateway.foreign_text import one_line

SUPERVISOR = "-"
"""Replaces the worker's number in the supervisor's lines."""


class LineFormatter(logging.Formatter):
    """``2026-01-31T12:00:00.123Z INFO worker=0 gateway.processes.server message``, in UTC."""

    def __init__(self, worker: str) -> None:
        super().__init__()
        self._worker = worker

    def format(self, record: logging.LogRecord) -> str:
        """One line, whatever is in the record."""
        text = record.getMessage()
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        if record.stack_info:
            text = f"{text}\n{record.stack_info}"
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        return (
            f"{seconds}.{int(record.msecs):03d}Z {record.levelname} worker={self._worker} "
            f"{record.name} {one_line(text)}"
        )


def set_up_logging(
    worker: int | None = None, level: int = logging.INFO, stream: TextIO | None = None
) -> None:
    """Log to ``stream``, by default standard error, as a worker or (None) as the supervisor."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(LineFormatter(SUPERVISOR if worker is None else str(worker)))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    logging.captureWarnings(capture=True)
