"""The traffic log's records (``gateway.traffic.record``), made from counts and events.

Flows are summed up in windows, by client, topic and API. The number of sums is bounded, but no
traffic is lost: clients beyond the bound are summed up as ``(other)``, and if that does not
suffice, topics as well, so totals by namespace stay true.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gateway.counts import OTHER
from gateway.flows import NO_TOPIC, Denial, Flow, FlowSums, NeededAcl, PolicyEvent
from gateway.places import Place
from gateway.traffic.record import SCHEMA_VERSION, Kind, Origin, Record, Window
from protocol.schema import api_name, error_name

MAX_KEYS = 10_000
"""Sums of a window above which clients are folded; above twice as many, topics are folded, too."""


class FlowKey(NamedTuple):
    """The key that flows are summed up by. ``client_address`` has no port, because a client that
    reconnects is still the same client."""

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
    place: Place


class FlowWindow:
    """The sums of a window. ``folded`` counts flows that were summed up as ``(other)``."""

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
            sums.add_flow(flow)

    def _within_bounds(self, key: FlowKey) -> FlowKey:
        if len(self.sums) < self._max_keys:
            return key
        self.folded += 1
        key = key._replace(
            client_id=OTHER, software_name=OTHER, software_version=OTHER, client_address=OTHER
        )
        if len(self.sums) < 2 * self._max_keys or key in self.sums or not key.logical:
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
        source.place,
    )


def host_of(address: str) -> str:
    """The host of ``host:port`` or ``[v6]:port``; an address without a port stays as it is."""
    host, _, port = address.rpartition(":")
    return host.removeprefix("[").removesuffix("]") if port.isdecimal() else address


def flow_record(
    origin: Origin, record_id: str, window: Window, key: FlowKey, sums: FlowSums
) -> Record:
    """A flow record, in the order of :data:`FIELDS`."""
    topicless = not key.logical
    return {
        **_head("flow", origin, record_id, key.place),
        "time_ms": window.start_ms,
        "window_ms": window.length_ms,
        "listener": key.listener,
        "principal": key.principal,
        "client_id": key.client_id,
        "software_name": key.software_name,
        "software_version": key.software_version,
        "client_address": key.client_address,
        "connections": len(sums.connections),
        "api": api_name(key.api_key),
        "api_key": key.api_key,
        "api_version": key.version,
        "namespace": None if key.namespace == NO_TOPIC else key.namespace,
        "logical_topic": None if topicless else key.logical,
        "flat_topic": None if topicless else key.flat,
        "path": None if topicless or key.logical == OTHER else key.place.path_of(key.logical),
        "requests": sums.requests,
        "led_requests": sums.led,
        "partitions": sums.partitions,
        "bytes_in": sums.bytes_in,
        "bytes_out": sums.bytes_out,
        "records": sums.records,
        "batches": sums.batches,
        "records_out": sums.records_out,
        "batches_out": sums.batches_out,
        "acks_0": sums.acks0,
        "acks_1": sums.acks1,
        "acks_all": sums.acks_all,
        "idempotent": sums.idempotent,
        "transactional": sums.transactional,
        "weak_producers": sums.weak,
        "errors": _by_name(sums.errors),
        "denials": sums.denials,
        "gateway_us_quarters": _by_number(sums.gateway_us),
        "broker_us_quarters": _by_number(sums.broker_us),
    }


def denial_record(origin: Origin, record_id: str, time_ms: int, denial: Denial) -> Record:
    """A denial record, in the order of :data:`FIELDS`."""
    source = denial.source
    return {
        **_head("denial", origin, record_id, source.place),
        "time_ms": time_ms,
        "listener": source.listener,
        "principal": source.principal,
        "client_id": source.client_id,
        "software_name": source.software_name,
        "software_version": source.software_version,
        "client_address": source.client_address,
        "api": api_name(denial.api_key),
        "api_key": denial.api_key,
        "api_version": denial.version,
        "namespace": denial.namespace,
        "path": denial.path,
        "rule": denial.rule,
        "error_code": denial.code,
        "error": error_name(denial.code),
        "resource": denial.resource,
        "message": denial.message,
        "operation": denial.operation or None,
        "named": denial.named or None,
        "because": denial.because or None,
    }


def policy_record(origin: Origin, record_id: str, time_ms: int, event: PolicyEvent) -> Record:
    """A policy record, in the order of :data:`FIELDS`."""
    return {
        **_head("policy", origin, record_id, event.place),
        "time_ms": time_ms,
        "principal": event.principal,
        "namespace": event.namespace,
        "path": event.place.path_of(event.topic),
        "rule": event.rule,
        "message": event.message,
        "topic": event.topic,
        "source": event.source,
        "mode": event.mode,
        "outcome": event.outcome,
        "value": event.value,
        "limit": event.limit,
    }


def acl_record(origin: Origin, record_id: str, time_ms: int, needed: NeededAcl) -> Record:
    """An acl record, in the order of :data:`FIELDS`."""
    head = _head("acl", origin, record_id, needed.place)
    return {**head, "time_ms": time_ms, "principal": needed.principal, "acl": needed.acl}


def _head(kind: Kind, origin: Origin, record_id: str, place: Place) -> Record:
    return {
        "kind": kind,
        "schema_version": SCHEMA_VERSION,
        "id": record_id,
        "gateway_id": origin.gateway_id,
        "worker_id": origin.worker_id,
        "cluster": place.cluster,
        "mount": place.mount,
    }


def _by_name(errors: dict[int, int]) -> dict[str, int]:
    named: dict[str, int] = {}
    for code, count in errors.items():
        name = error_name(code)
        named[name] = named.get(name, 0) + count
    return named


def _by_number(buckets: dict[int, int]) -> dict[str, int]:
    return {str(number): buckets[number] for number in sorted(buckets)}
