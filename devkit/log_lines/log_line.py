"""A line that the gateway logs, with its explanation for docs/operations.md."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_VALUE: Final = re.compile(r"%[.\d]*[a-z]")


class LogLine(NamedTuple):
    """A message of a log call in ``gateway/``, and its meaning for an operator."""

    level: str
    """``info``, ``warning`` and so on; several, separated by commas, if the call chooses."""

    pattern: str
    """The format string of the log call, by which a test compares the two."""

    meaning: str
    """The operator's next step, in Markdown, and the cause, if the line does not show it."""

    at: str = ""
    """The file under ``gateway/`` that logs it, for a pattern that is ``%s`` and nothing else."""

    shown: str = ""
    """The line to show, for a pattern that is ``%s`` and nothing else."""

    @property
    def line(self) -> str:
        """The line in the page, with ``…`` for each value."""
        return self.shown or _VALUE.sub("…", self.pattern)
