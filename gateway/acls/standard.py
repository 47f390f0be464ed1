"""The gateway's default authorizer: Kafka's StandardAuthorizer, with namespaces before it.

A name of the default namespace is decided as in Kafka 4.x (KIP-11, KIP-290, KIP-679, KIP-801). If a
name is in another namespace, each tier of that namespace that has ACLs of its own is a gate that
the principal has to pass first, and an ALLOW on a namespace holds for every resource in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Final, NamedTuple

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
        self._ahead: AclEvaluators | None = None
        """The evaluators of a state that is not read back yet, for the changes decided on it."""
        self._at: _At | None = None
        """Set for an authorizer that judges by another state than it has seen."""

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
        self.judges_by = snapshot
        if snapshot.acls is not self._index.acls:
            self._ahead = None
            self._evaluators.forget(self._index.see(snapshot.acls))

    def at(self, snapshot: Snapshot) -> Authorizer:
        """All drafts of a transaction share an index, which goes from one to the next by what
        differs; it is made, from the present one, for the first draft with other ACLs."""
        if self._at is not None:
            return self._at.root.at(snapshot)
        if type(self).see is not StandardAuthorizer.see:
            return super().at(snapshot)  # a subclass may judge by more than ACLs
        seen = self.judges_by
        if seen is None or snapshot.acls is self._index.acls or snapshot.version < seen.version:
            return self
        made = copy(self)
        made._at = _At(self, snapshot, seen)
        return made

    def authorize(
        self, principal: str, host: str, operation: Operation, resource: Resource
    ) -> Verdict:
        if principal in self._super_users:
            return _SUPER_USER
        evaluators = self._now()
        evaluator = evaluators.of(principal, canonical_host(host))
        kind, text = resource.type, resource.text
        verdict = evaluator.answer(operation, kind, name_of(kind, text))
        if verdict is not None:
            return self._kept(verdict)
        if self._allow_everyone and not _found(evaluators.index, kind, text):
            return NO_ACL_FOUND
        return _NO_ACL

    def denying(
        self, principal: str, host: str, operation: Operation, resource: Resource
    ) -> Verdict | None:
        if principal in self._super_users:
            return None
        evaluator = self._now().of(principal, canonical_host(host))
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
        evaluators = self._now()
        evaluator = evaluators.of(principal, canonical_host(host))
        verdict = evaluator.anywhere(operation, resource_type)
        if verdict is not None:
            return self._kept(verdict)
        if self._allow_everyone and not _found(evaluators.index, resource_type, PROBE.text):
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
        evaluator = self._now().of(principal, canonical_host(host))
        verdict = evaluator.answer(Operation.ALTER, ResourceType.TOPIC, name)
        return verdict is not None and verdict.allowed

    def acls(self, matching: AclFilter) -> Iterable[AclBinding]:
        return matching_acls(self._now().index, matching)

    def _now(self) -> AclEvaluators:
        """The evaluators of the state by which this authorizer judges. May pause, but what they
        answer right afterwards is of that state."""
        if self._at is None:
            return self._evaluators
        root, snapshot, seen = self._at
        now = root.judges_by
        if now is not None and now is not seen and now.version >= snapshot.version:
            return root._evaluators
        return root._followed(snapshot)

    def _followed(self, draft: Snapshot) -> AclEvaluators:
        while True:
            ahead = self._ahead
            if ahead is None:
                ahead = self._ahead = AclEvaluators(self._index.fork())
            if ahead.index.acls is draft.acls:
                return ahead
            ahead.forget(ahead.index.see(draft.acls))

    def _kept(self, verdict: Verdict) -> Verdict:
        """The verdict, with its text if the index of drafts would have to be kept for it."""
        return verdict if self._at is None else Verdict(verdict.allowed, str(verdict.because))


class _At(NamedTuple):
    """The authorizer whose rights these are, the state of the catalog that decides them, and the
    state that the authorizer had seen then."""

    root: StandardAuthorizer
    snapshot: Snapshot
    seen: Snapshot


def _found(index: AclIndex, kind: ResourceType, text: str) -> bool:
    """Whether any principal has an ACL on a resource, or on a namespace above it."""
    if kind in NAMESPACED and not index.own_acls.isdisjoint(tiers_of(text)):
        return True
    return index.covers(kind, text)
