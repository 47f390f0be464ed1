"""The command ``kafka-gateway``."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from gateway import exit_codes, version
from gateway.checks.check import as_json, find_problems, find_warnings, plan, table
from gateway.checks.cluster import look
from gateway.commands import configs, explain, policies
from gateway.commands.acls import command as acls
from gateway.commands.catalog import command as catalog
from gateway.commands.groups import adopt as adopt_group
from gateway.commands.told import table as told_table
from gateway.commands.topics import command as topics
from gateway.config.errors import ConfigError
from gateway.config.models import Config
from gateway.config_file.loading import load_config, with_lines
from gateway.processes.logs import set_up_logging
from gateway.processes.supervisor import StartError, run_supervisor


class _Parser(argparse.ArgumentParser):
    """Of a subcommand's flags it does not know, it says so itself, with its own usage."""

    def parse_known_args(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        namespace: argparse.Namespace | None = None,
    ) -> tuple[argparse.Namespace, list[str]]:
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


_SERVE_EXAMPLES = """\
examples:
  kafka-gateway serve --config gateway.yaml
  kafka-gateway serve --config gateway.yaml --log-level debug
"""

_CHECK_EXAMPLES = """\
examples:
  kafka-gateway check gateway.yaml
  kafka-gateway check gateway.yaml --json
  kafka-gateway check --cluster gateway.yaml
"""

_EXAMPLES = """\
examples:
  kafka-gateway check config/quickstart.yaml
  kafka-gateway check config/quickstart.yaml --json
  kafka-gateway serve --config config/quickstart.yaml
  kafka-gateway topics --help

exit status:
   0  all is well; serve: stopped by SIGTERM or SIGINT, every worker ended by itself
   1  refused, or failed on the way; check: it would not work on this machine; serve: a worker
      did not end cleanly
   2  the command line cannot be understood
  69  nobody answers: no gateway, or no cluster
  78  the configuration is refused, or an address in it cannot be bound
 130  interrupted (Ctrl-C)
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status. What is wrong goes to standard error, a line each."""
    options = _parser().parse_args(arguments)
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
        # Whoever reads has seen enough. The interpreter flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.FAILED
    return status


def _check(options: argparse.Namespace) -> int:
    config, path = load_config(options.config), options.config
    found = asyncio.run(look(config)) if options.cluster else None
    problems = find_problems(config)
    warnings = find_warnings(config, of_cluster=found is not None)
    if found is not None:
        problems += found.problems
        warnings += found.warnings
    told = str(with_lines(path, problems)).splitlines()
    warned = [f"warning: {line}" for line in str(with_lines(path, warnings)).splitlines()]
    if options.json:
        cluster = None if found is None else found.as_json()
        print(as_json(problems, told, plan(config), warned, cluster), end="")
    elif not problems:
        print(table(plan(config)), end="")
        if found is not None:
            print(f"\n{told_table(found.rows())}")
    for line in [*told, *warned]:
        print(line, file=sys.stderr)
    return exit_codes.FAILED if problems else exit_codes.OK


def _serve(options: argparse.Namespace) -> int:
    config: Config = load_config(options.config)
    set_up_logging(level=logging.getLevelNamesMapping()[options.log_level.upper()])
    try:
        return run_supervisor(config, options.config)
    except StartError as error:
        for line in str(error).splitlines():
            print(f"kafka-gateway: {line}", file=sys.stderr)
        return exit_codes.CONFIG


def _parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = _Parser(
        prog="kafka-gateway",
        description="A Kafka proxy that gives clients namespaces on an ordinary, flat cluster.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser(
        "serve",
        help="run the gateway until SIGTERM",
        description="Run the gateway until SIGTERM or SIGINT.",
        epilog=_SERVE_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    serve.add_argument("--config", type=Path, required=True, metavar="FILE", help="YAML file")
    serve.add_argument(
        "--log-level",
        choices=["debug", "info", "warning", "error"],
        default="info",
        help="what is logged to standard error (default: info)",
    )
    serve.set_defaults(run=_serve)
    check = commands.add_parser(
        "check",
        help="resolve every name of a configuration, bind every port, read every certificate,"
        " load every policy class",
        description="Whether a configuration would work on this machine.",
        epilog=_CHECK_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check.add_argument("config", type=Path, metavar="FILE", help="YAML file")
    check.add_argument("--json", action="store_true", help="print JSON")
    check.add_argument(
        "--cluster",
        action="store_true",
        help="ask the cluster, too: rights there, the catalog, topics; nothing is changed",
    )
    check.set_defaults(run=_check)
    topics.add_parser(commands)
    configs.add_parser(commands)
    acls.add_parser(commands)
    adopt_group.add_parser(commands)
    catalog.add_parser(commands)
    explain.add_parser(commands)
    policies.add_parser(commands)
    return parser
