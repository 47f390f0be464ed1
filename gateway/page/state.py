"""The state of the page: one JSON object a second, small and whole.

Whoever connects has everything with the first one, and nothing has to be kept in step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from gateway.config.models import Config
from gateway.counts import OTHER
from gateway.flows import LATENCY_STEPS
from gateway.page.observed import Buckets, Item, Latency, TrafficKey
from gateway.page.remedies import remedy
from gateway.page.window import Rates, Window, add_buckets, top
from protocol.schema import api_name, error_name

MAX_NAMESPACES: Final = 150
MAX_TOPICS: Final = 150
MAX_CLIENTS: Final = 100
MAX_APIS: Final = 20
MAX_ERRORS: Final = 30
MAX_DENIALS: Final = 20

WAITING_APIS: Final = frozenset({1, 11, 14})
"""Fetch, JoinGroup and SyncGroup, whose time at the broker is mostly one that clients wish for:
for records, or for other members."""

_A_REQUEST: Final = 1_000


class WorkerFacts(NamedTuple):
    """A worker as the supervisor knows it. ``age`` is that of its last report, in seconds;
    ``cpu`` the share of a processor that it takes. None: not known."""

    worker_id: int
    state: str
    pid: int | None = None
    age: float | None = None
    cpu: float | None = None
    resident: float | None = None
    connections: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """What the supervisor knows of the gateway, besides the traffic."""

    version: str
    started_ms: int
    time_ms: int
    workers: Sequence[WorkerFacts] = ()
    connections: Mapping[str, int] = field(default_factory=dict)
    problems: Sequence[str] = ()
    warnings: Sequence[str] = ()
    gateways_down: int = 0


def build_state(config: Config, window: Window, facts: Facts) -> dict[str, Any]:
    """The state, of JSON's types alone."""
    traffic = window.traffic()
    return {
        "time": facts.time_ms,
        "gateway": _gateway(config, facts, window.forms()),
        "second": _second(window),
        "namespaces": _namespaces(traffic),
        "topics": _topics(traffic),
        "clients": _clients(traffic),
        "latency": _latency(window.latency()),
        "errors": _errors(window),
        "denials": _denials(config, window),
        "clusters": window.clusters(),
        "tree": _tree(config),
    }


def quantile(buckets: Buckets, share: float) -> float | None:
    """The microseconds that ``share`` of the requests did not exceed, as far as the histogram
    tells: within its bucket values are taken to be spread evenly, on its scale. None: it is empty.

    >>> quantile({41: 1}, 1.0) == 2 ** (41 / 4)
    True
    """
    total = sum(buckets.values())
    if not total:
        return None
    wanted = share * total
    below = 0
    for number in sorted(buckets):
        count = buckets[number]
        if below + count >= wanted:
            within = (wanted - below) / count
            return float(2 ** ((number - 1 + within) / LATENCY_STEPS)) if number else 1.0
        below += count
    return float(2 ** (max(buckets) / LATENCY_STEPS))


def _gateway(config: Config, facts: Facts, forms: Mapping[int, str]) -> Item:
    names = sorted({form for form in forms.values() if form})
    return {
        "id": config.gateway_id,
        "version": facts.version,
        "form": " and ".join(names),
        "started": facts.started_ms,
        "problems": list(facts.problems),
        "warnings": list(facts.warnings),
        "gateways_down": facts.gateways_down,
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
        "gateway": _quantiles(gateway),
        "broker": _quantiles(broker),
    }


def _sides(latency: Mapping[int, Latency]) -> tuple[Buckets, Buckets]:
    """All APIs together: time in the gateway, and at brokers where nobody wishes to wait."""
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
    """The busiest groups as rows, and how many more there are."""
    sums: dict[tuple[object, ...], Rates] = {}
    first: dict[tuple[object, ...], TrafficKey] = {}
    for key, rates in traffic.items():
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
            "gateway": _quantiles(latency[api].gateway),
            "broker": _quantiles(latency[api].broker),
        }
        for api in kept
    ]
    gateway, broker = _sides(latency)
    return {
        "rows": rows,
        "more": more,
        "gateway": _quantiles(gateway),
        "broker": _quantiles(broker),
    }


def _quantiles(buckets: Buckets) -> list[float | None]:
    """The median and the 99th percentile, in microseconds."""
    found = (quantile(buckets, share) for share in (0.5, 0.99))
    return [None if one is None else round(one, 1) for one in found]


def _errors(window: Window) -> Item:
    sums, seconds = window.errors()
    kept, more = top({key: float(count) for key, count in sums.items()}, MAX_ERRORS)
    rows = [
        {
            "error": error_name(key.code),
            "code": key.code,
            "api": api_name(key.api_key),
            "cluster": key.cluster,
            "path": key.namespace,
            "count": sums[key],
        }
        for key in kept
    ]
    return {"rows": rows, "more": more, "seconds": round(seconds), "count": sum(sums.values())}


def _denials(config: Config, window: Window) -> Item:
    found = window.denials()
    rows = []
    for denial in found[:MAX_DENIALS]:
        advice = remedy(denial, config)
        rows.append({**denial, "commands": list(advice.commands), "remedy": advice.note})
    return {"rows": rows, "more": max(0, len(found) - MAX_DENIALS)}


def _tree(config: Config) -> Item | None:
    """The mounts that this gateway knows from its file; None: there is no tree."""
    if config.clusters[0].mount is None:
        return None
    own = [
        {"mount": one.mount, "of": one.name, "kind": "cluster", "number": one.number}
        for one in config.clusters
    ]
    peers: list[Item] = []
    if config.tree is not None:
        peers = [
            {"mount": one.mount, "of": one.name, "kind": "child", "number": None}
            for one in config.tree.children
        ]
        peers += [
            {"mount": None, "of": one.name, "kind": "parent", "number": None}
            for one in config.tree.parents
        ]
    return {"rows": sorted(own, key=lambda one: str(one["mount"])) + peers}
