"""The command ``kafka-gateway``: its subcommands, each of which is imported when it is chosen."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final, NamedTuple

from gateway import exit_codes, version
from gateway.config.errors import ConfigError


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
        " load its policy classes",
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
        "version", "the version, and whether the compiled form runs", "gateway.commands.version"
    ),
)

_EXAMPLES: Final = """\
examples:
  kafka-gateway check config/quickstart.yaml
  kafka-gateway check config/quickstart.yaml --json
  kafka-gateway serve --config config/quickstart.yaml
  kafka-gateway topics --help

exit status:
   0  all is well; serve: stopped by SIGTERM or SIGINT, and every worker ended by itself
   1  rejected, or failed on the way; check: the configuration would not work on this machine;
      serve: a worker did not end cleanly
   2  the command line cannot be understood
  69  no gateway, or no cluster, responds
  78  the configuration is not valid, or an address in it cannot be bound
 130  interrupted (Ctrl-C)
"""


class Parser(argparse.ArgumentParser):
    """A parser, of a subcommand too, that reports unknown flags with its own usage.

    One with a ``module`` is filled by that module's ``fill``, imported when the parser is used.
    """

    def __init__(self, module: str | None = None, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)
        self._module = module

    def filled(self) -> Parser:
        """This parser with its description and flags."""
        module, self._module = self._module, None
        if module is not None:
            import_module(module).fill(self)
        return self

    def parse_known_args(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        namespace: argparse.Namespace | None = None,
    ) -> tuple[argparse.Namespace, list[str]]:
        self.filled()
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


class _Version(argparse.Action):
    """``--version``: argparse's own action takes the text before it is known to be needed."""

    def __init__(self, option_strings: Sequence[str], dest: str, **options: Any) -> None:
        super().__init__(option_strings, argparse.SUPPRESS, nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"{parser.prog} {version()}")
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status. Errors go to standard error, a line each."""
    options = parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        status = run(options)
        sys.stdout.flush()
    except ConfigError as error:
        print(error, file=sys.stderr)
        return exit_codes.CONFIG
    except KeyboardInterrupt:
        return exit_codes.INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe. The interpreter flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.FAILED
    return status


def parser() -> Parser:
    """The parser of the command; those of its subcommands are filled when they are used."""
    made = Parser(
        prog="kafka-gateway",
        description="A Kafka proxy that gives clients namespaces on an ordinary, flat cluster.",
        epilog=_EXAMPLES,
    )
    made.add_argument("--version", action=_Version, help="show program's version number and exit")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for one in _SUBCOMMANDS:
        commands.add_parser(one.name, help=one.help, module=one.module)
    return made
