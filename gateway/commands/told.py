"""What the commands print: results on standard output, refusals and progress on standard error."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Final, Self

from gateway.commands.answers import Outcome

_NEXT_STEPS: Final[Mapping[str, str]] = {
    "CLUSTER_AUTHORIZATION_FAILED": "ask whoever manages the cluster's permissions",
    "REQUEST_TIMED_OUT": "try again, with a longer --timeout if that helps",
    "TOPIC_ALREADY_EXISTS": "choose another name",
    "TOPIC_AUTHORIZATION_FAILED": "ask whoever manages the topic's permissions",
    "UNKNOWN_TOPIC_OR_PARTITION": (
        'see what there is: kafka-gateway topics --list --namespace "" --recursive'
    ),
    "UNSUPPORTED_VERSION": "see that --bootstrap-server is a listener of kafka-gateway",
}

_MESSAGES: Final[Mapping[str, str]] = {"UNKNOWN_TOPIC_OR_PARTITION": "it does not exist"}
_NO_REASON: Final = "the gateway gives no reason"
_HINT: Final = re.compile(r"kafka-gateway (topics|configs|acls|adopt) (?=--)")


def refusal(thing: str, done: str, outcome: Outcome, step: str = "") -> str:
    """``namespace 'org' was not created: Namespace 'org' already exists. [TOPIC_ALREADY_EXISTS];
    choose another name``. ``step`` is the next step, where there is a better one than the
    error's own."""
    message = outcome.message.strip() or _MESSAGES.get(outcome.error, _NO_REASON)
    step = step or _NEXT_STEPS.get(outcome.error, "")
    return f"{thing} was not {done}: {message} [{outcome.error}]" + (f"; {step}" if step else "")


def addressed(text: str, servers: Iterable[object], login: object = None) -> str:
    """A text whose commands are asked at these addresses, so that they can be copied. ``login``
    is the file of ``--command-config``, if there is one."""
    where = "--bootstrap-server " + ",".join(map(str, servers))
    if login is not None:
        where += f" --command-config {login}"
    return _HINT.sub(lambda hint: f"{hint[0]}{where} ", text)


def say_error(text: str) -> None:
    """Each line of a text on standard error, with the command before it."""
    for line in text.splitlines():
        print(f"kafka-gateway: {line}", file=sys.stderr, flush=True)


def print_json(content: Any) -> None:
    """One JSON document on standard output."""
    print(json.dumps(content, indent=2, ensure_ascii=False))


def table(rows: Sequence[Sequence[str]]) -> str:
    """Rows as left-aligned columns, two blanks apart; a line each."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines)


def counted(number: int, one: str, many: str = "") -> str:
    """``1 topic``, ``2 topics``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shortened(names: Iterable[str], most: int = 10) -> str:
    """The first names, and how many more there are."""
    found = list(names)
    more = len(found) - most
    return ", ".join(found[:most]) + (f" and {more:,} more" if more > 0 else "")


def confirmed(question: str, *, yes: bool) -> bool | None:
    """Whether the user agrees: by ``--yes``, or by an answer on a terminal; None: nobody to ask."""
    if yes:
        return True
    if not sys.stdin.isatty():
        return None
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


INTERVAL = 2.0
"""Seconds until the first line, and between two lines."""


class Progress:
    """``async with Progress("deleting namespace 'org'") as progress: progress.text = ...``

    What is over within ``INTERVAL`` says nothing. ``text`` is how far it is.
    """

    def __init__(self, what: str) -> None:
        self.text = ""
        self._what = what
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._tell())
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

    async def _tell(self) -> None:
        started = asyncio.get_running_loop().time()
        while True:
            await asyncio.sleep(INTERVAL)
            seconds = asyncio.get_running_loop().time() - started
            how_far = f": {self.text}" if self.text else ""
            print(f"{self._what}{how_far} ({seconds:.0f} s so far)", file=sys.stderr, flush=True)
