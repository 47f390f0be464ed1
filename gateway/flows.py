"""Flows: a client's counts for a topic and an API, until the next collection.

The hot path adds to a :class:`Flow` that its connection already holds: integers only, no labels, no
formatting. Once a second the worker collects the flows of every busy connection and adds them to
the metrics and to the traffic log's window; then the connection starts afresh, so an idle
connection holds no flows. If requests in flight still refer to a flow, it stays with its
connection, and only its counts are collected.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress
from typing import Final, NamedTuple

from gateway.places import NO_PLACE, Place

LATENCY_STEPS: Final = 4
"""Buckets of a latency histogram per power of two."""

LATENCY_BUCKETS: Final = 98
"""Index i of a latency histogram counts the requests that took less than 2**(i/4) us, and no less
than the end of bucket i - 1: i is the bit length of their microseconds to the fourth power. Bucket
0 counts all below 1 us, the last bucket all from 2**24 us (16.8 s) up. A histogram is only as long
as its counts need: see :mod:`gateway.exchanges.meter`."""

_GATEWAY_AT_FIRST: Final = 40
_BROKER_AT_FIRST: Final = 56
"""The initial length of histograms: up to 0.9 ms and 14 ms, enough for most requests. Zeros for all
buckets would cost more than the rest of a flow of a few requests."""

NO_TOPIC: Final = "(none)"
"""The namespace label of a request that concerns no existing namespace."""


@dataclass(slots=True)
class FlowSource:
    """The client of a connection.

    ``client_address`` is ``host:port``. ``software_name`` and ``software_version`` are KIP-511's,
    empty until the client has sent an ApiVersions request of version 3 or later. ``place`` is the
    cluster of its topics.
    """

    listener: str
    principal: str
    client_id: str
    software_name: str
    software_version: str
    client_address: str
    place: Place = NO_PLACE


class FlowCounts:
    """Counts of clients' requests for a topic and an API.

    The comments in ``_reset`` describe the counts.
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
        # A request with three topics counts once as ``led``, for the topic named first, and twice
        # as ``followed``.
        self.led = 0
        self.followed = 0
        self.partitions = 0
        # Record bytes; the topic named first also gets the rest of the frame, so that the sums
        # equal the bytes that passed. ``bytes_in`` is from the client.
        self.bytes_in = 0
        self.bytes_out = 0
        # Records and batches of Produce requests that brokers accepted; ``_out``: of Fetch
        # responses.
        self.records = 0
        self.batches = 0
        self.records_out = 0
        self.batches_out = 0
        self.acks0 = 0
        self.acks1 = 0
        self.acks_all = 0
        # Accepted batches of idempotent producers, and of transactions.
        self.idempotent = 0
        self.transactional = 0
        # Kafka error code -> number of responses with it, from brokers or from the gateway.
        self.errors: dict[int, int] = {}
        # Rule's name -> number of its denials.
        self.denials: dict[str, int] = {}
        # :func:`weak_key` -> Produce requests with less than the strongest guarantee (KIP-679). A
        # request counts once for every namespace of its topics.
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
    """Counts since the last collection, for a (source, api, version, topic).

    ``gateway_us`` and ``broker_us`` are histograms (see :data:`LATENCY_BUCKETS`) of ``led``
    requests only, ``broker_us`` only of requests that a broker answered or that the gateway carried
    out. Without a topic (``logical`` and ``flat`` are empty) a flow counts requests that concern
    the ``namespace``, or, if that is :data:`NO_TOPIC`, no namespace.
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
        """Whether nothing has been counted."""
        counted = self.led or self.followed or self.partitions or self.bytes_in or self.bytes_out
        acks = self.acks0 or self.acks1 or self.acks_all
        return not (counted or acks or self.errors or self.denials or self.weak)

    def moved(self) -> Flow:
        """The counts so far, as a new flow; the counts of this flow begin anew."""
        taken = Flow(
            self.source, self.api_key, self.version, self.namespace, self.logical, self.flat
        )
        taken.add(self)
        taken.gateway_us, taken.broker_us = self.gateway_us, self.broker_us
        self._reset()
        return taken


class FlowSums(FlowCounts):
    """Counts of several flows, and their connections. The histograms keep only buckets with a
    count, by their number."""

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
    for number in compress(range(len(buckets)), buckets):  # buckets that are not 0
        sums[number] = sums.get(number, 0) + buckets[number]


def weak_key(weakness: str, decision: str) -> str:
    """A key of ``Flow.weak``, such as ``acks1_upgraded``.

    ``weakness`` is ``acks0``, ``acks1`` or ``not_idempotent``; ``decision`` on the request is
    ``observed`` (forwarded as it was), ``upgraded`` or ``refused``.
    """
    return f"{weakness}_{decision}"


def weak_labels(key: str) -> tuple[str, str]:
    """Weakness and decision of a :func:`weak_key`."""
    weakness, _, decision = key.rpartition("_")
    return weakness, decision


@dataclass(frozen=True, slots=True)
class Denial:
    """An item of a request rejected by a rule: an event of its own, never aggregated.

    ``resource`` is the requested resource, in the client's spelling. If ACLs or the producer
    guarantee denied it, ``operation`` and ``named`` (``TOPIC org:orders``) are the operation and
    its resource in logical names, else empty. If ACLs denied it, ``because`` names the ACL, or the
    lack of an ACL. ``namespace`` is the resource's namespace (empty: the default namespace), or
    None outside namespaces.
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
        """The absolute path of the topic, or the namespace, in ``named``, or None if it has
        neither."""
        kind, _, name = self.named.partition(" ")
        return self.source.place.path_of(name) if kind == "TOPIC" else None


@dataclass(frozen=True, slots=True)
class PolicyEvent:
    """A violation of policies by a topic, or an allowed topic that is near a limit.

    ``topic`` is a full logical name, which ends in ``:`` for a namespace. ``rule``, ``source``,
    ``mode``, ``value`` and ``limit`` are as in :class:`gateway.policies.violation.Violation`.
    ``outcome`` is ``refused``, ``warned`` or ``near``. ``place`` is the topic's cluster.
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
    """An ACL, as text, that has allowed an operation of a principal in a cluster."""

    principal: str
    acl: str
    place: Place = NO_PLACE
