"""Rights to the groups of a namespace, which are deleted with the namespace."""

from __future__ import annotations

from typing import Final

from gateway.acl_model import (
    ANY_USER,
    WILDCARD,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    Resource,
    ResourcePattern,
    ResourceType,
    decided_as,
    namespace_of,
)
from gateway.acls.grants import binds
from gateway.decision import Denied
from gateway.error_codes import TOPIC_AUTHORIZATION_FAILED
from gateway.names import DELIMITER
from gateway.views.access import ALTER, DELETE, Access
from gateway.views.authorized_access import ACL_RULE

_ANYTHING: Final = "?"
"""Stands for any name in a namespace; no topic has this name."""


def groups_why_not(access: Access, path: str) -> Denied | None:
    """Why the groups of a namespace may not be deleted, or None if they may.

    Only brokers list groups, and they are queried later. So this decides by the ACLs that the
    principal cannot change: a DENY of DELETE on any group in the namespace, and the namespace's own
    ACLs, which may deny the principal everything inside it.
    """
    if access.cluster(ALTER) is None:
        return None
    own = ResourcePattern(ResourceType.TOPIC, PatternType.LITERAL, path + DELIMITER)
    if own in access.view.snapshot.acls and not access.manages(own):
        why = access.denial(DELETE, Resource(ResourceType.TOPIC, path, _ANYTHING))
        if why is not None:
            return why
    for principal in (access.principal, ANY_USER):
        wanted = AclFilter(ResourceType.GROUP, principal=principal, permission=Permission.DENY)
        for found in access.acls(wanted):
            pattern = decided_as(found.pattern)
            if not binds(found.entry, access.principal, access.host, Operation.DELETE):
                continue
            if _meets(pattern, path) and not access.manages(pattern):
                operation, group = (
                    Operation.DELETE.name,
                    f"{ResourceType.GROUP.name} {pattern.name}",
                )
                text = f"{access.principal} is not allowed to {operation} its groups."
                return Denied(
                    TOPIC_AUTHORIZATION_FAILED, text, ACL_RULE, operation, group, str(found)
                )
    return None


def _meets(pattern: ResourcePattern, path: str) -> bool:
    """Whether a pattern covers any name in a namespace."""
    if namespace_of(pattern) == path:
        return True
    if pattern.pattern_type is PatternType.LITERAL:
        return pattern.name == WILDCARD
    return pattern.name.endswith(DELIMITER) and (path + DELIMITER).startswith(pattern.name)
