"""The authorizer of the gateway: Kafka's StandardAuthorizer, and namespaces before it.

A name of the default namespace is decided as Kafka 4.x does (KIP-11, KIP-290, KIP-679,
KIP-801). For any other, each tier of its namespace that has ACLs of its own is a gate that the
principal has to pass first; what is allowed on a namespace is allowed on everything in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from gateway.acl_model import (
    AclBinding,
    Operation,
    PatternType,
    Resource,
    ResourcePattern,
    ResourceType,
)
from gateway.acls.asker import PROBE, Askers
from gateway.acls.authorizer import AclFilter, Authorizer, Verdict
from gateway.acls.grants import canonical_host
from gateway.acls.index import AclIndex
from gateway.acls.patterns import (
    NAMESPACED,
    anything_in,
    name_of,
    namespace_of,
    tiers_of,
)
from gateway.acls.search import matching_acls
from gateway.catalog.snapshot import Snapshot
from gateway.names import DELIMITER

_SUPER_USER: Final = Verdict(True, "super.users")
_NO_ACL: Final = Verdict(False, "no ACL allows it")
_NO_ACL_FOUND: Final = Verdict(True, "allow.everyone.if.no.acl.found")


class StandardAuthorizer(Authorizer):
    """Decides by the catalog's ACLs."""

    def __init__(self) -> None:
        self._super_users: frozenset[str] = frozenset()
        self._allow_everyone = False
        self._index = AclIndex()
        self._askers = Askers(self._index)

    def configure(self, configs: Mapping[str, object], changed: Callable[[], None]) -> None:
        """See :class:`Authorizer`. It has the two settings that Kafka's has, and no other."""
        for key, value in configs.items():
            if key == "super.users" and isinstance(value, tuple):
                self._super_users = frozenset(value)
            elif key == "allow.everyone.if.no.acl.found" and isinstance(value, bool):
                self._allow_everyone = value
            else:
                raise ValueError(f"the standard authorizer takes no '{key}'; leave it out")

    def see(self, snapshot: Snapshot) -> None:
        """See :class:`Authorizer`. What has not changed costs next to nothing."""
        if snapshot.acls is not self._index.acls:
            self._askers.forget(self._index.see(snapshot.acls))

    def authorize(
        self, principal: str, host: str, operation: Operation, resource: Resource
    ) -> Verdict:
        """See :class:`Authorizer`."""
        if principal in self._super_users:
            return _SUPER_USER
        asker = self._askers.of(principal, canonical_host(host))
        kind, text = resource.type, resource.text
        verdict = asker.answer(operation, kind, name_of(kind, text))
        if verdict is not None:
            return verdict
        if self._allow_everyone and not self._found(kind, text):
            return _NO_ACL_FOUND
        return _NO_ACL

    def authorize_any(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> Verdict:
        """See :class:`Authorizer`.

        As in Kafka's own, a DENY of the same or a shorter PREFIXED pattern takes an ALLOW's effect
        away; so does a namespace that is closed to the principal. An ALLOW counts that names the
        operation, or ALL: what it implies, or delegates, does not.
        """
        if principal in self._super_users:
            return _SUPER_USER
        asker = self._askers.of(principal, canonical_host(host))
        verdict = asker.anywhere(operation, resource_type)
        if verdict is not None:
            return verdict
        if self._allow_everyone and not self._found(resource_type, PROBE.text):
            return _NO_ACL_FOUND
        return Verdict(False, f"no ACL allows {operation.name} on any {resource_type.name}")

    def may_manage(self, principal: str, host: str, pattern: ResourcePattern) -> bool:
        """See :class:`Authorizer`. That nobody has written an ACL gives nobody this right, and
        whom a namespace is closed to has it for the namespace at most, not for what is in it."""
        namespace = namespace_of(pattern)
        if namespace is None:
            return False
        if principal in self._super_users:
            return True
        tier = namespace + DELIMITER
        literal = pattern.pattern_type is PatternType.LITERAL
        own = literal and pattern.type is ResourceType.TOPIC and pattern.name == tier
        name = name_of(ResourceType.TOPIC, tier) if own else anything_in(tier)
        asker = self._askers.of(principal, canonical_host(host))
        verdict = asker.answer(Operation.ALTER, ResourceType.TOPIC, name)
        return verdict is not None and verdict.allowed

    def acls(self, matching: AclFilter) -> Iterable[AclBinding]:
        """See :class:`Authorizer`."""
        return matching_acls(self._index, matching)

    def _found(self, kind: ResourceType, text: str) -> bool:
        """Whether anybody has an ACL on a resource, or on a namespace over it."""
        if kind in NAMESPACED and not self._index.own_acls.isdisjoint(tiers_of(text)):
            return True
        return self._index.present(kind).covers(text)
