"""``kafka-gateway check FILE``: whether a configuration would work on this machine.

``load_config`` finds the errors in the file itself. This resolves every name in it, binds every
port, reads every certificate, loads every class and tries every directory that is written to: the
steps of a worker before it connects to a broker. ``serve --dry-run`` does the same. It connects
only to the HTTP port of a gateway that runs from this very file (``checks/running.py``);
``checks/cluster.py`` and ``checks/peers.py`` connect to others.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from gateway.checks.certificates import (
    CertificateFacts,
    advertised,
    certificate_facts,
    certificate_problems,
    certificate_warnings,
)
from gateway.checks.listeners import closed_to_everybody, exposures, probe
from gateway.checks.running import RunningGateway
from gateway.checks.starting import start_problems
from gateway.config.addresses import Address
from gateway.config.errors import MAX_PROBLEMS, Key, Problem, nearest
from gateway.config.models import Config
from gateway.config.policies import PolicyBlock, PolicySettings
from gateway.config.reach import gateway_address
from gateway.config_file.parts import Parts
from gateway.config_file.rules import port_claims
from gateway.names import parents
from gateway.policies.instance import KEY, PolicyError, load_class

MAX_ROWS = 16
"""Brokers of a listener that the table lists individually."""


class ListenerPlan(NamedTuple):
    """The addresses that a listener advertises."""

    name: str
    bootstrap: Address
    brokers: dict[int, Address]
    """By the node id that clients see."""
    security_protocol: str = "PLAINTEXT"
    certificate: CertificateFacts | None = None
    places: Mapping[int, tuple[str, int]] = MappingProxyType({})
    """In a tree, each broker's cluster and its id there, by the node id that clients see."""
    gateway: Address | None = None
    """The address of the gateway itself as a node; None: it is no node."""


def find_problems(
    config: Config, running: RunningGateway | None = None, *, bind: bool = True
) -> list[Problem]:
    """Everything in the configuration that would not work on this machine. Ports that ``running``
    holds count as free; without ``bind`` no port is tried."""
    unresolved = _unresolved(config)
    # A bind address that does not resolve is reported already.
    unknown = {problem.key[:-1] for problem in unresolved if problem.key[-1] in {"bind", "host"}}
    claims = [claim for claim in port_claims(Parts.of(config)) if claim.key[:-1] not in unknown]
    return [
        *unresolved,
        *certificate_problems(config),
        *policy_problems(config),
        *start_problems(config),
        *(probe(claims, running) if bind else ()),
    ]


def find_warnings(config: Config, *, of_cluster: bool = False) -> list[Problem]:
    """Warnings: settings that work but may be mistakes. ``of_cluster``: the cluster is queried as
    well, so its catalog, and not the file, is compared with the homes."""
    return [
        *certificate_warnings(config),
        *_unresolved_names(config),
        *_exposed(config),
        *_closed(config),
        *(() if of_cluster else homes_not_seeded(config)),
    ]


def plan(config: Config) -> list[ListenerPlan]:
    """The addresses that the gateway advertises, for every node id for which it has a place."""
    plans = []
    for listener in config.listeners:
        found = list(advertised(config, listener))
        places = {
            place.client_id: (place.cluster.name, place.node_id)
            for place, _ in found
            if place.cluster.mount is not None
        }
        plans.append(
            ListenerPlan(
                listener.name,
                Address(listener.advertised_host, listener.port),
                {place.client_id: address for place, address in found},
                listener.security_protocol,
                certificate_facts(listener),
                places,
                gateway_address(listener),
            )
        )
    return plans


def plan_rows(plans: Sequence[ListenerPlan]) -> list[tuple[str, ...]]:
    """The plans as rows of a table, its head first."""
    in_tree = any(one.places for one in plans)
    where = ("cluster", "broker") if in_tree else ()
    rows: list[tuple[str, ...]] = [("listener", "bootstrap.servers", *where, "node id", "address")]
    for one in plans:
        name, bootstrap = one.name, str(one.bootstrap)
        for cluster, brokers in _by_cluster(one).items():
            for broker, node, address in _shown(one, brokers):
                place = (cluster, broker) if in_tree else ()
                rows.append((name, bootstrap, *place, node, address))
                name = bootstrap = cluster = ""
        if one.gateway is not None:
            place = ("", "") if in_tree else ()
            rows.append((name, bootstrap, *place, "gateway", str(one.gateway)))
    return rows


def as_json(
    errors: Sequence[str],
    plans: Sequence[ListenerPlan],
    warnings: Sequence[str] = (),
    **clusters: object,
) -> str:
    """The findings for programs; ``errors`` and ``warnings`` are lines. ``clusters``: further keys,
    with the findings at the cluster, or at each cluster."""
    content: dict[str, object] = {
        "ok": not errors,
        "problems": list(errors),
        "warnings": list(warnings),
        "listeners": [_plan_as_json(one) for one in plans],
    }
    return json.dumps(content | clusters, indent=2)


def _plan_as_json(one: ListenerPlan) -> dict[str, object]:
    content: dict[str, object] = {
        "name": one.name,
        "security_protocol": one.security_protocol,
        "bootstrap_servers": str(one.bootstrap),
        "brokers": {str(node): str(address) for node, address in one.brokers.items()},
    }
    if one.gateway is not None:
        content["gateway"] = str(one.gateway)
    if one.places:
        content["clusters"] = {
            cluster: {str(one.places[node][1]): str(node) for node in brokers}
            for cluster, brokers in _by_cluster(one).items()
        }
    if one.certificate is not None:
        content["certificate"] = {
            "expires": one.certificate.expires.isoformat(),
            "names": list(one.certificate.names),
        }
    return content


def _by_cluster(one: ListenerPlan) -> dict[str, dict[int, Address]]:
    """The brokers of a listener by the name of their cluster; without a tree the name is empty."""
    found: dict[str, dict[int, Address]] = {}
    for node, address in one.brokers.items():
        found.setdefault(one.places[node][0] if one.places else "", {})[node] = address
    return found


def _shown(one: ListenerPlan, brokers: dict[int, Address]) -> list[tuple[str, str, str]]:
    """Every broker of a cluster, or the first brokers and the last: id, node id and address."""
    items = [
        (str(one.places[node][1]) if one.places else "", str(node), str(address))
        for node, address in brokers.items()
    ]
    if len(items) > MAX_ROWS:
        items[MAX_ROWS - 2 : -1] = [("", "...", f"{len(items) - MAX_ROWS + 1} more")]
    return items


def _unresolved(config: Config) -> list[Problem]:
    hosts = dict(_hosts(config))
    reasons = _reasons(hosts.values())
    return [
        Problem(key, f"'{host}' does not resolve: {reason}; correct it, or make it known to DNS")
        for key, host in hosts.items()
        if (reason := reasons[host]) is not None
    ]


def _unresolved_names(config: Config) -> Iterator[Problem]:
    """Broker names that do not resolve here; a warning only: these brokers may never exist."""
    for index, one in enumerate(plan(config)):
        if config.listeners[index].broker_names is None:
            continue
        reasons = _reasons(address.host for address in [*one.brokers.values()][:MAX_ROWS])
        for host, reason in reasons.items():
            if reason is not None:
                text = f"'{host}' does not resolve here: {reason}; its clients have to know it"
                yield Problem(("listeners", index, "broker_names"), text)


def _exposed(config: Config) -> Iterator[Problem]:
    for listener, reason in exposures(config):
        key = ("listeners", config.listeners.index(listener), "bind")
        yield Problem(key, f"'{listener.bind}' is open to other machines: {reason}")


def _closed(config: Config) -> Iterator[Problem]:
    for listener, reason in closed_to_everybody(config):
        key = ("listeners", config.listeners.index(listener), "security_protocol")
        yield Problem(key, f"'{listener.security_protocol}': {reason}")


def _reasons(hosts: Iterable[str]) -> dict[str, str | None]:
    """Why names do not resolve, or None if they do. All names are looked up at once, because each
    lookup may take seconds."""
    names = sorted(set(hosts))
    with ThreadPoolExecutor(max_workers=min(16, len(names) or 1)) as pool:
        return dict(zip(names, pool.map(_why_unresolved, names), strict=True))


def _hosts(config: Config) -> Iterator[tuple[Key, str]]:
    for place, cluster in enumerate(config.clusters):
        for index, server in enumerate(cluster.bootstrap_servers):
            yield ("clusters", place, "bootstrap_servers", index), server.host
    for index, listener in enumerate(config.listeners):
        yield ("listeners", index, "bind"), listener.bind
        if listener.advertised_host != listener.bind:
            yield ("listeners", index, "advertised_host"), listener.advertised_host
    yield ("metrics", "host"), config.metrics.host
    if config.tree is None:
        return
    if config.tree.listener is not None:
        yield ("tree", "listener", "bind"), config.tree.listener.bind
    for side, peers in (("parents", config.tree.parents), ("children", config.tree.children)):
        for place, peer in enumerate(peers):
            for index, address in enumerate(peer.addresses):
                yield ("tree", side, place, "addresses", index), address.host


def _why_unresolved(host: str) -> str | None:
    try:
        socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        return str(getattr(error, "strerror", None) or error).lower()
    return None


def homes_not_seeded(config: Config) -> Iterator[Problem]:
    """Homes that the file does not create. The catalog may have them all the same."""
    volumes = map(config.of_volume, config.clusters)
    seeded = (namespace for volume in volumes for namespace in volume.namespaces)
    known = {tier for namespace in seeded for tier in parents(namespace)}
    in_order = sorted(known)
    homes = ((name, each.home) for name, each in config.principals.items())
    missing = ((name, home) for name, home in homes if home not in known)
    # One problem more than are shown, so the number of further problems is shown, too.
    for principal, home in islice(missing, MAX_PROBLEMS + 1):
        near = nearest(home, in_order)
        hint = f"did you mean '{near}'?" if near else "add it there, or make it before"
        yield Problem(
            ("principals", principal, "home"),
            f"'{home}' is not among the namespaces of this file, and a principal"
            f" without its home reaches nothing; {hint} (check --cluster looks in the catalog)",
        )


def policy_problems(config: Config) -> Iterator[Problem]:
    """Policy classes that cannot be loaded on this machine."""
    for cluster in config.clusters:
        volume = config.of_volume(cluster)
        yield from _class_problems(volume.policies, volume.key_of("policies"))


def _class_problems(policies: PolicySettings, where: Key) -> Iterator[Problem]:
    blocks: dict[Key, PolicyBlock] = {
        ("everywhere",): policies.everywhere,
        ("default_namespace",): policies.default_namespace,
        **{("namespaces", path): block for path, block in policies.namespaces.items()},
    }
    for key, block in blocks.items():
        if block.class_name is not None:
            try:
                load_class(block.class_name)
            except PolicyError as error:
                text = f"{error}; correct it, or put its module on PYTHONPATH"
                yield Problem((*where, *key, KEY), text)
