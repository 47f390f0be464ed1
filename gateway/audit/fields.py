"""What an audit event holds: CloudEvents 1.0's attributes, and the fields of its ``data``.

:data:`ATTRIBUTES` and :data:`FIELDS` are the one place that says so. docs/audit.md is made from
them (``python -m gateway.audit.fields``), and tests compare. A field is never renamed, and its type
and meaning never change: what must change gets a new name and a new :data:`SCHEMA_VERSION`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

SCHEMA_VERSION: Final = 1
SPEC_VERSION: Final = "1.0"
CONTENT_TYPE: Final = "application/json"

Kind = Literal["denied", "failed", "revoked", "changed"]
"""What the tables call an event."""

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
    """One field. ``kinds`` are the events that have it; elsewhere the key is left out."""

    name: str
    type: Literal["string", "integer", "object"]
    meaning: str
    kinds: tuple[Kind, ...]
    nullable: bool = False


ATTRIBUTES: Final[tuple[Field, ...]] = (
    Field("specversion", "string", f"of CloudEvents: `{SPEC_VERSION}`", _ALL),
    Field("id", "string", "unique; the same event comes under the same id wherever it goes", _ALL),
    Field("source", "string", "`/kafka-gateway/GATEWAY/PROCESS`: who writes it", _ALL),
    Field("type", "string", "the table above has them", _ALL),
    Field("time", "string", "when it happened: RFC 3339, UTC, microseconds", _ALL),
    Field("datacontenttype", "string", f"`{CONTENT_TYPE}`", _ALL),
    Field("subject", "string", "what it is about, in a few words to filter by", _ALL),
    Field("data", "object", "the fields below", _ALL),
)
"""The envelope."""

FIELDS: Final[tuple[Field, ...]] = (
    Field("schema_version", "integer", f"this table's version: {SCHEMA_VERSION}", _ALL),
    Field(
        "principal",
        "string",
        "who: `User:alice`, `User:ANONYMOUS` for who has proved nothing, and in changes `gateway`, "
        "`gateway:` and a background task, or `operator:` and a login",
        _ALL,
    ),
    Field(
        "address",
        "string",
        "the client's, with its port; empty for what the gateway does of itself",
        _ALL,
    ),
    Field("listener", "string", "the listener that the client connected to, or empty", _ALL),
    Field(
        "client_id", "string", "as the client sends it, or empty", ("denied", "revoked", "changed")
    ),
    Field("software_name", "string", "the client library (KIP-511), or empty", _CLIENTS),
    Field("software_version", "string", "its version, or empty", _CLIENTS),
    Field(
        "api",
        "string",
        "Kafka's name of the request, such as `Produce`; of changes also the command, or empty",
        ("denied", "changed"),
    ),
    Field("api_version", "integer", "the version that the client used", _DENIED),
    Field(
        "mechanism",
        "string",
        "how the client tried to prove who it is: a SASL mechanism, `TLS`, or empty",
        _FAILED,
    ),
    Field(
        "claimed_user",
        "string",
        f"the name that it claims, cut at {MAX_CLAIMED} characters; null: not known",
        _FAILED,
        nullable=True,
    ),
    Field(
        "operation",
        "string",
        "what was to be done, such as `WRITE`; null: no ACL was asked",
        _DENIED,
        nullable=True,
    ),
    Field(
        "resource_type",
        "string",
        "denied: `TOPIC`, `GROUP`, `CLUSTER`, `TRANSACTIONAL_ID`, null: no ACL was asked; "
        "changed: the catalog's kind, such as `namespace` or `acl`",
        ("denied", "changed"),
        nullable=True,
    ),
    Field(
        "resource",
        "string",
        "its logical name (a namespace's ends in `:`); where no ACL was asked as it was spelled",
        ("denied", "changed"),
    ),
    Field("spelled", "string", "what was asked for, as the client spelled it", _DENIED),
    Field("rule", "string", "the rule that refused; `acl`: the ACLs", _DENIED),
    Field(
        "because",
        "string",
        "which ACL refused, or for want of which; null: no ACL was asked",
        _DENIED,
        nullable=True,
    ),
    Field("error_code", "integer", "the error code that the client was given", _DENIED),
    Field("error", "string", "its name", _DENIED),
    Field("message", "string", "why, in a sentence", _DENIED),
    Field("reason", "string", "why, in a few words", ("failed", "revoked")),
    Field("action", "string", "`created`, `altered` or `deleted`", _CHANGED),
    Field("before", "object", "its state before; null: there was none", _CHANGED, nullable=True),
    Field("after", "object", "its state after; null: there is none", _CHANGED, nullable=True),
    Field("catalog_version", "integer", "the catalog's version after it", _CHANGED),
    Field(
        "outcome",
        "string",
        "`committed`; `unknown`: the cluster was lost before it said so",
        _CHANGED,
    ),
)
"""What ``data`` holds."""


def markdown_tables() -> str:
    """Both tables, for docs/audit.md."""
    attributes = ["| attribute | type | meaning |", "| --- | --- | --- |"]
    attributes += [f"| `{name}` | {kind} | {meaning} |" for name, kind, meaning, *_ in ATTRIBUTES]
    fields = ["| field | type | events | meaning |", "| --- | --- | --- | --- |"]
    for name, kind, meaning, kinds, nullable in FIELDS:
        shown = f"{kind}, may be null" if nullable else kind
        fields.append(f"| `{name}` | {shown} | {_events(kinds)} | {meaning} |")
    return "\n".join([*attributes, "", *fields]) + "\n"


def _events(kinds: Sequence[Kind]) -> str:
    return "all" if len(kinds) == len(TYPES) else ", ".join(kinds)


if __name__ == "__main__":
    print(markdown_tables(), end="")
