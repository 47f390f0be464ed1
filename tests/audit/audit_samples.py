"""Audit events for tests, and for the examples of docs/audit.md."""

from __future__ import annotations

from gateway.acl_model import (
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from gateway.audit.catalog_changes import CatalogChange, changes_of
from gateway.audit.event import AuditEvent, AuthenticationFailure, Happening, Revocation
from gateway.catalog.entities import Change, Entity, Removal, ResourceAcls, key_of
from gateway.catalog.source import Actor, Committed
from gateway.flows import Denial, FlowSource
from tests.gateway.flow_samples import source

SOURCE = "/kafka-gateway/gw-1/w0"
TIME = 1_763_750_525.25
ACTOR = Actor("User:alice", "10.0.0.1:50000", "colon", "admin-1", "CreateAcls")
PATTERN = ResourcePattern(ResourceType.TOPIC, PatternType.PREFIXED, "org:apache:")


def event(what: Happening, number: int = 1, time: float = TIME) -> AuditEvent:
    return AuditEvent(f"5f0c9a61d2b7e384-{number}", time, what)


def alice() -> FlowSource:
    return source(principal="User:alice")


def acl_denial(client: FlowSource | None = None) -> Denial:
    """A denial by ACLs of a topic of alice's, at a listener whose home is org."""
    return Denial(
        client or alice(),
        0,
        9,
        "acl",
        29,
        "orders",
        "User:alice is not allowed to WRITE topic 'org:orders'.",
        "WRITE",
        "TOPIC org:orders",
        "DENY WRITE for User:alice on TOPIC:LITERAL:org:orders",
    )


def failure(
    user: str | None = "alice", reason: str = "The credentials are not right."
) -> AuthenticationFailure:
    return AuthenticationFailure(
        "clients", "10.0.0.1:50000", "SCRAM-SHA-512", user, reason, "User:ANONYMOUS"
    )


def revocation() -> Revocation:
    return Revocation(alice(), "its token has expired")


def entry(principal: str, operation: Operation = Operation.READ) -> AclEntry:
    return AclEntry(principal, "*", operation, Permission.ALLOW)


def acls(*principals: str) -> ResourceAcls:
    return ResourceAcls(PATTERN, frozenset(map(entry, principals)))


def committed(before: Entity | None, after: Entity | None, *, certain: bool = True) -> Committed:
    present: Change | None = after if after is not None else before
    assert present is not None
    assert not isinstance(present, Removal)
    return Committed(ACTOR, key_of(present), before, after, 42, certain)


def change(before: Entity | None, after: Entity | None) -> CatalogChange:
    (one,) = changes_of(committed(before, after))
    return one
