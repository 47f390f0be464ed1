"""The content of an audit event: CloudEvents 1.0's attributes, and the fields of its ``data``.

:data:`ATTRIBUTES` and :data:`FIELDS` are the only source: docs/audit.md is made from them (``python
-m gateway.audit.fields``), and tests compare. A field is never renamed, and its type and meaning
never change: if a meaning has to change, it gets a new name and a new :data:`SCHEMA_VERSION`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

SCHEMA_VERSION: Final = 1
SPEC_VERSION: Final = "1.0"
CONTENT_TYPE: Final = "application/json"

Kind = Literal["denied", "failed", "revoked", "changed"]
"""The name of a kind of event in the tables."""

TYPES: Final[Mapping[Kind, str]] = {
    "denied": "kafka.gateway.access.denied",
    "failed": "kafka.gateway.authentication.failed",
    "revoked": "kafka.gateway.connection.revoked",
    "changed": "kafka.gateway.catalog.changed",
}
"""The ``type`` of each kind of event."""

MAX_CLAIMED: Final = 300
"""Characters that are kept of the name that a client claims."""

_ALL: Final[tuple[Kind, ...]] = ("denied", "failed", "revoked", "changed")
_CLIENTS: Final[tuple[Kind, ...]] = ("denied", "revoked")
_DENIED: Final[tuple[Kind, ...]] = ("denied",)
_FAILED: Final[tuple[Kind, ...]] = ("failed",)
_CHANGED: Final[tuple[Kind, ...]] = ("changed",)


class Field(NamedTuple):
    """A field. ``kinds`` are the events that have it; other events lack the key."""

    name: str
    type: Literal["string", "integer", "object"]
    kinds: tuple[Kind, ...]
    meaning: str
    nullable: bool = False


ATTRIBUTES: Final[tuple[Field, ...]] = (
    Field("specversion", "string", _ALL, f"of CloudEvents: `{SPEC_VERSION}`"),
    Field("id", "string", _ALL, "unique; the same event comes under the same id wherever it goes"),
    Field("source", "string", _ALL, "`/kafka-gateway/GATEWAY/PROCESS`: who writes it"),
    Field("type", "string", _ALL, "the table above has them"),
    Field("time", "string", _ALL, "when it happened: RFC 3339, UTC, microseconds"),
    Field("datacontenttype", "string", _ALL, f"`{CONTENT_TYPE}`"),
    Field("subject", "string", _ALL, "what it is about, in a few words to filter by"),
    Field("data", "object", _ALL, "the fields below"),
)
"""The envelope."""

FIELDS: Final[tuple[Field, ...]] = (
    Field("schema_version", "integer", _ALL, f"this table's version: {SCHEMA_VERSION}"),
    Field(
        "principal",
        "string",
        _ALL,
        "who: `User:alice`, `User:ANONYMOUS` for who has proved nothing, and in changes `gateway`, "
        "`gateway:` and a background task, or `operator:` and a login",
    ),
    Field(
        "address",
        "string",
        _ALL,
        "the client's, with its port; of a request that came by another gateway of the tree, a "
        "peer, the client's IP address without a port, and the peer's name: "
        "`192.0.2.7 (peer la-gateway)`; empty for what the gateway does of itself",
    ),
    Field("listener", "string", _ALL, "the listener that the client connected to, or empty"),
    Field(
        "client_id", "string", ("denied", "revoked", "changed"), "as the client sends it, or empty"
    ),
    Field("software_name", "string", _CLIENTS, "the client library (KIP-511), or empty"),
    Field("software_version", "string", _CLIENTS, "its version, or empty"),
    Field(
        "cluster",
        "string",
        ("denied", "revoked", "changed"),
        "the name that the configuration has for the cluster; denied, changed: for that of the "
        "resource",
    ),
    Field(
        "api",
        "string",
        ("denied", "changed"),
        "Kafka's name of the request, such as `Produce`; of changes also the command, or empty",
    ),
    Field("api_version", "integer", _DENIED, "the version that the client used"),
    Field(
        "mechanism",
        "string",
        _FAILED,
        "how the client tried to prove who it is: a SASL mechanism, `TLS`, or empty",
    ),
    Field(
        "claimed_user",
        "string",
        _FAILED,
        f"the name that it claims, cut at {MAX_CLAIMED} characters; null: not known",
        nullable=True,
    ),
    Field(
        "operation",
        "string",
        _DENIED,
        "the operation, such as `WRITE`, that ACLs or the producer guarantee denied; else null",
        nullable=True,
    ),
    Field(
        "resource_type",
        "string",
        ("denied", "changed"),
        "denied: `TOPIC`, `GROUP`, `CLUSTER`, `TRANSACTIONAL_ID`, null where `operation` is; "
        "changed: the catalog's kind, such as `namespace` or `acl`",
        nullable=True,
    ),
    Field(
        "resource",
        "string",
        ("denied", "changed"),
        "its logical name (a namespace's ends in `:`); if `operation` is null, as it was spelled",
    ),
    Field(
        "path",
        "string",
        ("denied", "changed"),
        "in a tree the absolute path of a topic or namespace, such as `:la:tracking:search:x`; "
        "null elsewhere; denied: also null if no ACL was involved",
        nullable=True,
    ),
    Field("spelled", "string", _DENIED, "the requested item, as the client spelled it"),
    Field(
        "rule",
        "string",
        _DENIED,
        "the rule that denied; `acl`: the ACLs; `peer`: another gateway may not speak for the"
        " principal",
    ),
    Field(
        "because",
        "string",
        _DENIED,
        "the ACL that denied, or the missing one; null: no ACL was involved",
        nullable=True,
    ),
    Field("error_code", "integer", _DENIED, "the error code that the client was given"),
    Field("error", "string", _DENIED, "its name"),
    Field("message", "string", _DENIED, "why, in a sentence"),
    Field("reason", "string", ("failed", "revoked"), "why, in a few words"),
    Field("action", "string", _CHANGED, "`created`, `altered` or `deleted`"),
    Field("before", "object", _CHANGED, "its state before; null: there was none", nullable=True),
    Field("after", "object", _CHANGED, "its state after; null: there is none", nullable=True),
    Field("catalog_version", "integer", _CHANGED, "the catalog's version after it"),
    Field(
        "outcome",
        "string",
        _CHANGED,
        "`committed`; `unknown`: the cluster was lost before it said so",
    ),
)
"""The fields of ``data``."""


def markdown_tables() -> str:
    """Both tables, for docs/audit.md."""
    attributes = ["| attribute | type | meaning |", "| --- | --- | --- |"]
    attributes += [
        f"| `{name}` | {kind} | {meaning} |" for name, kind, _, meaning, *_ in ATTRIBUTES
    ]
    fields = ["| field | type | events | meaning |", "| --- | --- | --- | --- |"]
    for name, kind, kinds, meaning, nullable in FIELDS:
        shown = f"{kind}, may be null" if nullable else kind
        fields.append(f"| `{name}` | {shown} | {_events(kinds)} | {meaning} |")
    return "\n".join([*attributes, "", *fields]) + "\n"


def _events(kinds: Sequence[Kind]) -> str:
    return "all" if len(kinds) == len(TYPES) else ", ".join(kinds)


if __name__ == "__main__":
    print(markdown_tables(), end="")
