"""What a client is told of what the ACLs deny it: in names that it wrote itself, or knows."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from gateway.acl_model import CLUSTER, Operation, Resource, ResourceType
from gateway.acls.authorizer import Verdict
from gateway.decision import Denied
from gateway.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    GROUP_AUTHORIZATION_FAILED,
    TOPIC_AUTHORIZATION_FAILED,
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
)
from gateway.names import DELIMITER
from gateway.views.spelling import below

ACL_RULE: Final = "acl"
"""The rule of every denial by the authorizer."""

CODES: Final = {
    ResourceType.TOPIC: TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
"""What Kafka answers where an operation on a resource is not allowed."""


def denied(
    principal: str, operation: Operation, named: Resource, verdict: Verdict, home: str
) -> Denied:
    """The denial of an operation on a resource; ``home`` is that of the client's view."""
    return Denied(
        CODES[named.type],
        _sentence(principal, operation.name, named.type.name, _seen_from(home, named)),
        ACL_RULE,
        operation.name,
        str(named),
        verdict.rule,
    )


def as_asked(denial: Denied, principal: str, spelled: bytes) -> Denied:
    """The denial for a client that wrote ``spelled``: a moved topic's own name is not for whoever
    knows it by an alias only."""
    kind = denial.resource.partition(" ")[0]
    name = spelled.decode(errors="replace")
    return replace(denial, message=_sentence(principal, denial.operation, kind, name))


def unnamed(denial: Denied, principal: str) -> Denied:
    """The denial for a client that gave no name: by its id a topic's is not found out."""
    kind = denial.resource.partition(" ")[0]
    return replace(denial, message=_sentence(principal, denial.operation, kind, None))


def _sentence(principal: str, operation: str, kind: str, name: str | None) -> str:
    what = kind.lower().replace("_", " ")
    if kind == ResourceType.CLUSTER.name:
        shown = what
    else:
        shown = f"this {what}" if name is None else f"{what} '{name}'"
    return f"{principal} is not allowed to {operation} {shown}."


def _seen_from(home: str, named: Resource) -> str | None:
    """A name as a client of this home writes it; None for what it has no name for."""
    if named is CLUSTER or not home:
        return named.text
    inside = below(named.namespace, home) if named.namespace else None
    if inside is None:
        return None
    return f"{inside}{DELIMITER}{named.name}" if inside or not named.name else named.name
