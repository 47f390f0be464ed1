"""The parsers of subcommands: their flags, examples and exit statuses. Imports
little more than argparse."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from gateway.commands.parser import Parser
from gateway.files import input_path

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
    """A flag of a command: if it has a ``metavar``, it takes a value, else it is a switch.
    ``options`` are further arguments of ``add_argument``."""

    name: str
    metavar: str
    help: str
    options: Mapping[str, Any] = {}


CONFIG_FLAG: Final = Flag(
    "--config",
    "FILE",
    "the configuration, a YAML file; - is standard input",
    {"type": input_path, "required": True},
)
"""The configuration of a command that also takes another file. Such a command cannot take its
configuration as a bare FILE, because a bare FILE is the other file."""


def add_flags(parser: argparse.ArgumentParser, flags: Sequence[Flag]) -> None:
    """Add flags to a command's parser."""
    for flag in flags:
        kind = {"metavar": flag.metavar} if flag.metavar else {"action": "store_true"}
        parser.add_argument(flag.name, help=flag.help, **{**kind, **flag.options})


def examples(*commands: str) -> str:
    """The epilog of a parser with these examples, which start behind ``kafka-gateway``."""
    return "".join(["examples:\n", *(f"  kafka-gateway {command}\n" for command in commands)])


def take_config(parser: argparse.ArgumentParser) -> None:
    """Let a command take its configuration, as ``--config FILE`` or as ``FILE``."""
    assert isinstance(parser, Parser)
    parser.take_config()


def add_config_flags(parser: argparse.ArgumentParser, flags: Sequence[Flag]) -> None:
    """Add flags to a command's parser, behind the flag for its configuration."""
    if any(not flag.name.startswith("-") for flag in flags):
        add_flags(parser, (CONFIG_FLAG,))
    else:
        take_config(parser)
    add_flags(parser, flags)


def fill_operator_parser(
    parser: argparse.ArgumentParser,
    flags: Sequence[Flag],
    run: Callable[[argparse.Namespace], int],
    *,
    description: str,
    examples: str,
    reads_config: bool = True,
) -> None:
    """Fill the parser of an operator's subcommand; ``run`` returns the exit status.
    ``flags`` does not include the flag for the configuration; if ``reads_config`` is false,
    the command has no such flag."""
    parser.description = description
    parser.epilog = examples + OPERATOR_STATUS
    parser.allow_abbrev = False
    if reads_config:
        add_config_flags(parser, flags)
    else:
        add_flags(parser, flags)
    parser.set_defaults(run=run)
