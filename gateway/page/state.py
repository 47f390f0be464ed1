"""The state of the page: a JSON object each second, small and complete.

A client that connects has everything with the first object, and nothing has to be kept in step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from gateway.config.models import Config
from gateway.counts import OTHER
from gateway.page.fleet import page_of
from gateway.page.history import RECENT_SECONDS, WAITING_APIS, ErrorKey
from gateway.page.observed import Buckets, Item, Latency, TrafficKey
from gateway.page.quantiles import quantiles
from gateway.page.remedies import remedy
from gateway.page.window import Rates, Window, add_buckets, top
from protocol.pausing import paced
from protocol.schema import api_name, error_name

MAX_NAMESPACES: Final = 300
MAX_TOPICS: Final = 150
MAX_CLIENTS: Final = 100
MAX_APIS: Final = 20
MAX_ERRORS: Final = 30
MAX_DENIALS: Final = 20

_A_REQUEST: Final = 1_000

_A_RECENT_ERROR: Final = 1e9
"""Errors of the last minute are ordered before all others."""


class WorkerFacts(NamedTuple):
    """A worker as the supervisor knows it. ``age`` is the age of its last report, in seconds;
    ``cpu`` is the share of a processor that it uses. None if not known."""

    worker_id: int
    state: str
    pid: int | None = None
    age: float | None = None
    cpu: float | None = None
    resident: float | None = None
    connections: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """The supervisor's knowledge of the gateway, besides the present traffic.

    ``errors`` are of the last ``error_seconds``, ``recent_errors`` of the last minute; ``fleet``
    has the figures of gateways by id (:mod:`gateway.page.fleet`).
    """

    version: str
    started_ms: int
    time_ms: int
    workers: Sequence[WorkerFacts] = ()
    connections: Mapping[str, int] = field(default_factory=dict)
    problems: Sequence[str] = ()
    warnings: Sequence[str] = ()
    errors: Mapping[ErrorKey, int] = field(default_factory=dict)
    recent_errors: Mapping[ErrorKey, int] = field(default_factory=dict)
    error_seconds: float = 0.0
    fleet: Mapping[str, Item] = field(default_factory=dict)


def build_state(config: Config, window: Window, facts: Facts) -> dict[str, Any]:
    """The state, of JSON's types alone. It has pause points, so ``window`` and ``facts`` must not
    change meanwhile."""
    traffic, clusters = window.traffic(), window.clusters()
    return {
        "time": facts.time_ms,
        "gateway": _gateway(config, facts, window.forms()),
        "second": _second(window),
        "namespaces": _namespaces(traffic),
        "topics": _topics(traffic),
        "clients": _clients(traffic),
        "latency": _latency(window.latency()),
        "errors": _errors(facts),
        "denials": _denials(config, window),
        "logins": window.logins(),
        "clusters": clusters,
        "fleet": _fleet(config, facts, clusters),
        "tree": _tree(config, traffic, clusters),
    }


def _gateway(config: Config, facts: Facts, forms: Mapping[int, str]) -> Item:
    names = sorted({form for form in forms.values() if form})
    return {
        "id": config.gateway_id,
        "version": facts.version,
        "form": " and ".join(names),
        "started": facts.started_ms,
        "problems": list(facts.problems),
        "warnings": list(facts.warnings),
        "workers": [worker._asdict() for worker in facts.workers],
        "listeners": [
            {
                "name": one.name,
                "address": f"{one.advertised_host}:{one.port}",
                "security": one.security_protocol,
                "home": one.home,
                "volume": one.volume,
                "connections": facts.connections.get(one.name, 0),
            }
            for one in config.listeners
        ],
    }


def _second(window: Window) -> Item:
    """The last second in a few figures, for the curves."""
    gateway, broker = _sides(window.latency(last=True))
    return {
        **_rounded(window.last_second()),
        "gateway": quantiles(gateway),
        "broker": quantiles(broker),
    }


def _sides(latency: Mapping[int, Latency]) -> tuple[Buckets, Buckets]:
    """All APIs together: time in the gateway, and time at brokers except for ``WAITING_APIS``."""
    gateway: dict[int, int] = {}
    broker: dict[int, int] = {}
    for api, one in latency.items():
        add_buckets(gateway, one.gateway)
        if api not in WAITING_APIS:
            add_buckets(broker, one.broker)
    return gateway, broker


def _namespaces(traffic: Mapping[TrafficKey, Rates]) -> Item:
    return _rows(
        traffic,
        lambda key: (key.cluster, key.namespace),
        lambda key: {"cluster": key.cluster, "path": key.namespace},
        MAX_NAMESPACES,
    )


def _topics(traffic: Mapping[TrafficKey, Rates]) -> Item:
    named = {
        key: rates
        for key, rates in traffic.items()
        if key.namespace is not None and key.topic not in ("", OTHER)
    }
    return _rows(
        named,
        lambda key: (key.cluster, key.namespace, key.topic),
        lambda key: {"cluster": key.cluster, "path": key.namespace, "topic": key.topic},
        MAX_TOPICS,
    )


def _clients(traffic: Mapping[TrafficKey, Rates]) -> Item:
    return _rows(traffic, lambda key: key, lambda key: key._asdict(), MAX_CLIENTS)


def _rows(
    traffic: Mapping[TrafficKey, Rates],
    group: Callable[[TrafficKey], tuple[object, ...]],
    shown: Callable[[TrafficKey], Item],
    most: int,
) -> Item:
    """The busiest groups as rows, and the number of further groups."""
    sums: dict[tuple[object, ...], Rates] = {}
    first: dict[tuple[object, ...], TrafficKey] = {}
    for key, rates in paced(traffic.items()):
        place = group(key)
        first.setdefault(place, key)
        sums[place] = sums[place].plus(rates) if place in sums else rates
    kept, more = top({place: _weight(rates) for place, rates in sums.items()}, most)
    rows = [{**shown(first[place]), **_rounded(sums[place])} for place in kept]
    return {"rows": rows, "more": more}


def _weight(rates: Rates) -> float:
    return rates.bytes_in + rates.bytes_out + _A_REQUEST * rates.requests


def _rounded(rates: Rates) -> dict[str, float]:
    return {name: round(value, 1) for name, value in rates._asdict().items()}


def _latency(latency: Mapping[int, Latency]) -> Item:
    counts = {api: float(sum(one.gateway.values())) for api, one in latency.items()}
    kept, more = top(counts, MAX_APIS)
    rows = [
        {
            "api": api_name(api),
            "requests": counts[api],
            "waits": api in WAITING_APIS,
            "gateway": quantiles(latency[api].gateway),
            "broker": quantiles(latency[api].broker),
        }
        for api in kept
    ]
    gateway, broker = _sides(latency)
    return {
        "rows": rows,
        "more": more,
        "gateway": quantiles(gateway),
        "broker": quantiles(broker),
    }


def _errors(facts: Facts) -> Item:
    """Errors, the last minute's first, each with its count in the whole history."""
    weights = {
        key: facts.recent_errors.get(key, 0) * _A_RECENT_ERROR + count
        for key, count in facts.errors.items()
    }
    kept, more = top(weights, MAX_ERRORS)
    rows = [
        {
            "error": error_name(key.code),
            "code": key.code,
            "api": api_name(key.api_key),
            "cluster": key.cluster,
            "path": key.namespace,
            "count": facts.recent_errors.get(key, 0),
            "in_all": facts.errors[key],
        }
        for key in kept
    ]
    return {
        "rows": rows,
        "more": more,
        "seconds": round(min(facts.error_seconds, RECENT_SECONDS)),
        "in_all_seconds": round(facts.error_seconds),
        "count": sum(facts.recent_errors.values()),
        "in_all": sum(facts.errors.values()),
    }


def _denials(config: Config, window: Window) -> Item:
    found = window.denials()
    rows = []
    for denial in found[:MAX_DENIALS]:
        advice = remedy(denial, config)
        rows.append({**denial, "commands": list(advice.commands), "remedy": advice.note})
    return {"rows": rows, "more": max(0, len(found) - MAX_DENIALS)}


def _fleet(config: Config, facts: Facts, clusters: Sequence[Item]) -> Item | None:
    """Pages and figures of the gateways that share a catalog, by id, or None if
    ``metrics.fleet_url`` is not set."""
    url = config.metrics.fleet_url
    if url is None:
        return None
    known = {one["id"] for cluster in clusters for one in cluster["gateways"]}
    return {each: {"page": page_of(url, each), **facts.fleet.get(each, {})} for each in known}


def _tree(
    config: Config, traffic: Mapping[TrafficKey, Rates], clusters: Sequence[Item]
) -> Item | None:
    """The mounts in this gateway's file, with the traffic and state of its own clusters, or None
    without a tree."""
    if config.clusters[0].mount is None:
        return None
    sums: dict[str, Rates] = {}
    for key, rates in paced(traffic.items()):
        sums[key.cluster] = sums.get(key.cluster, Rates()).plus(rates)
    found = {one["name"]: one for one in clusters}
    own = [
        {
            "mount": one.mount,
            "of": one.name,
            "kind": "cluster",
            "number": one.number,
            "state": _state_of(found.get(one.name)),
            **_rounded(sums.get(one.name, Rates())),
        }
        for one in config.clusters
    ]
    peers: list[Item] = []
    if config.tree is not None:
        places = [("child", each, each.mount) for each in config.tree.children]
        above = [("parent", each, None) for each in config.tree.parents]
        peers = [
            {"mount": mount, "of": each.name, "kind": kind, "number": None, "state": None}
            for kind, each, mount in (*places, *above)
        ]
    return {"rows": sorted(own, key=lambda one: str(one["mount"])) + peers}


def _state_of(cluster: Item | None) -> str:
    """The state of a cluster in a few words."""
    if cluster is None:
        return "not known"
    if not cluster["reachable"]:
        return "not reachable"
    return "ok" if cluster["fresh"] else "catalog is stale"
