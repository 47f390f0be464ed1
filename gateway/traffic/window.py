"""One window of the traffic log: flows summed up by client, topic and API.

The number of sums is bounded and nothing is lost: clients beyond the bound are summed up as
``(other)``, and topics too when that does not suffice, so totals by namespace stay true.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import compress
from typing import NamedTuple

from gateway.flows import NO_TOPIC, Flow

OTHER = "(other)"

MAX_KEYS = 10_000
"""Distinct sums of a window before clients are folded; twice as many before topics are."""


class FlowKey(NamedTuple):
    """What flows are summed up by. ``client_address`` is without the port: a client that
    reconnects is still one client."""

    listener: str
    principal: str
    client_id: str
    software_name: str
    software_version: str
    client_address: str
    api_key: int
    version: int
    namespace: str
    logical: str
    flat: str


class FlowSums:
    """The counts of :class:`gateway.flows.Flow`, and the connections that they come from. Of the
    histograms only the buckets that count anything are kept, by their number."""

    __slots__ = (
        "acks0",
        "acks1",
        "acks_all",
        "batches",
        "batches_out",
        "broker_us",
        "bytes_in",
        "bytes_out",
        "connections",
        "denials",
        "errors",
        "gateway_us",
        "idempotent",
        "led",
        "partitions",
        "records",
        "records_out",
        "requests",
        "transactional",
        "weak",
    )

    def __init__(self) -> None:
        self.connections: set[str] = set()
        self.requests = 0
        self.led = 0
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
        self.gateway_us: dict[int, int] = {}
        self.broker_us: dict[int, int] = {}

    def add(self, flow: Flow) -> None:
        """Add a flow's counts."""
        self.connections.add(flow.source.client_address)
        self.requests += flow.requests
        self.led += flow.led
        self.partitions += flow.partitions
        self.bytes_in += flow.bytes_in
        self.bytes_out += flow.bytes_out
        self.records += flow.records
        self.batches += flow.batches
        self.records_out += flow.records_out
        self.batches_out += flow.batches_out
        self.acks0 += flow.acks0
        self.acks1 += flow.acks1
        self.acks_all += flow.acks_all
        self.idempotent += flow.idempotent
        self.transactional += flow.transactional
        for code, count in flow.errors.items():
            self.errors[code] = self.errors.get(code, 0) + count
        for rule, count in flow.denials.items():
            self.denials[rule] = self.denials.get(rule, 0) + count
        for key, count in flow.weak.items():
            self.weak[key] = self.weak.get(key, 0) + count
        if flow.led:
            _add_buckets(self.gateway_us, flow.gateway_us)
            _add_buckets(self.broker_us, flow.broker_us)


def _add_buckets(sums: dict[int, int], buckets: list[int]) -> None:
    for number in compress(range(len(buckets)), buckets):  # those that are not 0
        sums[number] = sums.get(number, 0) + buckets[number]


class FlowWindow:
    """The sums of one window. ``folded`` counts flows that were summed up as ``(other)``."""

    def __init__(self, max_keys: int = MAX_KEYS) -> None:
        self.sums: dict[FlowKey, FlowSums] = {}
        self.folded = 0
        self._max_keys = max_keys

    def add(self, flows: Iterable[Flow]) -> None:
        """Add flows to their sums."""
        for flow in flows:
            key = _key_of(flow)
            sums = self.sums.get(key)
            if sums is None:
                key = self._within_bounds(key)
                sums = self.sums.get(key)
                if sums is None:
                    sums = self.sums[key] = FlowSums()
            sums.add(flow)

    def _within_bounds(self, key: FlowKey) -> FlowKey:
        if len(self.sums) < self._max_keys:
            return key
        self.folded += 1
        key = key._replace(
            client_id=OTHER, software_name=OTHER, software_version=OTHER, client_address=OTHER
        )
        if len(self.sums) < 2 * self._max_keys or key in self.sums or key.namespace == NO_TOPIC:
            return key
        return key._replace(logical=OTHER, flat=OTHER)


def _key_of(flow: Flow) -> FlowKey:
    source = flow.source
    return FlowKey(
        source.listener,
        source.principal,
        source.client_id,
        source.software_name,
        source.software_version,
        host_of(source.client_address),
        flow.api_key,
        flow.version,
        flow.namespace,
        flow.logical,
        flow.flat,
    )


def host_of(address: str) -> str:
    """The host of ``host:port`` or ``[v6]:port``."""
    return address.rpartition(":")[0].removeprefix("[").removesuffix("]")
