"""Failures of commands: exceptions, the outcome for each item, and the sentences about both."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TextIO

from gateway import exit_codes
from gateway.foreign_text import printable

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
_HINT: Final = re.compile(r"kafka-gateway (topics|configs|acls|adopt) (?=--)")

_OPERATOR_HINT: Final = re.compile(r"kafka-gateway (?:catalog [a-z]+|explain|fleet|serve|tree)\b")


class CommandError(Exception):
    """The command cannot do the operation that was requested; each line says the
    problem and the next step.

    ``status`` is the exit status of the command.
    """

    status = exit_codes.FAILED


class UsageError(CommandError):
    """Flags that do not go together, or a value that cannot be read."""

    status = exit_codes.USAGE


class Unavailable(CommandError):
    """No server responds at the given addresses in time."""

    status = exit_codes.UNAVAILABLE


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome for a named item. If ``code`` is 0, it is done; ``error`` is the
    code's Kafka name. ``repeated``: an earlier attempt may have been carried out, though
    its response was lost."""

    name: str
    code: int
    error: str
    message: str
    repeated: bool = False


def rejection(thing: str, done: str, outcome: Outcome, step: str = "") -> str:
    """The sentence about a rejected item, such as ``namespace 'org' was not created: Namespace
    'org' already exists. [TOPIC_ALREADY_EXISTS]; choose another name``. ``step`` is the next step,
    if a better step is known than the error's own."""
    default = _MESSAGES.get(outcome.error, "the gateway gives no reason")
    step = step or _NEXT_STEPS.get(outcome.error, "")
    text = f"{thing} was not {done}: {outcome.message.strip() or default} [{outcome.error}]"
    return f"{text}; {step}" if step else text


def with_address(text: str, options: argparse.Namespace) -> str:
    """The text, in which each command gets the address and login, or the configuration, of this
    command, so that the operator can copy it."""
    config = getattr(options, "config", None)
    if config is not None:
        path = shlex.quote(str(config))
        return _OPERATOR_HINT.sub(lambda hint: f"{hint[0]} --config {path}", text)
    servers = getattr(options, "bootstrap_server", None)
    if servers is None:
        return text
    where = "--bootstrap-server " + ",".join(map(str, servers))
    if options.command_config is not None:
        where += f" --command-config {options.command_config}"
    return _HINT.sub(lambda hint: f"{hint[0]}{where} ", text)


def print_error(text: str) -> None:
    """Print each line of a text on standard error, with the command before it, and its next
    step on a line of its own."""
    for line in map(printable, text.splitlines()):
        problem, _, step = line.rpartition("; ")
        start = painted("kafka-gateway:", Colour.RED)
        print(start, problem or step, file=sys.stderr, flush=True)
        if problem:
            print(f"  {painted(step, Colour.BOLD)}", file=sys.stderr, flush=True)


class Colour(Enum):
    """Colours and weights of a text on a terminal, as parameters of ECMA-48's SGR."""

    BOLD = 1
    RED = 31
    YELLOW = 33


def painted(text: str, colour: Colour, stream: TextIO | None = None) -> str:
    """The text in a colour, if ``stream`` (standard error by default) is a terminal with colours
    and the user does not object (NO_COLOR)."""
    shown_on = sys.stderr if stream is None else stream
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb"
    if plain or not shown_on.isatty():
        return text
    return f"\x1b[{colour.value}m{text}\x1b[0m"


def print_failure(text: str) -> None:
    """Print the document of ``--json`` for a command that failed as a whole: the lines of standard
    error, on standard output."""
    from gateway.commands.output import print_json

    print_json({"ok": False, "problems": text.splitlines()})
