"""One line that the gateway logs, as docs/operations.md explains it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_VALUE: Final = re.compile(r"%[.\d]*[a-z]")


class LogLine(NamedTuple):
    """A message of a log call in ``gateway/``, and what it means to an operator."""

    level: str
    """``info``, ``warning`` and so on; several with commas between them where the call chooses."""

    pattern: str
    """The format string of the log call, which is how the two are compared."""

    meaning: str
    """What to do, in Markdown, and why it is logged if that does not follow from the line."""

    at: str = ""
    """The file under ``gateway/`` that logs it, for a pattern that is ``%s`` and nothing else."""

    shown: str = ""
    """The line to show where the pattern is ``%s`` and nothing else."""

    @property
    def line(self) -> str:
        """The line with ``…`` for each value, as the page shows it."""
        return self.shown or _VALUE.sub("…", self.pattern)
