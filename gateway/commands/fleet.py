"""``kafka-gateway fleet``: a cluster's gateways, and whether each is up. An operator's tool."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any, Final

from gateway.catalog.entities import Gateway, Member
from gateway.catalog.probe import answers
from gateway.catalog.snapshot import Snapshot
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
    CLUSTER_FLAG,
    Flag("--json", "", "print JSON"),
)
_TLS: Final = frozenset({"SSL", "SASL_SSL"})
_GONE: Final = (
    "another gateway has its address; if it is gone for good:"
    " kafka-gateway catalog forget --gateway {}"
)
_NONE: Final = (
    "no gateway of cluster '{}' is known: one registers itself in the catalog when it starts;"
    " kafka-gateway serve starts one"
)
_UNLISTED: Final = "this gateway has no gateway_port, so clients of others do not know it"


def fill(parser: argparse.ArgumentParser) -> None:
    """Fill the parser of the subcommand; its options' ``run`` returns the exit status."""
    fill_operator_parser(
        parser,
        _FLAGS,
        _run,
        description="List the gateways that take part in a cluster's catalog, the nodes that"
        " clients see them as, and whether each answers a Kafka request of this machine.",
        examples=_EXAMPLES,
    )


def _run(options: argparse.Namespace) -> int:
    config = load_config(options.config)
    return run(lambda: _fleet(of_cluster(config, options.cluster)), options)


async def _fleet(config: Config) -> Output:
    snapshot = await read_catalog(config)
    found = await asyncio.gather(
        *(_looked_at(config, snapshot, snapshot.gateways[one]) for one in sorted(snapshot.gateways))
    )
    if not found:
        note = _NONE.format(config.clusters[0].name)
        return Output({"gateways": found}, "", [note])
    rows = [("gateway", "software", "node", "listener", "address", "up")]
    notes = []
    for gateway in found:
        start = (gateway["gateway_id"], gateway["software"], str(gateway["node_id"] or "-"))
        if not gateway["listeners"]:
            rows.append((*start, "-", "-", "-"))
            notes.append(f"{gateway['gateway_id']}: {_UNLISTED}")
        for one in gateway["listeners"]:
            rows.append((*start, one["listener"], one["address"], _up_text(one)))
            start = ("", "", "")
        if any(one["taken_by"] for one in gateway["listeners"]):
            notes.append(f"{gateway['gateway_id']}: {_GONE.format(gateway['gateway_id'])}")
    return Output({"gateways": found}, table(rows), notes)


def _up_text(listener: dict[str, Any]) -> str:
    if listener["taken_by"]:
        return f"no, {listener['taken_by']} has this address now"
    return "yes" if listener["up"] else "no"


async def _looked_at(config: Config, snapshot: Snapshot, gateway: Gateway) -> dict[str, Any]:
    """A gateway as a JSON object, with the state of its listeners."""
    member = snapshot.members.get(gateway.gateway_id)
    addresses = {} if member is None else dict(sorted(member.addresses.items()))
    taken = {one: _taken_by(snapshot, member, one) for one in addresses.values()}

    async def is_up(listener: str, address: str) -> bool:
        return taken[address] is None and await _answers(config, listener, address)

    up = await asyncio.gather(*(is_up(*each) for each in addresses.items()))
    return {
        "gateway_id": gateway.gateway_id,
        "software": gateway.software,
        "node_id": None if member is None else FIRST_GATEWAY_ID + member.number,
        "listeners": [
            {
                "listener": listener,
                "address": address,
                "up": is_up,
                "taken_by": taken[address],
            }
            for (listener, address), is_up in zip(addresses.items(), up, strict=True)
        ],
    }


def _taken_by(snapshot: Snapshot, member: Member | None, address: str) -> str | None:
    """The gateway that took over an address after this member; None if the member still has
    it. If a gateway starts under another id, say in a new container, it is another member, and
    the old member is gone."""
    others = [one for one in snapshot.members.values() if address in one.addresses.values()]
    last = max(others, key=lambda one: one.number, default=member)
    return None if last is member or last is None else last.gateway_id


async def _answers(config: Config, listener: str, address: str) -> bool:
    """Whether a gateway responds at the address of a listener, which is mostly also a
    listener of this file."""
    protocols = {one.name: one.security_protocol for one in config.listeners}
    if listener in protocols:
        return await answers(address, tls=protocols[listener] in _TLS)
    return any([await answers(address, tls=tls) for tls in (False, True)])
