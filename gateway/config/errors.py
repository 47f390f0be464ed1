"""Errors in a configuration: a line each, with the next step."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

Key: TypeAlias = tuple[str | int, ...]
"""The path of a value: names of keys and indices of list items, outermost first."""

_MAX_SHOWN = 60


class Problem(NamedTuple):
    """One mistake. ``text`` is ``what is wrong; what to do``, ``line`` 0 if it is not known."""

    key: Key
    text: str
    line: int = 0


class ConfigError(Exception):
    """A file that is rejected. Its text has a line for each problem, in the file's order."""

    def __init__(self, path: Path, problems: Sequence[Problem]) -> None:
        self.path = path
        self.problems = sorted(dict.fromkeys(problems), key=lambda problem: problem.line)
        super().__init__("\n".join(map(self._told, self.problems)))

    def _told(self, problem: Problem) -> str:
        where = f"{self.path}:{problem.line}" if problem.line else str(self.path)
        key = key_text(problem.key)
        return f"{where}: {key}: {problem.text}" if key else f"{where}: {problem.text}"


def key_text(key: Key) -> str:
    """A key as people write it: ``listeners[0].port``."""
    text = ""
    for part in key:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return text


def shown(value: object) -> str:
    """A value as it stands in YAML, cut where it is long."""
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
    """The known key that ``name`` was most likely meant to be."""
    plain = {_plain(key): key for key in known}
    near = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=0.6)
    return plain[near[0]] if near else None


def _plain(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")
