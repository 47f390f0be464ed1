"""The documented rules of access, evaluated without any regard to speed.

Kafka's StandardAuthorizer decides names of the default namespace; before it the gates of namespaces
are checked, beside it the rights on a namespace, and after it delegated rights.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from gateway.acl_model import (
    AclBinding,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from gateway.catalog.snapshot import Snapshot
from gateway.names import parents

IN_NAMESPACES = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
TOPIC = ResourceType.TOPIC
ALLOWED_BY = {
    Operation.DESCRIBE: {
        Operation.DESCRIBE,
        Operation.READ,
        Operation.WRITE,
        Operation.DELETE,
        Operation.ALTER,
    },
    Operation.DESCRIBE_CONFIGS: {Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS},
}


def bindings_of(snapshot: Snapshot) -> list[AclBinding]:
    return [
        AclBinding(pattern, entry)
        for pattern, acls in snapshot.acls.items()
        for entry in acls.entries
    ]


def covers(pattern: ResourcePattern, kind: ResourceType, text: str) -> bool:
    if pattern.type != kind:
        return False
    if pattern.pattern_type == PatternType.LITERAL:
        return pattern.name in ("*", text)
    if kind not in IN_NAMESPACES:
        return text.startswith(pattern.name)
    namespace, _, name = text.rpartition(":")
    if pattern.name.endswith(":"):
        path = pattern.name[:-1]
        return namespace == path or namespace.startswith(path + ":")
    path, _, prefix = pattern.name.rpartition(":")
    return namespace == path and name.startswith(prefix)


@dataclass
class Reference:
    """The client, and the ACLs that exist."""

    bindings: Collection[AclBinding]
    principal: str
    host: str

    def about(self, kind: ResourceType, text: str) -> list[AclBinding]:
        """The ACLs that concern this principal at this host, and a resource."""
        return [
            one
            for one in self.bindings
            if covers(one.pattern, kind, text)
            and one.entry.principal in (self.principal, "User:*")
            and one.entry.host in (self.host, "*")
        ]

    def denies(self, found: Collection[AclBinding], operation: Operation) -> bool:
        return any(
            one.entry.permission == Permission.DENY
            and one.entry.operation in (operation, Operation.ALL)
            for one in found
        )

    def allows(self, found: Collection[AclBinding], operation: Operation) -> bool:
        by = ALLOWED_BY.get(operation, {operation}) | {Operation.ALL}
        return any(
            one.entry.permission == Permission.ALLOW and one.entry.operation in by for one in found
        )

    def has_own_acls(self, tier: str) -> bool:
        own = ResourcePattern(TOPIC, PatternType.LITERAL, tier + ":")
        return any(one.pattern == own for one in self.bindings)

    def tiers_over(self, kind: ResourceType, text: str) -> list[str]:
        """The tiers that a resource is in, from the root down."""
        if kind not in IN_NAMESPACES:
            return []
        namespace = text.rpartition(":")[0]
        tiers = parents(namespace)
        return tiers[:-1] if kind == TOPIC and text.endswith(":") else tiers

    def gate_is_open(self, tier: str, operation: Operation) -> bool:
        found = self.about(TOPIC, tier + ":")
        entering = self.allows(found, operation) or self.allows(found, Operation.DESCRIBE)
        return entering and not self.denies(found, operation)

    def acl_answer(self, operation: Operation, kind: ResourceType, text: str) -> bool | None:
        """The decision of the ACLs, or None if no ACL decides."""
        tiers = self.tiers_over(kind, text)
        for tier in tiers:
            if self.has_own_acls(tier) and not self.gate_is_open(tier, operation):
                return False
        found = self.about(kind, text)
        if self.denies(found, operation):
            return False
        for tier in tiers:
            own = ResourcePattern(TOPIC, PatternType.LITERAL, tier + ":")
            found += [one for one in self.about(TOPIC, tier + ":") if one.pattern == own]
        if self.allows(found, operation):
            return True
        delegable = operation == Operation.CREATE and kind == TOPIC and tiers
        if delegable and self.acl_answer(Operation.ALTER, TOPIC, tiers[-1] + ":"):
            return True
        return None

    def allowed(
        self, operation: Operation, kind: ResourceType, text: str, allow_everyone: bool
    ) -> bool:
        answer = self.acl_answer(operation, kind, text)
        if answer is not None or not allow_everyone:
            return bool(answer)
        if any(covers(one.pattern, kind, text) for one in self.bindings):
            return False
        return not any(map(self.has_own_acls, self.tiers_over(kind, text)))
