"""The gateway's default authorizer: Kafka's StandardAuthorizer, with namespaces before it.

A name of the default namespace is decided as in Kafka 4.x (KIP-11, KIP-290, KIP-679, KIP-801). If a
name is in another namespace, each tier of that namespace that has ACLs of its own is a gate that
the principal has to pass first, and an ALLOW on a namespace holds for every resource in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from gateway.acl_model import (
    NAMESPACED,
    AclBinding,
    AclFilter,
    Operation,
    PatternType,
    Resource,
    ResourcePattern,
    ResourceType,
    anything_in,
    name_of,
    namespace_of,
    tiers_of,
)
from gateway.acls.authorizer import NO_ACL_FOUND, Authorizer, Verdict
from gateway.acls.evaluator import PROBE, AclEvaluators
from gateway.acls.grants import canonical_host
from gateway.acls.index import AclIndex, matching_acls
from gateway.catalog.snapshot import Snapshot
from gateway.names import DELIMITER

_SUPER_USER: Final = Verdict(True, "super.users")
_NO_ACL: Final = Verdict(False, "no ACL allows it")


class StandardAuthorizer(Authorizer):
    """Decides by the catalog's ACLs."""

    def __init__(self) -> None:
        self._super_users: frozenset[str] = frozenset()
        self._allow_everyone = False
        self._index = AclIndex()
        self._evaluators = AclEvaluators(self._index)

    def configure(self, configs: Mapping[str, object], changed: Callable[[], None]) -> None:
        """Take the two settings of Kafka's StandardAuthorizer, and no other setting."""
        for key, value in configs.items():
            if key == "super.users" and isinstance(value, tuple):
                self._super_users = frozenset(value)
            elif key == "allow.everyone.if.no.acl.found" and isinstance(value, bool):
                self._allow_everyone = value
            else:
                raise ValueError(f"the standard authorizer takes no '{key}'; leave it out")

    def prepare(self, snapshot: Snapshot) -> None:
        if snapshot.acls is not self._index.acls:
            self._index.prepare(snapshot.acls)

    def see(self, snapshot: Snapshot) -> None:
        if snapshot.acls is not self._index.acls:
            self._evaluators.forget(self._index.see(snapshot.acls))

    def authorize(
        self, principal: str, host: str, operation: Operation, resource: Resource
    ) -> Verdict:
        if principal in self._super_users:
            return _SUPER_USER
        evaluator = self._evaluators.of(principal, canonical_host(host))
        kind, text = resource.type, resource.text
        verdict = evaluator.answer(operation, kind, name_of(kind, text))
        if verdict is not None:
            return verdict
        if self._allow_everyone and not self._found(kind, text):
            return NO_ACL_FOUND
        return _NO_ACL

    def denying(
        self, principal: str, host: str, operation: Operation, resource: Resource
    ) -> Verdict | None:
        if principal in self._super_users:
            return None
        evaluator = self._evaluators.of(principal, canonical_host(host))
        found = evaluator.denying(operation, resource.type, name_of(resource.type, resource.text))
        return None if found is None else Verdict(False, found)

    def authorize_any(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> Verdict:
        """As in Kafka's StandardAuthorizer, a DENY of the same or a shorter PREFIXED pattern
        overrides an ALLOW; so does a namespace that is closed to the principal. Only an ALLOW that
        names the operation, or ALL, counts, not an ALLOW that implies or delegates it."""
        if principal in self._super_users:
            return _SUPER_USER
        evaluator = self._evaluators.of(principal, canonical_host(host))
        verdict = evaluator.anywhere(operation, resource_type)
        if verdict is not None:
            return verdict
        if self._allow_everyone and not self._found(resource_type, PROBE.text):
            return NO_ACL_FOUND
        return Verdict(False, f"no ACL allows {operation.name} on any {resource_type.name}")

    def may_manage(self, principal: str, host: str, pattern: ResourcePattern) -> bool:
        """``allow.everyone.if.no.acl.found`` does not give this right. If a namespace is closed to
        a principal, the principal has the right for the namespace at most, not for names in it."""
        namespace = namespace_of(pattern)
        if namespace is None:
            return False
        if principal in self._super_users:
            return True
        tier = namespace + DELIMITER
        literal = pattern.pattern_type is PatternType.LITERAL
        own = literal and pattern.type is ResourceType.TOPIC and pattern.name == tier
        name = name_of(ResourceType.TOPIC, tier) if own else anything_in(tier)
        evaluator = self._evaluators.of(principal, canonical_host(host))
        verdict = evaluator.answer(Operation.ALTER, ResourceType.TOPIC, name)
        return verdict is not None and verdict.allowed

    def acls(self, matching: AclFilter) -> Iterable[AclBinding]:
        return matching_acls(self._index, matching)

    def _found(self, kind: ResourceType, text: str) -> bool:
        """Whether any principal has an ACL on a resource, or on a namespace above it."""
        if kind in NAMESPACED and not self._index.own_acls.isdisjoint(tiers_of(text)):
            return True
        return self._index.covers(kind, text)
