"""The parsers of subcommands: their flags, examples and exit statuses. Imports argparse alone."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

_EXIT_STATUS: Final = """
exit status:
   0  done
   1  rejected, or some of it failed; standard error says what, and what to do next
   2  the command line cannot be understood
"""
CLIENT_STATUS: Final = f"""{_EXIT_STATUS}\
  69  no gateway responds at that address, or not in time
"""
OPERATOR_STATUS: Final = f"""{_EXIT_STATUS}\
  69  the cluster, or its catalog, does not respond
  78  the configuration, or the file to import, is not valid
"""


class Flag(NamedTuple):
    """A flag of a command: it takes a value if it has a ``metavar``, else it is a switch.
    ``options`` are further ones of ``add_argument``."""

    name: str
    metavar: str
    help: str
    options: Mapping[str, Any] = {}


def add_flags(parser: argparse.ArgumentParser, flags: Sequence[Flag]) -> None:
    """Add flags to a command's parser."""
    for flag in flags:
        kind = {"metavar": flag.metavar} if flag.metavar else {"action": "store_true"}
        parser.add_argument(flag.name, help=flag.help, **{**kind, **flag.options})


def examples(*commands: str) -> str:
    """The epilog of a parser with these examples, which start behind ``kafka-gateway``."""
    return "".join(["examples:\n", *(f"  kafka-gateway {command}\n" for command in commands)])


def fill_operator_parser(
    parser: argparse.ArgumentParser,
    flags: Sequence[Flag],
    run: Callable[[argparse.Namespace], int],
    *,
    description: str,
    examples: str,
) -> None:
    """Fill the parser of a subcommand that reads a configuration; ``run`` returns the exit
    status."""
    parser.description = description
    parser.epilog = examples + OPERATOR_STATUS
    parser.allow_abbrev = False
    add_flags(parser, flags)
    parser.set_defaults(run=run)
