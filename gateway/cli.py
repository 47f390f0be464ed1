"""The command ``kafka-gateway``."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gateway import exit_codes, version
from gateway.checks.check import as_json, find_problems, find_warnings, plan, plan_rows
from gateway.checks.cluster import ClusterFindings, ask_clusters, found_json
from gateway.checks.peer_findings import PeerFindings
from gateway.checks.peers import ask_peers
from gateway.commands import acls, configs, explain, fleet, page_password, tree
from gateway.commands.actions import add_client_command
from gateway.commands.catalog import command as catalog
from gateway.commands.groups import adopt as adopt_group
from gateway.commands.output import table
from gateway.commands.topics import command as topics
from gateway.config.errors import ConfigError
from gateway.config.models import Config
from gateway.config_file.loading import load_config, with_lines
from gateway.policies.schema import schema_text
from gateway.processes.logs import set_up_logging
from gateway.processes.supervisor import StartError, run_supervisor


class _Parser(argparse.ArgumentParser):
    """A parser, of a subcommand too, that reports unknown flags with its own usage."""

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def parse_known_args(  # type: ignore[override]
        self,
        args: Sequence[str] | None = None,
        namespace: argparse.Namespace | None = None,
    ) -> tuple[argparse.Namespace, list[str]]:
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


_EXAMPLES = """\
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status. Errors go to standard error, a line each."""
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
        # The reader has closed the pipe. The interpreter flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return exit_codes.FAILED
    return status


def _check(options: argparse.Namespace) -> int:
    config, path = load_config(options.config), options.config
    found = asyncio.run(ask_clusters(config)) if options.cluster else []
    peers = asyncio.run(ask_peers(config)) if options.peers else None
    problems = find_problems(config)
    warnings = find_warnings(config, of_cluster=options.cluster)
    everything: list[ClusterFindings | PeerFindings] = [*found, *([] if peers is None else [peers])]
    for one in everything:
        problems += one.problems
        warnings += one.warnings
    errors = str(with_lines(path, problems)).splitlines()
    warned = [f"warning: {line}" for line in str(with_lines(path, warnings)).splitlines()]
    if options.json:
        of_peers = {} if peers is None else peers.as_json()
        print(as_json(errors, plan(config), warned, **found_json(found), **of_peers))
    elif not problems:
        print(table(plan_rows(plan(config))))
        for cluster in found:
            print(f"\n{table(cluster.rows())}")
        for rows in [] if peers is None else peers.tables():
            print(f"\n{table(rows)}")
    for line in [*errors, *warned]:
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


def _print_schema(_: argparse.Namespace) -> int:
    print(schema_text(), end="")
    return exit_codes.OK


def _examples(*commands: str) -> str:
    return "".join(["examples:\n", *(f"  kafka-gateway {command}\n" for command in commands)])


def _parser() -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = _Parser(
        prog="kafka-gateway",
        description="A Kafka proxy that gives clients namespaces on an ordinary, flat cluster.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    serve = commands.add_parser(
        "serve",
        help="run the gateway until SIGTERM",
        description="Run the gateway until SIGTERM or SIGINT.",
        epilog=_examples(
            "serve --config gateway.yaml", "serve --config gateway.yaml --log-level debug"
        ),
    )
    serve.add_argument("--config", type=Path, required=True, metavar="FILE", help="YAML file")
    serve.add_argument(
        "--log-level",
        choices=["debug", "info", "warning", "error"],
        default="info",
        help="the least level that is logged to standard error (default: info)",
    )
    serve.set_defaults(run=_serve)
    check = commands.add_parser(
        "check",
        help="check a configuration: resolve its names, bind its ports, read its certificates,"
        " load its policy classes",
        description="Check whether a configuration would work on this machine.",
        epilog=_examples(
            "check gateway.yaml",
            "check gateway.yaml --json",
            "check --cluster gateway.yaml",
            "check --peers gateway.yaml",
        ),
    )
    check.add_argument("config", type=Path, metavar="FILE", help="YAML file")
    check.add_argument("--json", action="store_true", help="print JSON")
    check.add_argument(
        "--cluster",
        action="store_true",
        help="query the cluster, too: rights there, the catalog, topics; nothing is changed",
    )
    check.add_argument(
        "--peers",
        action="store_true",
        help="ask the gateways in `tree`, too, and compare their mounts and listeners with the"
        " file; nothing is changed",
    )
    check.set_defaults(run=_check)
    for command in (topics.COMMAND, configs.COMMAND, acls.COMMAND, adopt_group.COMMAND):
        add_client_command(commands, command)
    catalog.add_parser(commands)
    explain.add_parser(commands)
    tree.add_parser(commands)
    fleet.add_parser(commands)
    page_password.add_parser(commands)
    policies = commands.add_parser(
        "policies",
        help="the JSON Schema of the policies in a configuration",
        description="Help with writing policies; connects to nothing.",
        epilog=_examples("policies schema > policies.schema.json"),
    )
    schema = policies.add_subparsers(dest="action", required=True, metavar="ACTION").add_parser(
        "schema",
        help="print the JSON Schema of `policies:`",
        description="Print the JSON Schema of a configuration's key `policies`.",
        epilog=_examples("policies schema > policies.schema.json"),
    )
    schema.set_defaults(run=_print_schema)
    return parser
