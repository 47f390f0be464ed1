"""One principal at one host: what ACLs say of its operations.

First the namespace: each tier that has ACLs of its own is a gate. Then the resource's own ACLs,
and what is allowed on the namespaces over it: DENY before ALLOW. What a namespace means for
everything in it is kept until an ACL changes that is about this principal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from gateway.acl_model import (
    ANY_USER,
    WILDCARD,
    AclBinding,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from gateway.acls.authorizer import Verdict
from gateway.acls.grants import DESCRIBE_BIT, EVERYTHING, Bits
from gateway.acls.index import AclIndex
from gateway.acls.patterns import NAMESPACED, Name, anything_in, is_namespace, name_of, tiers_of
from gateway.acls.rules import Rules
from gateway.names import MAX_FLAT_LENGTH

_KEPT: Final = 50_000
"""What is kept at most of askers, and of what namespaces mean for them: some 300 bytes each."""

_TOPIC: Final = ResourceType.TOPIC
_ANYTHING: Final = anything_in("")

PROBE: Final = Name("hardcode", "", "hardcode")
"""The name that Kafka asks for by itself where any resource of a type would do
(``Authorizer.authorizeByResourceType``)."""

_UNASKED: Final = Verdict(False, "not asked yet")

Standing = tuple[int, int, int]
"""What a namespace means for whatever of a type is in it: the operations that pass every gate, and
those that are allowed and denied by what covers all of it, or is allowed on a tier; as bits."""


class Asker:
    """What one principal at one host may do."""

    __slots__ = (
        "_anywhere",
        "_askers",
        "_index",
        "_rules",
        "_standings",
        "_wide",
        "host",
        "principal",
    )

    def __init__(self, askers: Askers, principal: str, host: str) -> None:
        self.principal = principal
        self.host = host
        self._askers = askers
        self._index = askers.index
        self._rules: dict[ResourceType, tuple[Rules, ...]] = {}
        self._wide = principal == ANY_USER
        """Whether its own grants, so far as :attr:`_rules` has them, are about namespaces."""
        self._standings: dict[tuple[ResourceType, str], Standing] = {}
        self._anywhere: dict[tuple[Operation, ResourceType], Verdict | None] = {}

    def answer(self, operation: Operation, kind: ResourceType, name: Name) -> Verdict | None:
        """What ACLs say of a resource; None: nothing of this operation."""
        wanted = 1 << operation
        opened, allow, deny = self.standing(kind, name.head)
        if not opened & wanted:
            return self._closed(operation, name.head)
        for rules in self._of(kind):
            here_allow, here_deny = rules.of_name(name, self.host)
            allow |= here_allow
            deny |= here_deny
        if deny & wanted:
            return Verdict(False, _ByAcl(self, Permission.DENY, wanted, kind, name))
        if allow & wanted:
            return Verdict(True, _ByAcl(self, Permission.ALLOW, wanted, kind, name))
        if operation is Operation.CREATE and kind is _TOPIC and name.head:
            return self._delegated(name.head)
        return None

    def anywhere(self, operation: Operation, kind: ResourceType) -> Verdict | None:
        """What ACLs say of at least one resource of a type; None: nothing is allowed on any."""
        found = self._anywhere.get((operation, kind), _UNASKED)
        if found is _UNASKED:
            found = self._anywhere[operation, kind] = self._somewhere(operation, kind)
        return found

    def deciding(
        self, permission: Permission, wanted: int, kind: ResourceType, name: Name
    ) -> AclBinding | None:
        """The ACL that allows, or denies, an operation on a resource whose namespace is open."""
        tiers = tiers_of(name.head)
        grants = [each for rules in self._of(kind) for each in rules.covering(name, tiers)]
        if permission is Permission.ALLOW:
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
                return Verdict(False, _ByAcl(self, Permission.DENY, wanted, kind, _ANYTHING))
        for rules in holders:
            for grant in rules.allowing_by_name(operation, self.host):
                name = _witness(kind, grant.pattern)
                if not denied and self.standing(kind, name.head)[0] & wanted:
                    return Verdict(True, _ByAcl(self, Permission.ALLOW, wanted, kind, name))
                verdict = self.answer(operation, kind, name)
                if verdict is not None and verdict.allowed:
                    return verdict
        if kind in NAMESPACED and kind is not _TOPIC:
            # What is allowed on a namespace is allowed on all that is in it, not on topics alone.
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
            own, every = self._index.rules(kind, self.principal)
            if own is None:
                rules = () if every is None else (every,)
            else:
                rules = (own,) if every is None else (own, every)
                self._wide = self._wide or own.wide > 0
            self._rules[kind] = rules
        return rules

    def standing(self, kind: ResourceType, head: str) -> Standing:
        """What a namespace means (with its final ``:``; empty: the default one)."""
        found = self._standings.get((kind, head))
        if found is not None:
            return found
        self._of(kind)
        self._of(_TOPIC)
        if not self._wide:
            # As for most: a namespace means what it means for every user, which is found once.
            found = self._askers.every_user(self.host).standing(kind, head)
        else:
            tiers = tiers_of(head)
            opened, inherited, allow, deny = self._tiers(tiers)
            if kind is not _TOPIC:
                allow, deny = self._covering_all(kind, tiers)
            found = opened, allow | inherited, deny
        if len(head) <= MAX_FLAT_LENGTH:  # no namespace is longer
            self._standings[kind, head] = found
            self._askers.room -= 1
        return found

    def _covering_all(self, kind: ResourceType, tiers: Sequence[str]) -> Bits:
        """What is allowed, and what is denied, on everything of a type in a namespace."""
        allow = deny = 0
        for rules in self._of(kind):
            for grant in rules.covering_all(tiers):
                here_allow, here_deny = grant.at(self.host)
                allow |= here_allow
                deny |= here_deny
        return allow, deny

    def _tiers(self, tiers: Iterable[str]) -> tuple[int, int, int, int]:
        """Of a namespace, the last of these tiers: what passes every gate; what is allowed on any
        tier; what is allowed, and what is denied, on every topic in it."""
        host, topics, own_acls = self.host, self._of(_TOPIC), self._index.own_acls
        opened, inherited = EVERYTHING, 0
        allow = deny = 0
        for rules in topics:
            found = rules.literals.get(WILDCARD)
            if found is not None:
                one_allow, one_deny = found.at(host)
                allow |= one_allow
                deny |= one_deny
        for tier in tiers:
            allow_here = deny_here = 0
            for rules in topics:
                found = rules.namespaces.get(tier)
                if found is not None:
                    one_allow, one_deny = found.at(host)
                    allow |= one_allow
                    deny |= one_deny
                found = rules.literals.get(tier)
                if found is not None:
                    one_allow, one_deny = found.at(host)
                    allow_here |= one_allow
                    deny_here |= one_deny
            inherited |= allow_here
            if tier in own_acls:
                passing = allow | allow_here
                opened &= (EVERYTHING if passing & DESCRIBE_BIT else passing) & ~(deny | deny_here)
        return opened, inherited, allow, deny

    def _closed(self, operation: Operation, head: str) -> Verdict:
        """Why a namespace is closed: the outermost gate that is."""
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
        asked = " or ".join(dict.fromkeys((operation.name, Operation.DESCRIBE.name)))
        text = f"no ACL allows {asked} on namespace '{closed}', which has ACLs"
        return Verdict(False, text)

    def _delegated(self, namespace: str) -> Verdict | None:
        """Whoever may ALTER a namespace may CREATE what is in it."""
        verdict = self.answer(Operation.ALTER, _TOPIC, name_of(_TOPIC, namespace))
        return verdict if verdict is not None and verdict.allowed else None


class Askers:
    """Those who have asked lately."""

    def __init__(self, index: AclIndex) -> None:
        self.index = index
        self.room = _KEPT
        self._by_principal: dict[str, dict[str, Asker]] = {}

    def of(self, principal: str, host: str) -> Asker:
        """The asker that a principal is at a host (in the form of ``canonical_host``)."""
        if self.room <= 0:
            self.forget(None)
        hosts = self._by_principal.get(principal)
        if hosts is None:
            hosts = self._by_principal[principal] = {}
        asker = hosts.get(host)
        if asker is None:
            asker = hosts[host] = Asker(self, principal, host)
            self.room -= 1
        return asker

    def every_user(self, host: str) -> Asker:
        """The asker whom no other ACLs are about than those of every user."""
        return self.of(ANY_USER, host)

    def forget(self, principals: Iterable[str] | None) -> None:
        """ACLs have changed that are about these principals; None: about everyone."""
        if principals is None:
            self._by_principal.clear()
            self.room = _KEPT
            return
        for principal in principals:
            self._by_principal.pop(principal, None)


def _witness(kind: ResourceType, pattern: ResourcePattern) -> Name:
    """A name that a pattern covers, and that as few others cover as can be.

    Of a LITERAL pattern it is its own name. Others cover so many names that no LITERAL pattern
    takes them all: one is meant that no LITERAL pattern has. A namespace stands for what is in it.
    """
    name = pattern.name
    prefixed = pattern.pattern_type is PatternType.PREFIXED
    if (prefixed or pattern.type is _TOPIC) and is_namespace(pattern):
        return anything_in(name)
    if prefixed:
        _, head, tail, _ = name_of(kind, name)
        return Name("", head, tail)
    return _ANYTHING if name == WILDCARD else name_of(kind, name)


class _ByAcl:
    """The ACL that has decided, looked for when somebody wants to read it."""

    __slots__ = ("_asker", "_kind", "_name", "_permission", "_wanted")

    def __init__(
        self, asker: Asker, permission: Permission, wanted: int, kind: ResourceType, name: Name
    ) -> None:
        self._asker = asker
        self._permission = permission
        self._wanted = wanted
        self._kind = kind
        self._name = name

    def __str__(self) -> str:
        found = self._asker.deciding(self._permission, self._wanted, self._kind, self._name)
        return "an ACL that has changed since" if found is None else str(found)
