"""What a filter means (KIP-140, KIP-290), in the catalog's terms."""

from __future__ import annotations

from gateway.acl_model import (
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from gateway.acls.authorizer import AclFilter
from gateway.acls.patterns import covers


def means_pattern(matching: AclFilter, pattern: ResourcePattern) -> bool:
    """Whether a filter means a pattern."""
    if matching.type not in (ResourceType.ANY, pattern.type):
        return False
    if matching.pattern_type is PatternType.MATCH:
        return matching.name is None or covers(pattern, pattern.type, matching.name)
    if matching.pattern_type not in (PatternType.ANY, pattern.pattern_type):
        return False
    return matching.name in (None, pattern.name)


def means_entry(matching: AclFilter, entry: AclEntry) -> bool:
    """Whether a filter means an entry, whatever its pattern."""
    return (
        matching.principal in (None, entry.principal)
        and matching.host in (None, entry.host)
        and matching.operation in (Operation.ANY, entry.operation)
        and matching.permission in (Permission.ANY, entry.permission)
    )
