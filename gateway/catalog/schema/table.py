"""The table of kinds: how each kind of entity is kept, exported, shown and audited.

Records, export, import, diff and the audit log are derived from it
(gateway/catalog/schema/kinds.py). A new kind is a dataclass in ``entities``, and its row here.
"""

from __future__ import annotations

from typing import Final

from gateway.acl_model import MAX_ENTRIES, WILDCARD, AclEntry, Operation, Permission
from gateway.catalog.entities import (
    Alias,
    CatalogFormat,
    Change,
    ClientMetrics,
    Freeze,
    Gateway,
    Link,
    Member,
    Namespace,
    PrincipalHome,
    Removal,
    ResourceAcls,
    ScramCredential,
    Seeds,
    Signing,
    TopicEntry,
    Volume,
    Worker,
)
from gateway.catalog.schema.field_types import (
    CONFIGS,
    DIGITS,
    FLAG,
    NAME,
    NAMESPACE,
    NUMBER,
    OPTIONAL_TIME,
    PATTERN,
    PRINCIPAL,
    TEXT,
    TEXT_SET,
    TEXTS,
    TIME,
    TOPIC_ID,
    Code,
    FieldType,
    OneOf,
)
from gateway.catalog.schema.file_checks import (
    check_client_metrics,
    check_credential,
    check_entry,
    check_home,
    check_link,
    check_path,
    check_seeds,
)
from gateway.catalog.schema.kinds import Kind, Section
from gateway.catalog.schema.shapes import Field, Records, Shape
from gateway.catalog.schema.yaml_values import time_text
from gateway.names import DELIMITER

LINK_FORMAT: Final = 3
"""The catalog format from which on there are links."""

MEMBER_FORMAT: Final = 4
"""The catalog format from which on gateways are listed among the brokers."""

FREEZE_FORMAT: Final = 5
"""The catalog format from which on names are frozen before they lead elsewhere."""

METRICS_FORMAT: Final = 6
"""The catalog format from which on there are subscriptions of client metrics."""

_ALIASES: Final = Records(
    Shape(Alias, [Field("name", NAME), Field("until", TIME), Field("topic_id", TOPIC_ID)]),
    "an alias",
    line=lambda alias: f"{alias.name} until {time_text(alias.until)}",
)
_ENTRIES: Final = Records(
    Shape(
        AclEntry,
        [
            Field("permission", Code(above=Permission.ANY)),
            Field("operation", Code(above=Operation.ANY)),
            Field("principal", PRINCIPAL),
            Field(
                "host",
                FieldType(empty="write an IP address, or leave it out for all"),
                default=WILDCARD,
            ),
        ],
    ),
    "an entry",
    unordered=True,
    compact=True,
    most=MAX_ENTRIES,
    of="a pattern",
)

KINDS: Final[dict[str, Kind]] = {
    kind.name: kind
    for kind in (
        Kind(CatalogFormat, [Field("level", NUMBER)], nothing=CatalogFormat(1), counted=False),
        Kind(
            Signing,
            [Field("key", TEXT), Field("whole", FLAG, of_decision=True)],
            level=2,
            nothing=Signing(""),
            counted=False,
        ),
        Kind(
            Volume,
            [Field("number", NUMBER)],
            level=3,
            title="number in the tree",
            nothing=Volume(0),
            counted=False,
        ),
        Kind(
            Seeds,
            [Field("namespaces", TEXT_SET)],
            section=Section("seeded", "value"),
            title="list of namespaces that configuration files have made",
            check=check_seeds,
            nothing=Seeds(frozenset()),
            added=1,
            removed=6,
        ),
        Kind(
            Gateway,
            [Field("gateway_id", TEXT), Field("format", NUMBER), Field("software", TEXT)],
        ),
        Kind(
            Member,
            [
                Field("gateway_id", TEXT),
                Field("number", NUMBER),
                Field("addresses", CONFIGS),
                Field("brokers", CONFIGS),
                Field("node_ids", TEXTS),
            ],
            level=MEMBER_FORMAT,
        ),
        Kind(
            Worker,
            [
                Field("run", TEXT),
                Field("gateway_id", TEXT),
                Field("number", NUMBER),
                Field("has_read", TEXTS),
                Field("gone", TIME),
                Field("unheard", TIME),
            ],
            level=FREEZE_FORMAT,
            counted=False,
            audited=False,
        ),
        Kind(
            Freeze,
            [
                Field("freeze_id", TEXT),
                Field("run", TEXT),
                Field("until", TIME),
                Field("names", TEXTS),
                Field("namespaces", TEXTS),
            ],
            level=FREEZE_FORMAT,
            counted=False,
            audited=False,
        ),
        Kind(
            Namespace,
            [
                Field("path", NAMESPACE),
                Field("configs", CONFIGS),
                Field("settings", CONFIGS),
                Field("deleting", OPTIONAL_TIME, warning="its topics will be deleted"),
                Field("apply", TEXTS, note=True),
                Field("apply_since", TIME, note=True),
            ],
            section=Section("namespaces", "fields by key", always=True),
            resource=lambda one: one.path + DELIMITER,
            check=check_path,
            nested=True,
            added=1,
            removed=6,
        ),
        Kind(
            TopicEntry,
            [
                Field("name", NAME),
                Field("flat", TEXT),
                Field("topic_id", TOPIC_ID),
                Field("own_configs", TEXTS),
                Field("aliases", _ALIASES),
                Field("apply", FLAG, note=True),
                Field("creating", FLAG, note=True),
                Field("since", TIME, note=True),
                Field("counted", NUMBER, note=True),
            ],
            section=Section("topics", "list", always=True, order=lambda one: (one.name, one.flat)),
            title="topic stored as {0}",
            resource=lambda one: str(one.name),
            check=check_entry,
        ),
        Kind(
            Link,
            [
                Field("name", NAME),
                Field("flat", TEXT),
                Field("topic_id", TOPIC_ID),
                Field("gone", TEXT),
            ],
            level=LINK_FORMAT,
            section=Section("links", "list", order=lambda one: one.name),
            title="link {0}",
            resource=lambda one: str(one.name),
            check=check_link,
            added=3,
            removed=4,
        ),
        Kind(
            ResourceAcls,
            [Field("pattern", PATTERN), Field("entries", _ENTRIES)],
            section=Section("acls", "list"),
            title="ACLs on {0}",
            added=0,
            removed=8,
        ),
        Kind(
            ScramCredential,
            [
                Field("user", FieldType(empty="write the user's name")),
                Field("mechanism", OneOf("SCRAM-SHA-256", "SCRAM-SHA-512")),
                Field("iterations", NUMBER),
                Field("salt", DIGITS, secret=True),
                Field("stored_key", DIGITS, secret=True),
                Field("server_key", DIGITS, secret=True),
            ],
            section=Section("scram", "list"),
            title="{0} credential of {1}",
            check=check_credential,
            added=3,
            removed=4,
        ),
        Kind(
            PrincipalHome,
            [Field("principal", TEXT), Field("namespace", NAMESPACE)],
            section=Section("homes", "value by key"),
            title="home of {0}",
            check=check_home,
            removed=7,
        ),
        Kind(
            ClientMetrics,
            [
                Field("name", FieldType(empty="write the subscription's name")),
                Field("configs", CONFIGS),
            ],
            level=METRICS_FORMAT,
            section=Section("client_metrics", "value by key"),
            title="client metrics {0}",
            check=check_client_metrics,
            added=3,
            removed=4,
        ),
    )
}
"""Every kind, by its name, in the order in which snapshots list and files show them."""


def kind_of(change: Change) -> Kind:
    """The kind of the entity that a change replaces or removes. Raises ValueError."""
    name = change.key[0] if isinstance(change, Removal) else change.KIND
    if name not in KINDS:
        raise ValueError(f"the catalog holds nothing of kind {name!r}")
    return KINDS[name]
