"""The messages between a worker and its supervisor, and their form: a line of JSON each.

Each line holds increments that stand on their own: if a worker dies in the middle of a line, only
that line is lost.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TypeAlias

from gateway.audit.event import AuthenticationFailure
from gateway.config.policies import PolicySettings
from gateway.counts import METRIC_BUCKETS, Row
from gateway.flows import Denial, Flow, NeededAcl, PolicyEvent
from gateway.page.observed import Observed
from gateway.telemetry.told import ClientsTold, ClientTold, TellClients

ROWS_PER_LINE = 500
"""A label value has at most some 250 bytes, so that a line stays far below ``MAX_LINE``."""


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """The counts of a server since its last report, and its state."""

    flows: Sequence[Flow] = ()
    denials: Sequence[Denial] = ()
    # Open connections by listener.
    connections: Mapping[str, int] = field(default_factory=dict)
    # States of the worker; without a tree, also of its cluster.
    gauges: Mapping[str, int | float] = field(default_factory=dict)
    # Counts since the last report.
    rows: Sequence[Row] = ()
    policies: Sequence[PolicyEvent] = ()
    # Failed logins.
    logins: Sequence[AuthenticationFailure] = ()
    # The ACLs that allowed an operation of a principal with an open or recently closed connection.
    acls: Collection[NeededAcl] = ()
    # Seconds of ``time.monotonic``, which all processes of a machine share.
    made_at: float = field(default_factory=time.monotonic)
    # In a tree, the gauges of each cluster, by its name.
    clusters: Mapping[str, Mapping[str, int | float]] = field(default_factory=dict)
    # Seconds until the listener's certificate expires, by listener.
    certificates: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker listens on all its ports."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The worker cannot start; ``reason`` is a sentence for the operator."""

    reason: str


@dataclass(frozen=True, slots=True)
class State:
    """The state of the worker, as in :class:`WorkerReport`; sent after the counts up to
    ``made_at``."""

    connections: Mapping[str, int]
    gauges: Mapping[str, int | float]
    made_at: float
    clusters: Mapping[str, Mapping[str, int | float]] = field(default_factory=dict)
    certificates: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Increments:
    """The counts since the last such message."""

    rows: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The response to :class:`Prepare`; ``failure`` says why the worker cannot, or is empty."""

    number: int
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Prepare:
    """Order: make and configure these policies. The response, :class:`Prepared`, has the same
    number. ``of_clusters`` has the policies of clusters, by name, that have their own."""

    number: int
    policies: PolicySettings
    of_clusters: Mapping[str, PolicySettings] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Commit:
    """Order: go on with the policies that were prepared under this number."""

    number: int


@dataclass(frozen=True, slots=True)
class Abort:
    """Order: discard the policies that were prepared, or are being prepared."""


@dataclass(frozen=True, slots=True)
class Observe:
    """Order: send :class:`Observed` each second, for so many ``seconds``; an operator has the page
    open. ``clusters``: include the clusters."""

    seconds: float
    clusters: bool = False


@dataclass(frozen=True, slots=True)
class MakeRoom:
    """Close an idle connection to a broker that has refused a client of another worker, which sent
    this to the supervisor; see ``Wanted`` in gateway/connections/tenants.py."""

    cluster: str
    node_id: int
    principal: str
    host: str
    mine: int


Order: TypeAlias = Prepare | Commit | Abort | Observe | MakeRoom | TellClients
"""Messages that the supervisor sends."""

Told: TypeAlias = (
    Ready | Failed | State | Increments | Prepared | Observed | ClientTold | ClientsTold
)
"""Messages that a worker sends."""

Message: TypeAlias = Told | Order


def encode_message(message: Message) -> bytes:
    """The message as a line."""
    content = _order_content(message) if isinstance(message, Order) else _told_content(message)
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def _told_content(message: Told) -> dict[str, object]:
    """The JSON object of a worker's message."""
    match message:
        case Ready():
            return {"ready": True}
        case Failed(reason):
            return {"failed": reason}
        case State(connections, gauges, made_at, clusters, certificates):
            content: dict[str, object] = {
                "connections": dict(connections),
                "gauges": dict(gauges),
                "made_at": made_at,
            }
            if clusters:
                content["clusters"] = {name: dict(each) for name, each in clusters.items()}
            if certificates:
                content["certificates"] = dict(certificates)
            return content
        case Increments(rows):
            return {"rows": list(rows)}
        case Prepared(number, failure):
            return {"prepared": number, "failure": failure}
        case Observed():
            return {"observed": message.to_json()}
        case ClientTold():
            return {"client": message.to_json()}
        case ClientsTold(number):
            return {"clients_told": number}


def _order_content(order: Order) -> dict[str, object]:
    """The JSON object of a supervisor's message."""
    match order:
        case Prepare(number, policies, of_clusters):
            return {
                "prepare": number,
                "policies": policies.model_dump(mode="json", by_alias=True),
                "of_clusters": {
                    name: each.model_dump(mode="json", by_alias=True)
                    for name, each in of_clusters.items()
                },
            }
        case Commit(number):
            return {"commit": number}
        case Abort():
            return {"abort": True}
        case MakeRoom(cluster, node_id, principal, host, mine):
            return {
                "make_room": [principal, host],
                "cluster": cluster,
                "node": node_id,
                "mine": mine,
            }
        case Observe(seconds, clusters_too):
            return {"observe": seconds, "clusters_too": clusters_too}
        case TellClients(number):
            return {"tell_clients": number}


def decode_message(line: bytes) -> Message:
    """The message of a line of :func:`encode_message`. Raises ValueError if the line is no
    message."""
    try:
        content = json.loads(line)
    except ValueError as error:
        raise ValueError(f"a line that is no message: {error}") from error
    found = _told(content) or _order(content)
    if found is None:
        raise ValueError("a line that is no message")
    return found


def _told(content: object) -> Told | None:
    match content:
        case {"ready": True}:
            return Ready()
        case {"failed": str(reason)}:
            return Failed(reason)
        case {
            "connections": dict(connections),
            "gauges": dict(gauges),
            "made_at": float(made_at),
            **others,
        }:
            clusters = _clusters(others.get("clusters", {}))
            certificates = others.get("certificates", {})
            numbers = connections, gauges, certificates
            if isinstance(certificates, dict) and all(map(_are_numbers, numbers)):
                return State(connections, gauges, made_at, clusters, certificates)
        case {"rows": list(rows)}:
            return Increments([_row(row) for row in rows])
        case {"prepared": int(number), "failure": str(failure)}:
            return Prepared(number, failure)
        case {"observed": dict(observed)}:
            return Observed.from_json(observed)
        case {"client": dict(client)}:
            return ClientTold.from_json(client)
        case {"clients_told": int(number)}:
            return ClientsTold(number)
    return None


def _order(content: object) -> Order | None:
    match content:
        case {
            "prepare": int(number),
            "policies": dict(policies),
            "of_clusters": dict(of_clusters),
        }:
            read = {name: _policies(each) for name, each in of_clusters.items()}
            return Prepare(number, _policies(policies), read)
        case {"commit": int(number)}:
            return Commit(number)
        case {"abort": True}:
            return Abort()
        case {
            "make_room": [str(principal), str(host)],
            "cluster": str(cluster),
            "node": int(node_id),
            "mine": int(mine),
        }:
            return MakeRoom(cluster, node_id, principal, host, mine)
        case {"observe": int() | float() as seconds, "clusters_too": bool(clusters_too)}:
            return Observe(float(seconds), clusters_too)
        case {"tell_clients": int(number)}:
            return TellClients(number)
    return None


def _clusters(content: object) -> dict[str, dict[str, int | float]]:
    match content:
        case dict(clusters) if all(isinstance(each, dict) for each in clusters.values()):
            if all(map(_are_numbers, clusters.values())):
                return clusters
    raise ValueError("a state whose clusters are none")


def _are_numbers(gauges: object) -> bool:
    return isinstance(gauges, dict) and all(
        isinstance(value, int | float) for value in gauges.values()
    )


def _policies(settings: object) -> PolicySettings:
    return PolicySettings.model_validate_json(json.dumps(settings))


def _row(row: object) -> Row:
    match row:
        case [str(family), list(labels), int(count)] if _are_labels(labels):
            return family, tuple(labels), count
        case [str(family), list(labels), list(buckets)] if _are_labels(labels):
            if len(buckets) == METRIC_BUCKETS and all(isinstance(n, int) for n in buckets):
                return family, tuple(labels), buckets
    raise ValueError("a row that is no count")


def _are_labels(labels: Sequence[object]) -> bool:
    return all(isinstance(label, str | int) for label in labels)


def increments(rows: Iterable[Row]) -> Iterator[Increments]:
    """The rows in messages of at most ``ROWS_PER_LINE``."""
    rest = iter(rows)
    while chunk := list(islice(rest, ROWS_PER_LINE)):
        yield Increments(chunk)
