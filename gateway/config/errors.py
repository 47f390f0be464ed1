"""Errors in a configuration: a line each, with the next step."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from gateway.foreign_text import one_line

Key: TypeAlias = tuple[str | int, ...]
"""The path of a value: names of keys and indices of list items, outermost first."""

MAX_PROBLEMS = 200
"""Problems of a file that are reported at most: nobody reads more, and finding the words takes
time."""

_MAX_SHOWN = 60
_MAX_LINE = 2_000
"""Characters of a line: a value that is shown may have a million."""


_MAX_NAME = 100
_MAX_KNOWN = 200
"""Characters of a name, and the number of names, that are compared to find the name that was meant;
each comparison takes 20 us."""


class Problem(NamedTuple):
    """A mistake in a configuration."""

    key: Key
    # ``WHAT IS WRONG; WHAT TO DO``
    text: str
    # 0 if the line is not known.
    line: int = 0


class ConfigError(Exception):
    """A file is rejected. The text has a line for each problem, in the file's order. ``log_format``
    is the format in which the file wants such lines to be logged."""

    def __init__(
        self, path: Path, problems: Sequence[Problem], *, log_format: str = "text"
    ) -> None:
        self.path = path
        self.log_format = log_format
        self.problems = sorted(dict.fromkeys(problems), key=lambda problem: problem.line)
        lines = [*map(self._told, self.problems[:MAX_PROBLEMS])]
        if len(self.problems) > MAX_PROBLEMS:
            more = len(self.problems) - MAX_PROBLEMS
            lines.append(f"{self.path}: {more:,} more problems; correct these first")
        super().__init__("\n".join(lines))

    def _told(self, problem: Problem) -> str:
        where = f"{self.path}:{problem.line}" if problem.line else str(self.path)
        key = key_text(problem.key)
        told = f"{where}: {key}: {problem.text}" if key else f"{where}: {problem.text}"
        line = one_line(told)
        return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}..."


def key_text(key: Key) -> str:
    """A key as it is written in messages: ``listeners[0].port``."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def shown(value: object) -> str:
    """A value as it is written in YAML, cut if it is long."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "keys and values"
    if isinstance(value, tuple):
        return "a list"
    text = str(value) if isinstance(value, int | float) else f"'{value}'"
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def nearest(name: str, known: Sequence[str]) -> str | None:
    """The known key that ``name`` was most likely meant to be, or None."""
    if len(name) > _MAX_NAME:
        return None
    plain = {_plain(key): key for key in known[:_MAX_KNOWN] if len(key) <= _MAX_NAME}
    near = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=0.6)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")
