"""Questions at the terminal, each with a default that Enter takes."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from collections.abc import Callable
from typing import TypeVar

from gateway.commands.errors import CommandError

_Value = TypeVar("_Value")


class Questions:
    """Asks questions. If ``at_terminal`` is False, nothing is asked, and every default is taken."""

    def __init__(self, *, at_terminal: bool) -> None:
        self.at_terminal = at_terminal

    def ask(self, text: str, default: str, read: Callable[[str], _Value]) -> _Value:
        """The value of an answer, or of the default. If ``read`` rejects an answer, with an error
        of a single sentence, the question is asked again.

        Raises CommandError if the input ends.
        """
        if not self.at_terminal:
            return read(default)
        while True:
            shown = f" [{default}]" if default else ""
            print(f"{text}{shown}: ", end="", file=sys.stderr, flush=True)
            line = sys.stdin.readline()
            if not line:
                print(file=sys.stderr)
                raise CommandError("the input has ended; nothing was written")
            try:
                return read(line.strip() or default)
            except (ValueError, ArgumentTypeError, CommandError) as error:
                self.tell(f"{error}")

    def tell(self, text: str) -> None:
        """Print a line on the terminal; does nothing if there is no terminal."""
        if self.at_terminal:
            print(text, file=sys.stderr, flush=True)


def terminal() -> Questions:
    """Questions, if an operator sits at a terminal to read and answer them."""
    return Questions(at_terminal=sys.stdin.isatty() and sys.stderr.isatty())
