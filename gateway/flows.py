"""Flows: what one client did with one topic through one API, counted until the next collection.

The hot path adds to a :class:`Flow` that its connection already holds: integers only, no labels,
no formatting. Once a second the worker collects the flows of every connection that was busy,
adds them to the metrics and to the traffic log's window, and the connection starts afresh, so
an idle connection holds none. Those that requests in flight still refer to stay with their
connection, and only their counts are collected.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import Final, NamedTuple

from gateway.places import NO_PLACE, Place

LATENCY_STEPS: Final = 4
"""Buckets of a latency histogram for each power of two."""

LATENCY_BUCKETS: Final = 98
"""Index i of a latency histogram counts the requests that took less than 2**(i/4) us, and no less
than bucket i - 1 ends at: i is the bit length of their microseconds to the fourth power. Bucket 0
is all below 1 us, the last one everything from 2**24 us (16.8 s) up. A histogram is only as long
as what it has counted needs: see :mod:`gateway.exchanges.meter`."""

_GATEWAY_AT_FIRST: Final = 40
_BROKER_AT_FIRST: Final = 56
"""The initial length of histograms: up to 0.9 ms and 14 ms, enough for most requests. Zeros for all
buckets would cost more than a flow of a few requests does."""

NO_TOPIC: Final = "(none)"
"""The namespace label of a request that concerns no namespace that exists."""


@dataclass(slots=True)
class FlowSource:
    """The client of one connection.

    ``client_address`` is ``host:port``. ``software_name`` and ``software_version`` are KIP-511's,
    empty until the client has sent an ApiVersions request of version 3 or later. ``place`` is the
    cluster that its topics are of.
    """

    listener: str
    principal: str
    client_id: str
    software_name: str
    software_version: str
    client_address: str
    place: Place = NO_PLACE


class FlowCounts:
    """Counts of what clients did with one topic through one API.

    ``led`` counts the requests that named this topic first, ``followed`` those that named it after
    another one: a request with three topics is ``led`` once and ``followed`` twice. Bytes are
    record bytes, and of the topic that came first all the rest of the frame besides, so that they
    add up to what passed; ``bytes_in`` is from the client. ``records``, ``batches``,
    ``idempotent`` and ``transactional`` are of what brokers took of Produce requests,
    ``records_out`` and ``batches_out`` of what Fetch responses brought.
    ``errors`` maps a Kafka error code to how often the broker (or the gateway) answered it,
    ``denials`` a rule's name to how often it denied. ``weak`` counts Produce requests that ask for
    less than the strongest guarantee (KIP-679), by weakness and decision as
    :func:`weak_key` has them; each counts once for every namespace that it names topics of.
    """

    __slots__ = (
        "acks0",
        "acks1",
        "acks_all",
        "batches",
        "batches_out",
        "bytes_in",
        "bytes_out",
        "denials",
        "errors",
        "followed",
        "idempotent",
        "led",
        "partitions",
        "records",
        "records_out",
        "transactional",
        "weak",
    )

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self.led = 0
        self.followed = 0
        self.partitions = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.records = 0
        self.batches = 0
        self.records_out = 0
        self.batches_out = 0
        self.acks0 = 0
        self.acks1 = 0
        self.acks_all = 0
        self.idempotent = 0
        self.transactional = 0
        self.errors: dict[int, int] = {}
        self.denials: dict[str, int] = {}
        self.weak: dict[str, int] = {}

    @property
    def requests(self) -> int:
        """Requests that named this topic."""
        return self.led + self.followed

    def add(self, more: FlowCounts) -> None:
        """Add other counts to these."""
        self.led += more.led
        self.followed += more.followed
        self.partitions += more.partitions
        self.bytes_in += more.bytes_in
        self.bytes_out += more.bytes_out
        self.records += more.records
        self.batches += more.batches
        self.records_out += more.records_out
        self.batches_out += more.batches_out
        self.acks0 += more.acks0
        self.acks1 += more.acks1
        self.acks_all += more.acks_all
        self.idempotent += more.idempotent
        self.transactional += more.transactional
        for code, count in more.errors.items():
            self.errors[code] = self.errors.get(code, 0) + count
        for rule, count in more.denials.items():
            self.denials[rule] = self.denials.get(rule, 0) + count
        for key, count in more.weak.items():
            self.weak[key] = self.weak.get(key, 0) + count


class Flow(FlowCounts):
    """Counts since the last collection, for one (source, api, version, topic).

    ``gateway_us`` and ``broker_us`` are histograms as :data:`LATENCY_BUCKETS` says, filled for
    ``led`` requests only, the second for those of them that a broker answered or that the gateway
    carried out. Without a topic (``logical`` and ``flat`` are empty) it counts what concerns the
    ``namespace``, or, as :data:`NO_TOPIC`, no namespace.
    """

    __slots__ = (
        "api_key",
        "broker_us",
        "flat",
        "gateway_us",
        "logical",
        "namespace",
        "source",
        "version",
    )

    def __init__(
        self,
        source: FlowSource,
        api_key: int,
        version: int,
        namespace: str,
        logical: str,
        flat: str,
    ) -> None:
        self.source = source
        self.api_key = api_key
        self.version = version
        self.namespace = namespace
        self.logical = logical
        self.flat = flat
        super().__init__()

    def _reset(self) -> None:
        super()._reset()
        self.gateway_us = [0] * _GATEWAY_AT_FIRST
        self.broker_us = [0] * _BROKER_AT_FIRST

    @property
    def empty(self) -> bool:
        """True while nothing has been counted."""
        counted = self.led or self.followed or self.partitions or self.bytes_in or self.bytes_out
        acks = self.acks0 or self.acks1 or self.acks_all
        return not (counted or acks or self.errors or self.denials or self.weak)

    def moved(self) -> Flow:
        """The counts so far, as a flow of its own; this one begins anew."""
        taken = Flow(
            self.source, self.api_key, self.version, self.namespace, self.logical, self.flat
        )
        taken.add(self)
        taken.gateway_us, taken.broker_us = self.gateway_us, self.broker_us
        self._reset()
        return taken


class FlowSums(FlowCounts):
    """Counts of several flows, and the connections that they come from. Of the histograms only the
    buckets that count anything are kept, by their number."""

    __slots__ = ("broker_us", "connections", "gateway_us")

    def __init__(self) -> None:
        super().__init__()
        self.connections: set[str] = set()
        self.gateway_us: dict[int, int] = {}
        self.broker_us: dict[int, int] = {}

    def add_flow(self, flow: Flow) -> None:
        """Add a flow's counts."""
        self.add(flow)
        self.connections.add(flow.source.client_address)
        if flow.led:
            _add_buckets(self.gateway_us, flow.gateway_us)
            _add_buckets(self.broker_us, flow.broker_us)


def _add_buckets(sums: dict[int, int], buckets: list[int]) -> None:
    for number in compress(range(len(buckets)), buckets):  # those that are not 0
        sums[number] = sums.get(number, 0) + buckets[number]


def weak_key(weakness: str, decision: str) -> str:
    """A key of ``Flow.weak``, such as ``acks1_upgraded``.

    ``weakness`` is ``acks0``, ``acks1`` or ``not_idempotent``, ``decision`` what was done with the
    request: ``observed`` (nothing), ``upgraded`` or ``refused``.
    """
    return f"{weakness}_{decision}"


def weak_labels(key: str) -> tuple[str, str]:
    """Weakness and decision of a :func:`weak_key`."""
    weakness, _, decision = key.rpartition("_")
    return weakness, decision


@dataclass(frozen=True, slots=True)
class Denial:
    """One item of a request rejected by a rule: an event of its own, never aggregated.

    ``resource`` is what the client asked for, as it spelled it. Of what ACLs or the producer
    guarantee reject, ``operation`` and ``named`` (``TOPIC org:orders``) say what was to be done
    with what, in logical names, and of what ACLs reject ``because`` by which ACL, or for want of
    one; elsewhere they are empty. ``namespace`` is what
    the resource would be in (empty: the default one), None for what is in none.
    """

    source: FlowSource
    api_key: int
    version: int
    rule: str
    code: int
    resource: str
    message: str
    operation: str = ""
    named: str = ""
    because: str = ""
    namespace: str | None = None
    right: str = ""

    @property
    def path(self) -> str | None:
        """The absolute path of the topic, or the namespace, that ``named`` says, if it does."""
        kind, _, name = self.named.partition(" ")
        return self.source.place.path_of(name) if kind == "TOPIC" else None


@dataclass(frozen=True, slots=True)
class PolicyEvent:
    """A violation of policies by a topic, or a topic that they allowed near a limit.

    ``topic`` is a full logical name, that of a namespace ends in ``:``; ``rule``, ``source`` and
    ``mode`` are those of :class:`gateway.policies.violation.Violation`, as are ``value`` and
    ``limit``. ``outcome`` is ``refused``, ``warned`` or ``near``. ``place`` is the cluster that it
    is of.
    """

    principal: str
    namespace: str
    topic: str
    rule: str
    source: str
    mode: str
    outcome: str
    message: str
    value: int | None
    limit: int | None
    place: Place = NO_PLACE


class NeededAcl(NamedTuple):
    """An ACL, as text, that has allowed a principal something in a cluster."""

    principal: str
    acl: str
    place: Place = NO_PLACE
