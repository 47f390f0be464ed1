"""``kafka-gateway check``: whether a configuration would work on this machine."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from gateway import exit_codes
from gateway.checks.check import as_json, find_problems, find_warnings, plan, plan_rows
from gateway.checks.cluster import ClusterFindings, ask_clusters, found_json
from gateway.checks.peer_findings import PeerFindings
from gateway.checks.peers import ask_peers
from gateway.commands.flags import examples
from gateway.commands.output import table
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
