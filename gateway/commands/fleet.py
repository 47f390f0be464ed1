"""``kafka-gateway fleet``: a cluster's gateways, and which of them are up. An operator's tool."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path
from typing import Any, Final

from gateway.catalog.entities import Gateway, Member
from gateway.catalog.probe import accepts
from gateway.commands.actions import run
from gateway.commands.catalog.exporting import read_catalog
from gateway.commands.flags import Flag, fill_operator_parser
from gateway.commands.output import Output, table
from gateway.commands.volumes import CLUSTER_FLAG, of_cluster
from gateway.config.models import Config
from gateway.config_file.loading import load_config
from gateway.node_ids import FIRST_GATEWAY_ID

_EXAMPLES: Final = """\
examples:
  kafka-gateway fleet --config gateway.yaml
  kafka-gateway fleet --config gateway.yaml --json
"""
_FLAGS: Final = (
    Flag("--config", "FILE", "YAML file", {"type": Path, "required": True}),
    CLUSTER_FLAG,
    Flag("--json", "", "print JSON"),
)
_UNLISTED: Final = "this gateway has no gateway_port, so clients of others do not know it"


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand; its options' ``run`` returns the exit status."""
    fill_operator_parser(
        parser,
        _FLAGS,
        _run,
        description="List the gateways that take part in a cluster's catalog, the nodes that"
        " clients see them as, and whether each accepts connections from this machine.",
        examples=_EXAMPLES,
    )


def _run(options: argparse.Namespace) -> int:
    config = load_config(options.config)
    return run(lambda: _fleet(of_cluster(config, options.cluster)), options)


async def _fleet(config: Config) -> Output:
    snapshot = await read_catalog(config)
    found = await asyncio.gather(
        *(
            _looked_at(snapshot.gateways[one], snapshot.members.get(one))
            for one in sorted(snapshot.gateways)
        )
    )
    rows = [("gateway", "software", "node", "listener", "address", "up")]
    notes = []
    for gateway in found:
        start = (gateway["gateway_id"], gateway["software"], str(gateway["node_id"] or "-"))
        if not gateway["listeners"]:
            rows.append((*start, "-", "-", "-"))
            notes.append(f"{gateway['gateway_id']}: {_UNLISTED}")
        for one in gateway["listeners"]:
            rows.append((*start, one["listener"], one["address"], "yes" if one["up"] else "no"))
            start = ("", "", "")
    return Output({"gateways": found}, table(rows), notes)


async def _looked_at(gateway: Gateway, member: Member | None) -> dict[str, Any]:
    """A gateway as JSON has it."""
    addresses = {} if member is None else dict(sorted(member.addresses.items()))
    up = await asyncio.gather(*map(accepts, addresses.values()))
    return {
        "gateway_id": gateway.gateway_id,
        "software": gateway.software,
        "node_id": None if member is None else FIRST_GATEWAY_ID + member.number,
        "listeners": [
            {"listener": listener, "address": address, "up": is_up}
            for (listener, address), is_up in zip(addresses.items(), up, strict=True)
        ],
    }
