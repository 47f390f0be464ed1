"""The output of commands: results on standard output, progress and questions on standard error."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Self

from gateway.foreign_text import printable


class Output(NamedTuple):
    """The result of a command: ``content`` is printed with ``--json``, else ``text``, then
    ``notes`` on standard error. ``failed`` makes the exit status 1."""

    content: Mapping[str, object]
    text: str = ""
    notes: Sequence[str] = ()
    failed: bool = False


def print_json(content: Any) -> None:
    """Print a JSON document on standard output."""
    print(json_text(content), flush=True)


def json_text(content: Any) -> str:
    """A JSON document that is safe to print on a terminal: characters that JSON allows in strings,
    but that control a terminal, are escaped too."""
    text = json.dumps(content, indent=2, ensure_ascii=False)
    return "\n".join(
        printable(line, lambda one: json.dumps(one)[1:-1]) for line in text.split("\n")
    )


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as left-aligned columns, two blanks apart. Each row is a line even if a name holds
    control characters, because clients choose the names of groups and users."""
    shown = [tuple(map(printable, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in shown)
    return "\n".join(lines)


def counted(number: int, one: str, many: str = "") -> str:
    """A number with its noun: ``1 topic``, ``2 topics``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shortened(names: Iterable[str], most: int = 10) -> str:
    """The first names, and the number of further names."""
    found = list(names)
    more = len(found) - most
    return ", ".join(found[:most]) + (f" and {more:,} more" if more > 0 else "")


def confirmed(question: str, *, yes: bool) -> bool | None:
    """Whether the user agrees: by ``--yes``, or at the terminal. None if there is no terminal."""
    if yes:
        return True
    if not sys.stdin.isatty():
        return None
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


INTERVAL = 2.0
"""Seconds before the first line of progress, and between two lines."""


class Progress:
    """Prints how far some work is, on standard error; prints nothing if it
    ends within ``INTERVAL``.

        async with Progress("deleting namespace 'org'") as progress:
            progress.text = "3 topics left"
    """

    def __init__(self, work: str) -> None:
        self.text = ""
        self._work = work
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._report())
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _report(self) -> None:
        started = asyncio.get_running_loop().time()
        while True:
            await asyncio.sleep(INTERVAL)
            seconds = asyncio.get_running_loop().time() - started
            how_far = f": {self.text}" if self.text else ""
            print(f"{self._work}{how_far} ({seconds:.0f} s so far)", file=sys.stderr, flush=True)
