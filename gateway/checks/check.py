"""``kafka-gateway check FILE``: would this configuration work on this machine?

The file's own mistakes are found by ``load_config``. This resolves every name in it, binds every
port, reads every certificate and loads every policy class. Nothing is connected to, unless it is
asked for (``checks/cluster.py``).
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from gateway.checks.certificates import (
    CertificateFacts,
    certificate_facts,
    certificate_problems,
    certificate_warnings,
)
from gateway.checks.exposure import exposures
from gateway.checks.named import homes_not_seeded, policy_problems
from gateway.checks.port_probe import probe
from gateway.config.errors import Key, Problem
from gateway.config.models import Address, Config
from gateway.config_file.rules import Parts, port_claims
from gateway.connections.listeners import listener_addresses
from gateway.node_ids import NodeIdRanges

MAX_ROWS = 16
"""Brokers of a listener that the table lists one by one."""


@dataclass(frozen=True, slots=True)
class ListenerPlan:
    """What a listener's clients are told: its bootstrap address, and each broker's by node id.

    ``security_protocol`` is what they need for it, ``certificate`` what they are shown.
    """

    name: str
    bootstrap: Address
    brokers: dict[int, Address]
    security_protocol: str = "PLAINTEXT"
    certificate: CertificateFacts | None = None


def find_problems(config: Config) -> list[Problem]:
    """Everything that would not work here."""
    unresolved = _unresolved(config)
    # A bind address without a meaning was told already.
    unknown = {problem.key[:-1] for problem in unresolved if problem.key[-1] in {"bind", "host"}}
    claims = [claim for claim in port_claims(Parts.of(config)) if claim.key[:-1] not in unknown]
    return [
        *unresolved,
        *certificate_problems(config),
        *policy_problems(config),
        *probe(claims),
    ]


def find_warnings(config: Config, *, of_cluster: bool = False) -> list[Problem]:
    """What works now, and should be looked at all the same. ``of_cluster``: the cluster is asked
    as well, and knows better what namespaces there are."""
    return [
        *certificate_warnings(config),
        *_unresolved_names(config),
        *_exposed(config),
        *(() if of_cluster else homes_not_seeded(config)),
    ]


def plan(config: Config) -> list[ListenerPlan]:
    """The addresses that the gateway advertises, for every node id it has a place for."""
    ranges = NodeIdRanges.parse(config.clusters[0].node_ids)
    plans = []
    for listener in config.listeners:
        addresses = listener_addresses(listener, ranges)
        host, names = listener.advertised_host, addresses.names
        if names is None:
            brokers = {node: Address(host, port) for port, node in addresses.ports().items()}
        else:
            brokers = {node: Address(names.host(node), listener.port) for node in ranges}
        plans.append(
            ListenerPlan(
                listener.name,
                Address(host, listener.port),
                brokers,
                listener.security_protocol,
                certificate_facts(listener),
            )
        )
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


def as_json(
    problems: Sequence[Problem],
    told: Sequence[str],
    plans: Sequence[ListenerPlan],
    warnings: Sequence[str] = (),
    cluster: Mapping[str, object] | None = None,
) -> str:
    """The same for programs. ``told`` are the problems as lines, ``warnings`` likewise; ``cluster``
    is what it says, if it was asked."""
    content: dict[str, object] = {
        "ok": not problems,
        "problems": list(told),
        "warnings": list(warnings),
        "listeners": [_plan_as_json(one) for one in plans],
    }
    if cluster is not None:
        content["cluster"] = dict(cluster)
    return json.dumps(content, indent=2) + "\n"


def _plan_as_json(one: ListenerPlan) -> dict[str, object]:
    content: dict[str, object] = {
        "name": one.name,
        "security_protocol": one.security_protocol,
        "bootstrap_servers": str(one.bootstrap),
        "brokers": {str(node): str(address) for node, address in one.brokers.items()},
    }
    if one.certificate is not None:
        content["certificate"] = {
            "expires": one.certificate.expires.isoformat(),
            "names": list(one.certificate.names),
        }
    return content


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
    asked = dict(_hosts(config))
    reasons = _reasons(asked.values())
    return [
        Problem(key, f"'{host}' does not resolve: {reason}; correct it, or make it known to DNS")
        for key, host in asked.items()
        if (reason := reasons[host]) is not None
    ]


def _unresolved_names(config: Config) -> Iterator[Problem]:
    """Broker names that are not known here; brokers that there may never be need none."""
    for index, one in enumerate(plan(config)):
        if config.listeners[index].broker_names is None:
            continue
        reasons = _reasons(address.host for address in [*one.brokers.values()][:MAX_ROWS])
        for host, reason in reasons.items():
            if reason is not None:
                text = f"'{host}' does not resolve here: {reason}; its clients have to know it"
                yield Problem(("listeners", index, "broker_names"), text)


def _exposed(config: Config) -> Iterator[Problem]:
    found = {listener.name: what for listener, what in exposures(config)}
    for index, listener in enumerate(config.listeners):
        if listener.name in found:
            text = f"'{listener.bind}' is open to other machines: {found[listener.name]}"
            yield Problem(("listeners", index, "bind"), text)


def _reasons(hosts: Iterable[str]) -> dict[str, str | None]:
    """Why names do not resolve; None: they do. All are asked at once: a no may take seconds."""
    asked = sorted(set(hosts))
    with ThreadPoolExecutor(max_workers=min(16, len(asked) or 1)) as pool:
        return dict(zip(asked, pool.map(_why_unresolved, asked), strict=True))


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
