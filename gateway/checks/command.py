"""``kafka-gateway check``: whether a configuration would work on this machine."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from gateway import exit_codes
from gateway.checks.check import as_json, find_problems, find_warnings, plan, plan_rows
from gateway.commands.flags import examples
from gateway.commands.output import table
from gateway.config.errors import Problem
from gateway.config.models import Config
from gateway.config_file.loading import load_config, with_lines


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand; its options' ``run`` returns the exit status."""
    parser.description = "Check whether a configuration would work on this machine."
    parser.epilog = examples(
        "check gateway.yaml",
        "check gateway.yaml --json",
        "check --cluster gateway.yaml",
        "check --peers gateway.yaml",
    )
    parser.add_argument("config", type=Path, metavar="FILE", help="YAML file")
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
    parser.set_defaults(run=_check)


class _Findings(Protocol):
    """What other machines responded: of a cluster, or of the gateways of the tree."""

    problems: list[Problem]
    warnings: list[Problem]

    def tables(self) -> Sequence[Sequence[Sequence[str]]]:
        """Tables for the terminal."""
        ...


def _check(options: argparse.Namespace) -> int:
    config, path = load_config(options.config), options.config
    found: list[_Findings] = []
    content: dict[str, object] = {}
    for findings, their_content in _asked(config, options):
        found += findings
        content |= their_content
    problems = [*find_problems(config), *(one for each in found for one in each.problems)]
    warnings = find_warnings(config, of_cluster=options.cluster)
    warnings += [one for each in found for one in each.warnings]
    errors = str(with_lines(path, problems)).splitlines()
    warned = [f"warning: {line}" for line in str(with_lines(path, warnings)).splitlines()]
    if options.json:
        print(as_json(errors, plan(config), warned, **content))
    elif not problems:
        print(table(plan_rows(plan(config))))
        for rows in (rows for each in found for rows in each.tables()):
            print(f"\n{table(rows)}")
    for line in [*errors, *warned]:
        print(line, file=sys.stderr)
    return exit_codes.FAILED if problems else exit_codes.OK


def _asked(
    config: Config, options: argparse.Namespace
) -> Iterator[tuple[Sequence[_Findings], Mapping[str, object]]]:
    """The findings that flags ask for, and their content for programs.

    Imported with their flags: what connects takes longer to load than the rest of ``check``.
    """
    if options.cluster or options.peers:
        import asyncio

    if options.cluster:
        from gateway.checks.cluster import ask_clusters, found_json

        clusters = asyncio.run(ask_clusters(config))
        yield clusters, found_json(clusters)
    if options.peers:
        from gateway.checks.peers import ask_peers

        peers = asyncio.run(ask_peers(config))
        yield [peers], peers.as_json()
