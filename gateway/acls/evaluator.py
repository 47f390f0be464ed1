"""Evaluates ACLs for a principal at a host.

First the namespace: each tier that has ACLs of its own is a gate. Then the resource's own ACLs, and
the ALLOWs on the namespaces above it: DENY before ALLOW. The result for a namespace is cached until
an ACL of this principal changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from gateway.acl_model import (
    ANY_USER,
    NAMESPACED,
    WILDCARD,
    AclBinding,
    Name,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
    anything_in,
    decided_as,
    is_namespace,
    name_of,
    tiers_of,
)
from gateway.acls.authorizer import Verdict
from gateway.acls.grants import DESCRIBE_BIT, EVERYTHING, Bits, Grant
from gateway.acls.index import AclIndex
from gateway.acls.rules import Rules
from gateway.names import MAX_FLAT_LENGTH

_KEPT: Final = 50_000
"""The number of evaluators and namespace results kept at most: some 300 bytes each."""

_TOPIC: Final = ResourceType.TOPIC
_ANYTHING: Final = anything_in("")

PROBE: Final = Name("hardcode", "", "hardcode")
"""The name that Kafka checks if any resource of a type will do
(``Authorizer.authorizeByResourceType``)."""

_NOT_CACHED: Final = Verdict(False, "not evaluated yet")

NamespaceBits = tuple[int, int, int]
"""The result of a namespace for every resource of a type in it, as bits: the operations that pass
every gate; the operations allowed on a tier, or by a pattern that covers the whole namespace; the
operations denied by such a pattern."""


class AclEvaluator:
    """Evaluates the ACLs of a principal at a host."""

    __slots__ = (
        "_anywhere",
        "_evaluators",
        "_index",
        "_namespace_bits",
        "_rules",
        "_wide",
        "host",
        "principal",
    )

    def __init__(self, evaluators: AclEvaluators, principal: str, host: str) -> None:
        self.principal = principal
        self.host = host
        self._evaluators = evaluators
        self._index = evaluators.index
        self._rules: dict[ResourceType, tuple[Rules, ...]] = {}
        self._wide = principal == ANY_USER
        """Whether a grant of the principal's own in :attr:`_rules` concerns namespaces."""
        self._namespace_bits: dict[tuple[ResourceType, str], NamespaceBits] = {}
        self._anywhere: dict[tuple[Operation, ResourceType], Verdict | None] = {}

    def answer(self, operation: Operation, kind: ResourceType, name: Name) -> Verdict | None:
        """The verdict on a resource, or None if no ACL concerns this operation on it."""
        wanted = 1 << operation
        opened, allow, deny = self.namespace_bits(kind, name.head)
        if not opened & wanted:
            return self._closed(operation, name.head)
        for rules in self._of(kind):
            here_allow, here_deny = rules.of_name(name, self.host)
            allow |= here_allow
            deny |= here_deny
        if deny & wanted:
            return Verdict(False, _DecidingAcl(self, Permission.DENY, wanted, kind, name))
        if allow & wanted:
            return Verdict(True, _DecidingAcl(self, Permission.ALLOW, wanted, kind, name))
        if operation is Operation.CREATE and kind is _TOPIC and name.head:
            # ALTER on a namespace includes CREATE of topics in it.
            verdict = self.answer(Operation.ALTER, _TOPIC, name_of(_TOPIC, name.head))
            return verdict if verdict is not None and verdict.allowed else None
        return None

    def anywhere(self, operation: Operation, kind: ResourceType) -> Verdict | None:
        """The verdict on any resource of a type, or None if no ACL allows the operation on such a
        resource."""
        found = self._anywhere.get((operation, kind), _NOT_CACHED)
        if found is _NOT_CACHED:
            found = self._anywhere[operation, kind] = self._somewhere(operation, kind)
        return found

    def denying(self, operation: Operation, kind: ResourceType, name: Name) -> AclBinding | None:
        """The DENY of an operation that covers a resource, or a namespace above it, if any. It is
        looked up each time."""
        return self._first(Permission.DENY, 1 << operation, kind, name, with_tiers=True)

    def deciding(
        self, permission: Permission, wanted: int, kind: ResourceType, name: Name
    ) -> AclBinding | None:
        """The ACL that allows, or denies, an operation on a resource whose namespace is open."""
        with_tiers = permission is Permission.ALLOW  # a DENY on a tier closes it as a gate
        return self._first(permission, wanted, kind, name, with_tiers=with_tiers)

    def _first(
        self,
        permission: Permission,
        wanted: int,
        kind: ResourceType,
        name: Name,
        *,
        with_tiers: bool,
    ) -> AclBinding | None:
        """The first ACL of any of these operations that covers a resource or, if ``with_tiers``, a
        namespace above it."""
        tiers = tiers_of(name.head)
        grants = [each for rules in self._of(kind) for each in rules.covering(name, tiers)]
        if with_tiers:
            for rules in self._of(_TOPIC):
                grants += [rules.literals[tier] for tier in tiers if tier in rules.literals]
        found = (grant.deciding(permission, wanted, self.host) for grant in grants)
        return next(filter(None, found), None)

    def _somewhere(self, operation: Operation, kind: ResourceType) -> Verdict | None:
        wanted = 1 << operation
        holders = self._of(kind)
        denied = any(rules.denied & wanted for rules in holders)
        for rules in holders if denied else ():
            grant = rules.literals.get(WILDCARD)
            if grant is not None and grant.at(self.host)[1] & wanted:
                return Verdict(False, _DecidingAcl(self, Permission.DENY, wanted, kind, _ANYTHING))
        for rules in holders:
            for grant in rules.allowing_by_name(operation, self.host):
                name = _witness(kind, grant.pattern)
                if not denied and self.namespace_bits(kind, name.head)[0] & wanted:
                    return Verdict(True, _DecidingAcl(self, Permission.ALLOW, wanted, kind, name))
                verdict = self.answer(operation, kind, name)
                if verdict is not None and verdict.allowed:
                    return verdict
        if kind in NAMESPACED and kind is not _TOPIC:
            # An ALLOW on a namespace holds for every resource in it, not for topics alone.
            for rules in self._of(_TOPIC):
                for grant in rules.allowing_by_name(operation, self.host):
                    if is_namespace(grant.pattern):
                        verdict = self.answer(operation, kind, anything_in(grant.pattern.name))
                        if verdict is not None and verdict.allowed:
                            return verdict
        verdict = self.answer(operation, kind, PROBE)
        return verdict if verdict is not None and verdict.allowed else None

    def _of(self, kind: ResourceType) -> tuple[Rules, ...]:
        rules = self._rules.get(kind)
        if rules is None:
            rules = self._index.own_rules(kind, self.principal)
            self._wide = self._wide or any(own.wide > 0 for own in rules)
            if self.principal != ANY_USER:
                rules += self._index.own_rules(kind, ANY_USER)
            self._rules[kind] = rules
        return rules

    def namespace_bits(self, kind: ResourceType, head: str) -> NamespaceBits:
        """The result of a namespace (with its final ``:``; empty: the default namespace)."""
        found = self._namespace_bits.get((kind, head))
        if found is not None:
            return found
        self._of(kind)
        self._of(_TOPIC)
        if not self._wide:
            # As for most principals, the result is that of ``User:*``, which is evaluated once.
            found = self._evaluators.of(ANY_USER, self.host).namespace_bits(kind, head)
        else:
            tiers = tiers_of(head)
            opened, inherited, allow, deny = self._tiers(tiers)
            if kind is not _TOPIC:
                grants = [each for rules in self._of(kind) for each in rules.covering_all(tiers)]
                allow, deny = self._bits(grants)
            found = opened, allow | inherited, deny
        if len(head) <= MAX_FLAT_LENGTH:  # no namespace is longer
            self._namespace_bits[kind, head] = found
            self._evaluators.room -= 1
        return found

    def _bits(self, grants: Iterable[Grant | None]) -> Bits:
        """The bits of several grants together."""
        allow = deny = 0
        for grant in grants:
            if grant is not None:
                here_allow, here_deny = grant.at(self.host)
                allow |= here_allow
                deny |= here_deny
        return allow, deny

    def _tiers(self, tiers: Iterable[str]) -> tuple[int, int, int, int]:
        """For a namespace, the last of these tiers: the bits that pass every gate; the bits allowed
        on any tier; the bits allowed, and the bits denied, on every topic in it."""
        topics, own_acls = self._of(_TOPIC), self._index.own_acls
        opened, inherited = EVERYTHING, 0
        allow, deny = self._bits(rules.literals.get(WILDCARD) for rules in topics)
        for tier in tiers:
            all_allow, all_deny = self._bits(rules.namespaces.get(tier) for rules in topics)
            allow |= all_allow
            deny |= all_deny
            allow_here, deny_here = self._bits(rules.literals.get(tier) for rules in topics)
            inherited |= allow_here
            if tier in own_acls:
                passing = allow | allow_here
                opened &= (EVERYTHING if passing & DESCRIBE_BIT else passing) & ~(deny | deny_here)
        return opened, inherited, allow, deny

    def _closed(self, operation: Operation, head: str) -> Verdict:
        """The verdict of the outermost gate that is closed."""
        tiers = tiers_of(head)
        wanted = 1 << operation
        closed = next(
            tier
            for number, tier in enumerate(tiers)
            if not self._tiers(tiers[: number + 1])[0] & wanted
        )
        denying = self.deciding(Permission.DENY, wanted, _TOPIC, name_of(_TOPIC, closed))
        if denying is not None:
            return Verdict(False, denying)
        either = " or ".join(dict.fromkeys((operation.name, Operation.DESCRIBE.name)))
        return Verdict(False, f"no ACL allows {either} on namespace '{closed}', which has ACLs")


class AclEvaluators:
    """The evaluators that were used lately."""

    def __init__(self, index: AclIndex) -> None:
        self.index = index
        self.room = _KEPT
        self._by_principal: dict[str, dict[str, AclEvaluator]] = {}

    def of(self, principal: str, host: str) -> AclEvaluator:
        """The evaluator for a principal at a host (in the form of ``canonical_host``)."""
        if self.room <= 0:
            self.forget(None)
        hosts = self._by_principal.get(principal)
        if hosts is None:
            hosts = self._by_principal[principal] = {}
        evaluator = hosts.get(host)
        if evaluator is None:
            evaluator = hosts[host] = AclEvaluator(self, principal, host)
            self.room -= 1
        return evaluator

    def forget(self, principals: Iterable[str] | None) -> None:
        """Drop the evaluators of principals whose ACLs have changed, or all of them (None)."""
        if principals is None:
            self._by_principal.clear()
            self.room = _KEPT
            return
        for principal in principals:
            self._by_principal.pop(principal, None)


def _witness(kind: ResourceType, pattern: ResourcePattern) -> Name:
    """A name that a pattern covers, and as few other patterns as possible.

    For a LITERAL pattern it is its own name, else a name that no LITERAL pattern has. A namespace
    stands for the names in it.
    """
    pattern = decided_as(pattern)
    name = pattern.name
    prefixed = pattern.pattern_type is PatternType.PREFIXED
    if (prefixed or pattern.type is _TOPIC) and is_namespace(pattern):
        return anything_in(name)
    if prefixed:
        _, head, tail, _ = name_of(kind, name)
        return Name("", head, tail)
    return _ANYTHING if name == WILDCARD else name_of(kind, name)


class _DecidingAcl:
    """The ACL behind a verdict, looked up when its text is read."""

    __slots__ = ("_evaluator", "_kind", "_name", "_permission", "_wanted")

    def __init__(
        self,
        evaluator: AclEvaluator,
        permission: Permission,
        wanted: int,
        kind: ResourceType,
        name: Name,
    ) -> None:
        self._evaluator = evaluator
        self._permission = permission
        self._wanted = wanted
        self._kind = kind
        self._name = name

    def __str__(self) -> str:
        found = self._evaluator.deciding(self._permission, self._wanted, self._kind, self._name)
        return "an ACL that has changed since" if found is None else str(found)
