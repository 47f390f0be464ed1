"""The traffic log's record: a JSON object on each line, frozen and versioned.

Only :data:`FIELDS` defines its fields. docs/traffic-log.md is made from it (``python -m
gateway.traffic.record``), spark/schema.py has the same list for Spark, and tests compare all three.
A field is never renamed, and its type and meaning never change: if they must, there is a new field
with a new name, and a new :data:`SCHEMA_VERSION`.

A ``flow`` record sums up the traffic of a client with a topic through an API in a window. A
``denial`` record is for an item of a request that a rule rejected. A ``policy`` record is for a
topic that violated a policy, or was allowed near a limit. Each denial or violation is an event of
its own. An ``acl`` record reports that an ACL was needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias

SCHEMA_VERSION: Final = 2

FieldType = Literal["string", "integer", "long", "array<long>", "map<string,long>"]
Record: TypeAlias = dict[str, Any]
"""A record, in the order of :data:`FIELDS`."""

Kind = Literal["flow", "denial", "policy", "acl"]

_ALL: Final[tuple[Kind, ...]] = ("flow", "denial", "policy", "acl")
_BOTH: Final[tuple[Kind, ...]] = ("flow", "denial")
_FLOW: Final[tuple[Kind, ...]] = ("flow",)
_DENIAL: Final[tuple[Kind, ...]] = ("denial",)
_POLICY: Final[tuple[Kind, ...]] = ("policy",)


class RecordField(NamedTuple):
    """A field. ``kinds`` are the kinds of records that have it; other records do not have the
    key."""

    name: str
    type: FieldType
    kinds: tuple[Kind, ...]
    meaning: str
    unit: str = ""
    nullable: bool = False


FIELDS: Final[tuple[RecordField, ...]] = (
    RecordField("kind", "string", _ALL, "`flow`, `denial`, `policy` or `acl`"),
    RecordField("schema_version", "integer", _ALL, f"this table's version: {SCHEMA_VERSION}"),
    RecordField(
        "id", "string", _ALL, "no other record has it; the same one in the files and the topic"
    ),
    RecordField("gateway_id", "string", _ALL, "the configuration's `gateway_id`"),
    RecordField("worker_id", "integer", _ALL, "the worker process, from 0"),
    RecordField(
        "cluster",
        "string",
        _ALL,
        "the name that the configuration has for the cluster: a flow, denial or violation is of a "
        "topic there; empty for what is of none",
    ),
    RecordField(
        "mount",
        "string",
        _ALL,
        "where the cluster is mounted in the tree, such as `la:tracking`; names in other fields "
        "are relative to it; null: there is no tree",
        nullable=True,
    ),
    RecordField(
        "time_ms",
        "long",
        _ALL,
        "flow, acl: where the window starts, a multiple of its length; denial, policy: within a "
        "second after it",
        unit="ms since 1970",
    ),
    RecordField("window_ms", "integer", _FLOW, "the window's length", unit="ms"),
    RecordField("listener", "string", _BOTH, "the listener that the client connected to"),
    RecordField("principal", "string", _ALL, "who the client is, such as `User:ANONYMOUS`"),
    RecordField(
        "client_id",
        "string",
        _BOTH,
        "as the client sends it; `(other)` for all clients beyond the most that a window holds",
    ),
    RecordField("software_name", "string", _BOTH, "the client library (KIP-511), or empty"),
    RecordField("software_version", "string", _BOTH, "its version, or empty"),
    RecordField(
        "client_address",
        "string",
        _BOTH,
        "flow: the client's IP address; denial: with its port; in both, where the request came by "
        "another gateway of the tree, without a port, and with ` (peer NAME)` after it",
    ),
    RecordField("connections", "integer", _FLOW, "client connections that took part"),
    RecordField("api", "string", _BOTH, "Kafka's name of the API, such as `Produce`"),
    RecordField("api_key", "integer", _BOTH, "its number"),
    RecordField("api_version", "integer", _BOTH, "the version that the client used"),
    RecordField(
        "namespace",
        "string",
        ("flow", "denial", "policy"),
        "the topic's namespace, empty for the default one; flow: with a null topic "
        "what the gateway denied, answered or carried out itself there, null for what concerns no "
        "namespace that exists; denial: that of the requested item, null for an item in none",
        nullable=True,
    ),
    RecordField(
        "logical_topic",
        "string",
        _FLOW,
        "the topic's full logical name, or null (`namespace` says why)",
        nullable=True,
    ),
    RecordField(
        "flat_topic", "string", _FLOW, "the topic's name on the broker, or null", nullable=True
    ),
    RecordField(
        "path",
        "string",
        ("flow", "denial", "policy"),
        "the topic's absolute path, such as `:la:tracking:search:clicks`; null: there is no tree, "
        "no topic is named, or a mount hides it; denial: null where `named` is",
        nullable=True,
    ),
    RecordField("requests", "long", _FLOW, "requests that named the topic"),
    RecordField(
        "led_requests",
        "long",
        _FLOW,
        "those that named it first, or with a null topic any other: each request counts once here",
    ),
    RecordField("partitions", "long", _FLOW, "partitions named, summed over requests"),
    RecordField(
        "bytes_in",
        "long",
        _FLOW,
        "from the client: the topic's record bytes, and for the topic named first the rest of "
        "the frame besides; they add up to what was sent",
        unit="bytes",
    ),
    RecordField("bytes_out", "long", _FLOW, "to the client, counted likewise", unit="bytes"),
    RecordField(
        "records",
        "long",
        _FLOW,
        "records that the broker took of Produce requests, as their batch headers tell; with "
        "acks=0 those sent",
    ),
    RecordField("batches", "long", _FLOW, "their record batches"),
    RecordField(
        "records_out",
        "long",
        _FLOW,
        "records in Fetch responses, as their batch headers tell; without control records, and "
        "without formats before Kafka 0.11, which do not tell",
    ),
    RecordField("batches_out", "long", _FLOW, "their record batches"),
    RecordField("acks_0", "long", _FLOW, "produce requests with acks=0"),
    RecordField("acks_1", "long", _FLOW, "produce requests with acks=1"),
    RecordField("acks_all", "long", _FLOW, "produce requests with acks=all"),
    RecordField("idempotent", "long", _FLOW, "batches with a producer id"),
    RecordField("transactional", "long", _FLOW, "batches inside a transaction"),
    RecordField(
        "weak_producers",
        "map<string,long>",
        _FLOW,
        "produce requests that ask for less than the strongest guarantee: `acks0`, `acks1` or "
        "`not_idempotent`, then `_observed`, `_upgraded` or `_refused`; a request counts once for "
        "each namespace, on the topic named first there",
    ),
    RecordField(
        "errors",
        "map<string,long>",
        _FLOW,
        "error codes answered, by Kafka's name; by number where the gateway knows none",
    ),
    RecordField("denials", "map<string,long>", _FLOW, "items denied, by rule"),
    RecordField(
        "gateway_us_quarters",
        "map<string,long>",
        _FLOW,
        "time in the gateway: how many led requests took less than 2^(i/4) us and no less than "
        "2^((i-1)/4), by i, from 0 (below 1 us) to 97 (2^24 us and up); records merge by adding up",
    ),
    RecordField(
        "broker_us_quarters",
        "map<string,long>",
        _FLOW,
        "time at the broker, likewise, and time in which the gateway carried out a request at "
        "brokers and in the catalog; led requests that took none of this do not count here",
    ),
    RecordField(
        "rule",
        "string",
        ("denial", "policy"),
        "denial: the rule that denied; policy: the rule of the policies, such as `partitions.max`",
    ),
    RecordField("error_code", "integer", _DENIAL, "the error code that the client was given"),
    RecordField("error", "string", _DENIAL, "its name"),
    RecordField("resource", "string", _DENIAL, "the requested item, as the client spelled it"),
    RecordField("message", "string", ("denial", "policy"), "why, in a sentence"),
    RecordField(
        "operation",
        "string",
        _DENIAL,
        "the operation, such as `WRITE`, that ACLs or the producer guarantee denied; else null",
        nullable=True,
    ),
    RecordField(
        "named",
        "string",
        _DENIAL,
        "what with, by type and logical name, such as `TOPIC org:orders`; null likewise",
        nullable=True,
    ),
    RecordField(
        "because",
        "string",
        _DENIAL,
        "the ACL that denied, or the missing one; null: no ACL was involved",
        nullable=True,
    ),
    RecordField(
        "topic", "string", _POLICY, "the topic's full logical name; a namespace's ends in `:`"
    ),
    RecordField(
        "source",
        "string",
        _POLICY,
        "where the rule stands in the configuration, such as `policies.namespaces.org`",
    ),
    RecordField("mode", "string", _POLICY, "`enforce` or `warn`"),
    RecordField(
        "outcome",
        "string",
        _POLICY,
        "`refused`, `warned`, or `near`: allowed, and within 20 % of the limit",
    ),
    RecordField("value", "long", _POLICY, "the requested number; null: it is none", nullable=True),
    RecordField("limit", "long", _POLICY, "its limit; null: there is none", nullable=True),
    RecordField(
        "acl",
        "string",
        ("acl",),
        "an ACL that allows the principal something that it does, such as "
        "`ALLOW READ for User:alice on TOPIC:LITERAL:org:orders`",
    ),
)


@dataclass(frozen=True, slots=True)
class Origin:
    """The worker process that writes a record."""

    gateway_id: str
    worker_id: int


class Window(NamedTuple):
    """A window's start, in ms since 1970, and its length in ms."""

    start_ms: int
    length_ms: int


def markdown_table() -> str:
    """:data:`FIELDS` as a table in Markdown, for docs/traffic-log.md."""
    lines = ["| field | type | unit | records | meaning |", "| --- | --- | --- | --- | --- |"]
    for name, kind, kinds, meaning, unit, nullable in FIELDS:
        shown = f"{kind}, may be null" if nullable else kind
        lines.append(f"| `{name}` | {shown} | {unit} | {', '.join(kinds)} | {meaning} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(markdown_table(), end="")
