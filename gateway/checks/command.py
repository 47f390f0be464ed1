"""``kafka-gateway check``: whether a configuration would work on this machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gateway import exit_codes
from gateway.checks.check import as_json, find_problems, find_warnings, plan, plan_rows
from gateway.checks.running import RunningGateway, running_gateway
from gateway.commands.errors import Colour, painted, with_address
from gateway.commands.flags import examples, take_config
from gateway.commands.output import table
from gateway.config.errors import Problem
from gateway.config.models import Config
from gateway.config_file.loading import load_file


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand; its options' ``run`` returns the exit status."""
    parser.description = (
        "Check whether a configuration would work on this machine: what it accepts starts. Files of"
        " up to 2 MiB; whatever is in one, each problem is a line FILE:LINE: key: problem."
    )
    parser.epilog = examples(
        "check gateway.yaml",
        "check gateway.yaml --json",
        "check --cluster gateway.yaml",
        "check --cluster --dry-run gateway.yaml",
        "check --peers gateway.yaml",
        "check --no-bind gateway.yaml",
        "check -",
    )
    take_config(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--cluster",
        action="store_true",
        help="query the cluster, too: rights there, the catalog, topics; nothing is changed",
    )
    parser.add_argument(
        "--peers",
        action="store_true",
        help="ask the gateways in `tree`, too, and compare their mounts and listeners with the"
        " file; nothing is changed",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="with --cluster: list who could not do with this file what they do today, by the"
        " traffic log and by groups with members; nothing is changed",
    )
    parser.add_argument(
        "--no-bind",
        action="store_true",
        help="try no port: for the file of another machine. A gateway that runs from this file"
        " needs no such flag: its ports count as free",
    )
    parser.set_defaults(run=_check)


class _Findings(NamedTuple):
    """The findings at other machines: at a cluster, or at the gateways of the tree."""

    problems: Sequence[Problem]
    warnings: Sequence[Problem]
    # Makes the tables for the terminal.
    tables: Callable[[], Sequence[Sequence[Sequence[str]]]]


def _check(options: argparse.Namespace) -> int:
    if options.dry_run and not options.cluster:
        print(
            "kafka-gateway: --dry-run goes with --cluster: it compares the file with what is"
            " done at the cluster; add --cluster",
            file=sys.stderr,
        )
        return exit_codes.USAGE
    file = load_file(options.config)
    config = file.config
    found: list[_Findings] = []
    content: dict[str, object] = {}
    for findings, their_content in _asked(config, options):
        found += findings
        content |= their_content
    running = None if options.no_bind else running_gateway(config, options.config)
    problems = find_problems(config, running, bind=not options.no_bind)
    problems += [one for each in found for one in each.problems]
    warnings = find_warnings(config, of_cluster=options.cluster)
    warnings += [one for each in found for one in each.warnings]
    errors = with_address(str(file.error(problems)), options).splitlines()
    lines = with_address(str(file.error(warnings)), options).splitlines()
    warned = [f"warning: {line}" for line in lines]
    if running is not None:
        content["running"] = {"gateway_id": running.gateway_id, "pid": running.pid}
    if options.json:
        print(as_json(errors, plan(config), warned, **content))
    elif not problems:
        print(table(plan_rows(plan(config))))
        for rows in (rows for each in found for rows in each.tables()):
            print(f"\n{table(rows)}")
        if running is not None:
            print(f"\n{_running_text(running)}")
    for line in errors:
        print(painted(line, Colour.RED), file=sys.stderr)
    for line in lines:
        print(painted("warning:", Colour.YELLOW), line, file=sys.stderr)
    return exit_codes.FAILED if problems else exit_codes.OK


def _running_text(running: RunningGateway) -> str:
    return (
        f"The gateway '{running.gateway_id}' (process {running.pid}) runs from this file: the ports"
        " that it has bound count as free."
    )


def _asked(
    config: Config, options: argparse.Namespace
) -> Iterator[tuple[Sequence[_Findings], Mapping[str, object]]]:
    """The findings that the flags request, and their content for programs.

    The modules are imported with their flags: modules that connect take longer to load than the
    rest of ``check``.
    """
    if options.cluster or options.peers:
        import asyncio

    if options.cluster:
        from gateway.checks.cluster import ask_clusters, found_json

        clusters = asyncio.run(ask_clusters(config, dry_run=options.dry_run))
        found = [_Findings(one.problems, one.warnings, one.tables) for one in clusters]
        yield found, found_json(clusters)
    if options.peers:
        from gateway.checks.peers import ask_peers

        peers = asyncio.run(ask_peers(config))
        yield [_Findings(peers.problems, peers.warnings, peers.tables)], peers.as_json()
