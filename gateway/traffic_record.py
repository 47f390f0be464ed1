"""The traffic log's record: one JSON object a line, frozen and versioned.

:data:`FIELDS` is the one place that says what is in it. docs/traffic-log.md is made from it
(``python -m gateway.traffic_record``), spark/schema.py has the same list for Spark, and tests
compare all three. A field is never renamed, and its type and meaning never change: what must
change gets a new name and a new :data:`SCHEMA_VERSION`.

A ``flow`` record sums up what one client did with one topic through one API in one window. A
``denial`` record is one item of one request that a rule refused; it is an event of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from gateway.flows import NO_TOPIC, Denial
from gateway.kafka_names import api_name, error_name
from gateway.traffic_window import FlowKey, FlowSums

SCHEMA_VERSION: Final = 1

FieldType = Literal["string", "integer", "long", "array<long>", "map<string,long>"]
Kind = Literal["flow", "denial"]

_BOTH: Final[tuple[Kind, ...]] = ("flow", "denial")
_FLOW: Final[tuple[Kind, ...]] = ("flow",)
_DENIAL: Final[tuple[Kind, ...]] = ("denial",)


class RecordField(NamedTuple):
    """One field. ``kinds`` are the records that have it; elsewhere the key is left out."""

    name: str
    type: FieldType
    unit: str
    meaning: str
    kinds: tuple[Kind, ...]
    nullable: bool = False


FIELDS: Final[tuple[RecordField, ...]] = (
    RecordField("kind", "string", "", "`flow` or `denial`", _BOTH),
    RecordField("schema_version", "integer", "", f"this table's version: {SCHEMA_VERSION}", _BOTH),
    RecordField("gateway_id", "string", "", "the configuration's `gateway_id`", _BOTH),
    RecordField("worker_id", "integer", "", "the worker process, from 0", _BOTH),
    RecordField(
        "time_ms",
        "long",
        "ms since 1970",
        "flow: where the window starts, a multiple of its length; denial: within a second after it",
        _BOTH,
    ),
    RecordField("window_ms", "integer", "ms", "the window's length", _FLOW),
    RecordField("listener", "string", "", "the listener that the client connected to", _BOTH),
    RecordField("principal", "string", "", "who the client is, such as `User:ANONYMOUS`", _BOTH),
    RecordField(
        "client_id",
        "string",
        "",
        "as the client sends it; `(other)` for all clients beyond the most that a window holds",
        _BOTH,
    ),
    RecordField("software_name", "string", "", "the client library (KIP-511), or empty", _BOTH),
    RecordField("software_version", "string", "", "its version, or empty", _BOTH),
    RecordField(
        "client_address",
        "string",
        "",
        "flow: the client's IP address; denial: with its port",
        _BOTH,
    ),
    RecordField("connections", "integer", "", "client connections that took part", _FLOW),
    RecordField("api", "string", "", "Kafka's name of the API, such as `Produce`", _BOTH),
    RecordField("api_key", "integer", "", "its number", _BOTH),
    RecordField("api_version", "integer", "", "the version that the client used", _BOTH),
    RecordField(
        "namespace",
        "string",
        "",
        "the topic's namespace, empty for the default one; null where no topic is named",
        _FLOW,
        nullable=True,
    ),
    RecordField(
        "logical_topic",
        "string",
        "",
        "the topic's full logical name, or null",
        _FLOW,
        nullable=True,
    ),
    RecordField(
        "flat_topic", "string", "", "the topic's name on the broker, or null", _FLOW, nullable=True
    ),
    RecordField("requests", "long", "", "requests that named the topic", _FLOW),
    RecordField(
        "led_requests",
        "long",
        "",
        "those that named it first, or no topic at all: each request counts once here",
        _FLOW,
    ),
    RecordField("partitions", "long", "", "partitions named, summed over requests", _FLOW),
    RecordField(
        "bytes_in",
        "long",
        "bytes",
        "from the client: whole frames for the topic named first, record bytes for the others",
        _FLOW,
    ),
    RecordField("bytes_out", "long", "bytes", "to the client, counted likewise", _FLOW),
    RecordField(
        "records", "long", "", "records of Produce requests, as their batch headers tell", _FLOW
    ),
    RecordField("batches", "long", "", "record batches of Produce requests", _FLOW),
    RecordField("acks_0", "long", "", "produce requests with acks=0", _FLOW),
    RecordField("acks_1", "long", "", "produce requests with acks=1", _FLOW),
    RecordField("acks_all", "long", "", "produce requests with acks=all", _FLOW),
    RecordField("idempotent", "long", "", "batches with a producer id", _FLOW),
    RecordField("transactional", "long", "", "batches inside a transaction", _FLOW),
    RecordField(
        "weak_producers",
        "map<string,long>",
        "",
        "produce requests that ask for less than the strongest guarantee: `acks0`, `acks1` or "
        "`not_idempotent`, then `_observed`, `_upgraded` or `_refused`; a request counts once for "
        "each namespace, on the topic named first there",
        _FLOW,
    ),
    RecordField("errors", "map<string,long>", "", "error codes answered, by Kafka's name", _FLOW),
    RecordField("denials", "map<string,long>", "", "items refused, by rule", _FLOW),
    RecordField(
        "gateway_us_log2",
        "array<long>",
        "",
        "time in the gateway: entry i counts led requests whose microseconds have i bits, "
        "so they took less than 2^i us; records merge by adding entries",
        _FLOW,
    ),
    RecordField("broker_us_log2", "array<long>", "", "time at the broker, likewise", _FLOW),
    RecordField("rule", "string", "", "the rule that refused", _DENIAL),
    RecordField("error_code", "integer", "", "the error code that the client was given", _DENIAL),
    RecordField("error", "string", "", "its name", _DENIAL),
    RecordField("resource", "string", "", "what was asked for, as the client spelled it", _DENIAL),
    RecordField("message", "string", "", "why, in a sentence", _DENIAL),
)


@dataclass(frozen=True, slots=True)
class Origin:
    """Which process writes."""

    gateway_id: str
    worker_id: int


class Window(NamedTuple):
    """A window's start, in ms since 1970, and its length in ms."""

    start_ms: int
    length_ms: int


def flow_record(origin: Origin, window: Window, key: FlowKey, sums: FlowSums) -> dict[str, Any]:
    """A flow record, in the order of :data:`FIELDS`."""
    topicless = key.namespace == NO_TOPIC
    return {
        "kind": "flow",
        "schema_version": SCHEMA_VERSION,
        "gateway_id": origin.gateway_id,
        "worker_id": origin.worker_id,
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
        "namespace": None if topicless else key.namespace,
        "logical_topic": None if topicless else key.logical,
        "flat_topic": None if topicless else key.flat,
        "requests": sums.requests,
        "led_requests": sums.led,
        "partitions": sums.partitions,
        "bytes_in": sums.bytes_in,
        "bytes_out": sums.bytes_out,
        "records": sums.records,
        "batches": sums.batches,
        "acks_0": sums.acks0,
        "acks_1": sums.acks1,
        "acks_all": sums.acks_all,
        "idempotent": sums.idempotent,
        "transactional": sums.transactional,
        "weak_producers": sums.weak,
        "errors": _by_name(sums.errors),
        "denials": sums.denials,
        "gateway_us_log2": sums.gateway_us,
        "broker_us_log2": sums.broker_us,
    }


def denial_record(origin: Origin, time_ms: int, denial: Denial) -> dict[str, Any]:
    """A denial record, in the order of :data:`FIELDS`."""
    source = denial.source
    return {
        "kind": "denial",
        "schema_version": SCHEMA_VERSION,
        "gateway_id": origin.gateway_id,
        "worker_id": origin.worker_id,
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
        "rule": denial.rule,
        "error_code": denial.code,
        "error": error_name(denial.code),
        "resource": denial.resource,
        "message": denial.message,
    }


def _by_name(errors: dict[int, int]) -> dict[str, int]:
    named: dict[str, int] = {}
    for code, count in errors.items():
        name = error_name(code)
        named[name] = named.get(name, 0) + count
    return named


def markdown_table() -> str:
    """:data:`FIELDS`, for docs/traffic-log.md."""
    lines = ["| field | type | unit | records | meaning |", "| --- | --- | --- | --- | --- |"]
    for name, kind, unit, meaning, kinds, nullable in FIELDS:
        shown = f"{kind}, may be null" if nullable else kind
        lines.append(f"| `{name}` | {shown} | {unit} | {', '.join(kinds)} | {meaning} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(markdown_table(), end="")
