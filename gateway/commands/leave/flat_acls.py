"""Translates ACLs in logical names into ACLs in the brokers' names.

A gateway's ACL may be on a namespace, where it may also be a gate; brokers know only literal names
and prefixes. So patterns are translated namespace by namespace; ``compared`` then checks which
operations the translation allows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from gateway.acl_model import (
    NAMESPACED,
    WILDCARD,
    AclBinding,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    decided_as,
    is_namespace,
    name_of,
    resource,
)
from gateway.catalog.snapshot import Snapshot
from gateway.commands.leave.names import Names
from gateway.names import DELIMITER
from gateway.names import LogicalName as Name

_GROUP: Final = ResourceType.GROUP
_TOPIC: Final = ResourceType.TOPIC
_ID: Final = ResourceType.TRANSACTIONAL_ID

SUPPORTED: Final = {
    _TOPIC: frozenset(
        {
            Operation.READ,
            Operation.WRITE,
            Operation.CREATE,
            Operation.DESCRIBE,
            Operation.DELETE,
            Operation.ALTER,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
        }
    ),
    _GROUP: frozenset(
        {
            Operation.READ,
            Operation.DESCRIBE,
            Operation.DELETE,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
        }
    ),
    _ID: frozenset({Operation.DESCRIBE, Operation.WRITE, Operation.TWO_PHASE_COMMIT}),
}
"""The operations that kafka-acls accepts for a type (``AclEntry.supportedOperations`` of Kafka
4.3); ALL goes with every type."""


def translated(snapshot: Snapshot, names: Names) -> Iterator[AclBinding]:
    """Every ACL of the catalog, in names and patterns of the brokers; an ACL on a
    namespace becomes several. A DENY on a link is left out, because it does not deny the
    topic that the link leads to."""
    for acls in snapshot.acls.values():
        pattern = decided_as(acls.pattern)
        linked = _is_link(snapshot, pattern)
        for flat in _flat_patterns(snapshot, names, pattern):
            for entry in acls.entries:
                if linked and entry.permission is Permission.DENY:
                    continue
                yield from _bindings(pattern, flat, entry)


def _bindings(
    pattern: ResourcePattern, flat: ResourcePattern, entry: AclEntry
) -> Iterator[AclBinding]:
    operations = {entry.operation}
    if is_namespace(pattern) and entry.operation is Operation.ALTER and flat.type is _TOPIC:
        operations.add(Operation.CREATE)  # because ALTER on a namespace includes it
    for operation in sorted(operations):
        known = SUPPORTED.get(flat.type)
        if known is None or operation is Operation.ALL or operation in known:
            made = AclEntry(entry.principal, entry.host, operation, entry.permission)
            yield AclBinding(flat, made)


def _flat_patterns(
    snapshot: Snapshot, names: Names, pattern: ResourcePattern
) -> Iterator[ResourcePattern]:
    literal = pattern.pattern_type is PatternType.LITERAL
    if pattern.type not in NAMESPACED or (literal and pattern.name == WILDCARD):
        yield pattern
    elif is_namespace(pattern):
        # If the pattern is literally a namespace, an ALLOW there also holds for groups and ids in
        # it, and a gate there is also a gate for them.
        kinds = (_TOPIC, _GROUP, _ID) if literal and pattern.type is _TOPIC else (pattern.type,)
        inside = pattern.name.removesuffix(DELIMITER)
        for namespace in [inside, *snapshot.below(inside)]:
            for kind in kinds:
                yield from _beginning(names, kind, namespace, "")
    elif literal:
        named = resource(pattern.type, pattern.name)
        if pattern.type is _TOPIC:
            flat = names.of_named(Name(named.namespace, named.name))
        else:
            flat = names.prefix(named.namespace) + named.name
        yield ResourcePattern(pattern.type, PatternType.LITERAL, flat)
    else:
        _, head, tail, _ = name_of(pattern.type, pattern.name)
        yield from _beginning(names, pattern.type, head.removesuffix(DELIMITER), tail)


def _beginning(
    names: Names, kind: ResourceType, namespace: str, beginning: str
) -> Iterator[ResourcePattern]:
    """Patterns for the names of a namespace with this beginning, also for topics
    with other flat names."""
    prefix = names.prefix(namespace) + beginning
    yield ResourcePattern(kind, PatternType.PREFIXED, prefix)
    if kind is not _TOPIC:
        return
    for topic in names.topics.values():
        inside = topic.name.namespace == namespace and topic.name.topic.startswith(beginning)
        if inside and not topic.becomes.startswith(prefix):
            yield ResourcePattern(kind, PatternType.LITERAL, topic.becomes)


def _is_link(snapshot: Snapshot, pattern: ResourcePattern) -> bool:
    if pattern.type is not _TOPIC or is_namespace(pattern):
        return False
    named = resource(_TOPIC, pattern.name)
    return Name(named.namespace, named.name) in snapshot.links


class BrokerRules:
    """The decisions of brokers with StandardAuthorizer and these ACLs (KIP-11, KIP-290, KIP-801),
    without ``allow.everyone.if.no.acl.found``."""

    def __init__(self, bindings: Iterable[AclBinding]) -> None:
        self._literal: dict[tuple[ResourceType, str], list[AclBinding]] = {}
        self._prefixed: dict[tuple[ResourceType, str], list[AclBinding]] = {}
        for one in bindings:
            literal = one.pattern.pattern_type is PatternType.LITERAL
            holder = self._literal if literal else self._prefixed
            holder.setdefault((one.pattern.type, one.pattern.name), []).append(one)

    def covering(self, kind: ResourceType, name: str) -> list[AclBinding]:
        """The ACLs whose patterns cover a resource."""
        found = [*self._literal.get((kind, name), ())]
        if name != WILDCARD:
            found += self._literal.get((kind, WILDCARD), ())
        for length in range(1, len(name) + 1):
            found += self._prefixed.get((kind, name[:length]), ())
        return found


def allows(bound: Iterable[AclBinding]) -> bool:
    """The verdict by ACLs of ``covering``, filtered by the principal, the
    host and the operation."""
    permissions = {one.entry.permission for one in bound}
    return Permission.ALLOW in permissions and Permission.DENY not in permissions
