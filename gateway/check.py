"""``kafka-gateway check FILE``: would this configuration work on this machine?

The file's own mistakes are found by ``load_config``. This resolves every name in it and binds
every port. Nothing is connected to.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from gateway.config import Address, Config
from gateway.config_errors import Key, Problem
from gateway.config_rules import Parts, port_claims
from gateway.port_probe import probe
from gateway.virtual_brokers import ListenerAddresses, NodeIdRanges

MAX_ROWS = 16
"""Brokers of a listener that the table lists one by one."""


@dataclass(frozen=True, slots=True)
class ListenerPlan:
    """What a listener's clients are told: its bootstrap address, and each broker's by node id."""

    name: str
    bootstrap: Address
    brokers: dict[int, Address]


def find_problems(config: Config) -> list[Problem]:
    """Everything that would not work here."""
    unresolved = _unresolved(config)
    # A bind address without a meaning was told already.
    unknown = {problem.key[:-1] for problem in unresolved if problem.key[-1] in {"bind", "host"}}
    claims = [claim for claim in port_claims(Parts.of(config)) if claim.key[:-1] not in unknown]
    return [*unresolved, *probe(claims)]


def plan(config: Config) -> list[ListenerPlan]:
    """The addresses that the gateway advertises, for every node id it has a place for."""
    ranges = NodeIdRanges.parse(config.clusters[0].node_ids)
    plans = []
    for listener in config.listeners:
        host = listener.advertised_host
        addresses = ListenerAddresses(host, listener.broker_base_port, ranges)
        brokers = {node: Address(host, port) for port, node in addresses.ports().items()}
        plans.append(ListenerPlan(listener.name, Address(host, listener.port), brokers))
    return plans


def table(plans: Sequence[ListenerPlan]) -> str:
    """The plans, for people."""
    rows = [("listener", "bootstrap.servers", "node id", "address")]
    for one in plans:
        name, bootstrap = one.name, str(one.bootstrap)
        for node, address in _shown(one.brokers):
            rows.append((name, bootstrap, node, address))
            name = bootstrap = ""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join(lines) + "\n"


def as_json(problems: Sequence[Problem], told: Sequence[str], plans: Sequence[ListenerPlan]) -> str:
    """The same for programs. ``told`` are the problems as lines."""
    content = {
        "ok": not problems,
        "problems": list(told),
        "listeners": [
            {
                "name": one.name,
                "bootstrap_servers": str(one.bootstrap),
                "brokers": {str(node): str(address) for node, address in one.brokers.items()},
            }
            for one in plans
        ],
    }
    return json.dumps(content, indent=2) + "\n"


def _shown(brokers: dict[int, Address]) -> Iterator[tuple[str, str]]:
    """Every broker, or the first ones and the last one."""
    items = [(str(node), str(address)) for node, address in brokers.items()]
    if len(items) <= MAX_ROWS:
        yield from items
        return
    yield from items[: MAX_ROWS - 2]
    yield "...", f"{len(items) - MAX_ROWS + 1} more"
    yield items[-1]


def _unresolved(config: Config) -> list[Problem]:
    """Every name is looked up, at the same time: a resolver may take seconds to say no."""
    asked = dict(_hosts(config))
    hosts = sorted(set(asked.values()))
    with ThreadPoolExecutor(max_workers=min(16, len(hosts))) as pool:
        reasons = dict(zip(hosts, pool.map(_why_unresolved, hosts), strict=True))
    return [
        Problem(key, f"'{host}' does not resolve: {reason}; correct it, or make it known to DNS")
        for key, host in asked.items()
        if (reason := reasons[host]) is not None
    ]


def _hosts(config: Config) -> Iterator[tuple[Key, str]]:
    for index, server in enumerate(config.clusters[0].bootstrap_servers):
        yield ("clusters", 0, "bootstrap_servers", index), server.host
    for index, listener in enumerate(config.listeners):
        yield ("listeners", index, "bind"), listener.bind
        if listener.advertised_host != listener.bind:
            yield ("listeners", index, "advertised_host"), listener.advertised_host
    yield ("metrics", "host"), config.metrics.host


def _why_unresolved(host: str) -> str | None:
    try:
        socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return str(getattr(error, "strerror", None) or error).lower()
    return None
