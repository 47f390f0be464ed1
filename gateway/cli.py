"""The command ``kafka-gateway``: its subcommands, each of which is imported when it is used."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from traceback import extract_tb
from typing import Any, Final, NamedTuple

from gateway import exit_codes, version
from gateway.commands.errors import print_failure
from gateway.commands.parser import Parser
from gateway.config.errors import ConfigError
from gateway.foreign_text import raised_text

_PLACES: Final = 5
"""Lines of code that the report of a defect names, the innermost first."""


class _Subcommand(NamedTuple):
    """A subcommand: ``module`` has a function ``fill`` for its parser, whose options' ``run``
    returns the exit status."""

    name: str
    help: str
    module: str


_SUBCOMMANDS: Final = (
    _Subcommand(
        "init",
        "write a commented configuration for brokers that are there",
        "gateway.commands.init.command",
    ),
    _Subcommand("serve", "run the gateway until SIGTERM", "gateway.processes.command"),
    _Subcommand(
        "check",
        "check a configuration: resolve its names, bind its ports, read its certificates,"
        " load its classes, try its directories",
        "gateway.checks.command",
    ),
    _Subcommand(
        "topics",
        "create, list, describe, delete, move, adopt and link namespaces and topics (KIP-37)",
        "gateway.commands.topics.command",
    ),
    _Subcommand(
        "configs",
        "describe and alter the configs of namespaces and topics (KIP-37)",
        "gateway.commands.configs",
    ),
    _Subcommand(
        "acls",
        "list, add and remove ACLs of namespaces, topics, groups and the cluster",
        "gateway.commands.acls",
    ),
    _Subcommand(
        "adopt",
        "carry the committed offsets of a group into a home namespace, and back",
        "gateway.commands.groups.adopt",
    ),
    _Subcommand(
        "catalog",
        "export, import and upgrade what the gateways of a cluster share",
        "gateway.commands.catalog.command",
    ),
    _Subcommand(
        "explain",
        "explain a name: where its configs and policies are set, and who may do what with it",
        "gateway.commands.explain",
    ),
    _Subcommand(
        "trace",
        "show requests as they pass: what is decided of each, by which rule, and how long it takes",
        "gateway.commands.trace",
    ),
    _Subcommand(
        "tree",
        "draw clusters, directories and namespaces, with their topics, sizes and state",
        "gateway.commands.tree",
    ),
    _Subcommand(
        "fleet",
        "list the gateways of a cluster, and which of them are up",
        "gateway.commands.fleet",
    ),
    _Subcommand(
        "leave",
        "plan how clients go on at the brokers, without a gateway",
        "gateway.commands.leave.command",
    ),
    _Subcommand(
        "policies",
        "the JSON Schema of the policies in a configuration",
        "gateway.commands.policy_schema",
    ),
    _Subcommand(
        "page-password",
        "print a line for the file metrics.auth.passwords",
        "gateway.commands.page_password",
    ),
    _Subcommand(
        "completion",
        "print a script for bash, zsh or fish that completes commands and flags",
        "gateway.commands.completion",
    ),
    _Subcommand(
        "version", "the version, and whether the compiled form runs", "gateway.commands.version"
    ),
)

_EXAMPLES: Final = """\
examples:
  kafka-gateway check config/quickstart.yaml
  kafka-gateway check config/quickstart.yaml --json
  kafka-gateway serve --config config/quickstart.yaml
  kafka-gateway serve --config config/quickstart.yaml --dry-run
  kafka-gateway topics --help

exit status:
   0  all is well; serve: stopped by SIGTERM or SIGINT, and every worker ended by itself
   1  rejected, or failed on the way; check: the configuration would not work on this machine;
      serve: a worker did not end cleanly
   2  the command line cannot be understood
  69  no gateway, or no cluster, responds
  78  the configuration is not valid, or an address in it cannot be bound; serve: it cannot start
 130  interrupted (Ctrl-C)
"""


class _Version(argparse.Action):
    """``--version``, because argparse's own action would read the version for every command."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"{parser.prog} {version()}")
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status. Errors go to standard error, a line each."""
    for stream in (sys.stdout, sys.stderr):
        # Characters that the terminal's encoding lacks are shown as escapes.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    words = sys.argv[1:] if arguments is None else arguments
    options = parser().parse_args(words)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        status = run(options)
        sys.stdout.flush()
    except ConfigError as error:
        _say(str(error), options)
        return exit_codes.CONFIG
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe. Redirected: the interpreter flushes again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.FAILED
    except OSError as error:
        _say(f"kafka-gateway: {raised_text(error)}", options)
        return exit_codes.FAILED
    # No input of an operator may get here: an exception that does is a defect, reported in a line.
    except Exception as error:  # noqa: BLE001
        _say(f"kafka-gateway: {_defect(error)}", options)
        return exit_codes.FAILED
    return status


def _say(text: str, options: argparse.Namespace) -> None:
    """Print why a command failed, also as JSON if ``--json`` was given. A command that sets
    ``options.say`` prints it in its own way."""
    say: Callable[[str], None] | None = getattr(options, "say", None)
    if say is not None:
        say(text)
        return
    print(text, file=sys.stderr)
    if getattr(options, "json", False):
        print_failure(text)


def _defect(error: Exception) -> str:
    places = [f"{Path(one.filename).name}:{one.lineno}" for one in extract_tb(error.__traceback__)]
    where = " < ".join(places[: -_PLACES - 1 : -1])
    return f"internal error: {raised_text(error)} ({where}); this is a defect, please report it"


def parser() -> Parser:
    """The parser of the command; the parsers of its subcommands are filled when they are used."""
    made = Parser(
        prog="kafka-gateway",
        description="A Kafka proxy that gives clients namespaces on an ordinary, flat cluster.",
        epilog=_EXAMPLES,
    )
    made.add_argument("--version", action=_Version, help="show program's version number and exit")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for one in _SUBCOMMANDS:
        commands.add_parser(one.name, help=one.help, module=one.module)
    made.set_defaults(parser=made)
    return made
