"""The traffic log's record: one JSON object a line, frozen and versioned.

:data:`FIELDS` is the one place that says what is in it. docs/traffic-log.md is made from it
(``python -m gateway.traffic.record``), spark/schema.py has the same list for Spark, and tests
compare all three. A field is never renamed, and its type and meaning never change: what must
change gets a new name and a new :data:`SCHEMA_VERSION`.

A ``flow`` record sums up what one client did with one topic through one API in one window. A
``denial`` record is one item of one request that a rule refused, a ``policy`` record what policies
had against a topic, or allowed near a limit: each is an event of its own. An ``acl`` record says
that an ACL was needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

SCHEMA_VERSION: Final = 2

FieldType = Literal["string", "integer", "long", "array<long>", "map<string,long>"]
Record: TypeAlias = dict[str, Any]
"""One record, in the order of :data:`FIELDS`."""

Kind = Literal["flow", "denial", "policy", "acl"]

_ALL: Final[tuple[Kind, ...]] = ("flow", "denial", "policy", "acl")
_BOTH: Final[tuple[Kind, ...]] = ("flow", "denial")
_FLOW: Final[tuple[Kind, ...]] = ("flow",)
_DENIAL: Final[tuple[Kind, ...]] = ("denial",)
_POLICY: Final[tuple[Kind, ...]] = ("policy",)


class RecordField(NamedTuple):
    """One field. ``kinds`` are the records that have it; elsewhere the key is left out."""

    name: str
    type: FieldType
    unit: str
    meaning: str
    kinds: tuple[Kind, ...]
    nullable: bool = False


FIELDS: Final[tuple[RecordField, ...]] = (
    RecordField("kind", "string", "", "`flow`, `denial`, `policy` or `acl`", _ALL),
    RecordField("schema_version", "integer", "", f"this table's version: {SCHEMA_VERSION}", _ALL),
    RecordField(
        "id", "string", "", "no other record has it; the same one in the files and the topic", _ALL
    ),
    RecordField("gateway_id", "string", "", "the configuration's `gateway_id`", _ALL),
    RecordField("worker_id", "integer", "", "the worker process, from 0", _ALL),
    RecordField(
        "time_ms",
        "long",
        "ms since 1970",
        "flow, acl: where the window starts, a multiple of its length; denial, policy: within a "
        "second after it",
        _ALL,
    ),
    RecordField("window_ms", "integer", "ms", "the window's length", _FLOW),
    RecordField("listener", "string", "", "the listener that the client connected to", _BOTH),
    RecordField("principal", "string", "", "who the client is, such as `User:ANONYMOUS`", _ALL),
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
        "the topic's namespace, empty for the default one; null where no topic is named; denial: "
        "that of what was asked for, null for what is in none",
        ("flow", "denial", "policy"),
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
        "from the client: the topic's record bytes, and for the topic named first the rest of "
        "the frame besides; they add up to what was sent",
        _FLOW,
    ),
    RecordField("bytes_out", "long", "bytes", "to the client, counted likewise", _FLOW),
    RecordField(
        "records",
        "long",
        "",
        "records that the broker took of Produce requests, as their batch headers tell; with "
        "acks=0 those sent",
        _FLOW,
    ),
    RecordField("batches", "long", "", "their record batches", _FLOW),
    RecordField(
        "records_out",
        "long",
        "",
        "records in Fetch responses, as their batch headers tell; without control records, and "
        "without formats before Kafka 0.11, which do not tell",
        _FLOW,
    ),
    RecordField("batches_out", "long", "", "their record batches", _FLOW),
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
        "gateway_us_quarters",
        "map<string,long>",
        "",
        "time in the gateway: how many led requests took less than 2^(i/4) us and no less than "
        "2^((i-1)/4), by i, from 0 (below 1 us) to 97 (2^24 us and up); records merge by adding up",
        _FLOW,
    ),
    RecordField(
        "broker_us_quarters", "map<string,long>", "", "time at the broker, likewise", _FLOW
    ),
    RecordField(
        "rule",
        "string",
        "",
        "denial: the rule that refused; policy: the rule of the policies, such as `partitions.max`",
        ("denial", "policy"),
    ),
    RecordField("error_code", "integer", "", "the error code that the client was given", _DENIAL),
    RecordField("error", "string", "", "its name", _DENIAL),
    RecordField("resource", "string", "", "what was asked for, as the client spelled it", _DENIAL),
    RecordField("message", "string", "", "why, in a sentence", ("denial", "policy")),
    RecordField(
        "operation",
        "string",
        "",
        "what was to be done, such as `WRITE`; null: no ACL was asked",
        _DENIAL,
        nullable=True,
    ),
    RecordField(
        "named",
        "string",
        "",
        "what with, by type and logical name, such as `TOPIC org:orders`; null likewise",
        _DENIAL,
        nullable=True,
    ),
    RecordField(
        "because",
        "string",
        "",
        "which ACL refused, or for want of which; null likewise",
        _DENIAL,
        nullable=True,
    ),
    RecordField(
        "topic", "string", "", "the topic's full logical name; a namespace's ends in `:`", _POLICY
    ),
    RecordField(
        "source",
        "string",
        "",
        "where the rule stands in the configuration, such as `policies.namespaces.org`",
        _POLICY,
    ),
    RecordField("mode", "string", "", "`enforce` or `warn`", _POLICY),
    RecordField(
        "outcome",
        "string",
        "",
        "`refused`, `warned`, or `near`: allowed, and within 20 % of the limit",
        _POLICY,
    ),
    RecordField(
        "value", "long", "", "the number asked for; null: it is none", _POLICY, nullable=True
    ),
    RecordField("limit", "long", "", "its limit; null: there is none", _POLICY, nullable=True),
    RecordField(
        "acl",
        "string",
        "",
        "an ACL that allows the principal something that it does, such as "
        "`ALLOW READ for User:alice on TOPIC:LITERAL:org:orders`",
        ("acl",),
    ),
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


def markdown_table() -> str:
    """:data:`FIELDS`, for docs/traffic-log.md."""
    lines = ["| field | type | unit | records | meaning |", "| --- | --- | --- | --- | --- |"]
    for name, kind, unit, meaning, kinds, nullable in FIELDS:
        shown = f"{kind}, may be null" if nullable else kind
        lines.append(f"| `{name}` | {shown} | {unit} | {', '.join(kinds)} | {meaning} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(markdown_table(), end="")
