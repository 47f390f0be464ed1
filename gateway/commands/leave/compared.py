"""Compares the operations that translated ACLs allow at the brokers with the gateway's decisions.

Brokers must not allow more. If an ACL would allow more, it is left out, and ACLs on single names
allow the operations that it allowed rightly.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from gateway.acl_model import (
    ANY_USER,
    WILDCARD,
    AclBinding,
    AclEntry,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    Resource,
    ResourcePattern,
    ResourceType,
    decided_as,
)
from gateway.acls.authorizer import Authorizer
from gateway.acls.grants import ALLOWS, canonical_host
from gateway.catalog.snapshot import Snapshot
from gateway.commands.leave.flat_acls import SUPPORTED, BrokerRules, allows
from gateway.commands.leave.names import Names
from gateway.names import DELIMITER, owner_of_id

_ELSEWHERE: Final = "192.0.2.1"
"""An address of no host (RFC 5737): stands for every host that no ACL names."""

_PROBE: Final = "kafka-gateway-leave-any"
"""The last part of a name that no resource has: stands for every name that is made later."""

_BY_LINK: Final = frozenset(
    {Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.DESCRIBE_CONFIGS}
)


class Compared(NamedTuple):
    """A resource in both systems."""

    named: Resource
    """The resource for which the gateway authorizes."""
    flat: str
    """Its name at the brokers."""
    links: tuple[Resource, ...] = ()
    """Its further names at the gateway."""
    made_later: bool = False
    """True if it stands for names that do not exist yet."""


@dataclass(slots=True)
class CarriedAcls:
    """ACLs for the brokers."""

    bindings: list[AclBinding] = field(default_factory=list)
    left_out: dict[AclBinding, str] = field(default_factory=dict)
    """The ACLs that would allow more than the gateway does, each with such an operation."""
    differences: list[str] = field(default_factory=list)
    """The operations that the gateway allows and the brokers would not."""


class _Question(NamedTuple):
    """Whether ``principal`` at ``host`` may do ``operation`` on a resource."""

    principal: str
    host: str
    operation: Operation


def resources(
    snapshot: Snapshot, names: Names, ids: Iterable[tuple[ResourceType, str]]
) -> list[Compared]:
    """All topics, these groups and transactional ids, and each namespace's names made later."""
    found = []
    for flat in names.flats:
        name = snapshot.owner(flat)
        links = tuple(
            Resource(ResourceType.TOPIC, link.namespace, link.topic)
            for link in snapshot.links_of(flat)
        )
        named = Resource(ResourceType.TOPIC, name.namespace, name.topic)
        found.append(Compared(named, names.of_topic(flat), links))
    of_kind: dict[ResourceType, list[str]] = {}
    for kind, stored in ids:
        of_kind.setdefault(kind, []).append(stored)
    for kind, some in of_kind.items():
        left = {one.stored: one.becomes for one in names.of_ids(some)}
        for stored in some:
            named = Resource(kind, *(owner_of_id(stored) or ("", stored)))
            found.append(Compared(named, left.get(stored, stored)))
    for namespace in ("", *snapshot.namespaces):
        for kind in SUPPORTED:
            becomes = names.prefix(namespace) + _PROBE
            found.append(Compared(Resource(kind, namespace, _PROBE), becomes, made_later=True))
    return found


async def carried(
    translated: Iterable[AclBinding],
    authorizer: Authorizer,
    found: Sequence[Compared],
    *,
    super_users: Iterable[str],
) -> CarriedAcls:
    """The translated ACLs, without ACLs that allow more than the gateway does. If an operation is
    then no longer allowed, an ACL on the single name is added for it."""
    bindings = dict.fromkeys(translated)
    asked = _Questions(authorizer, frozenset(super_users))
    result = CarriedAcls()
    while True:  # an ACL that is left out never comes back, so this ends
        rules = BrokerRules(bindings)
        too_wide: dict[AclBinding, str] = {}
        lacking: dict[AclBinding, str] = {}
        result.differences.clear()
        for one in found:
            await asyncio.sleep(0)  # so that the progress is reported
            _compare(authorizer, rules, one, asked, too_wide, lacking, result.differences)
        if too_wide:
            result.left_out |= too_wide
            for binding in too_wide:
                bindings.pop(binding, None)
            continue
        new = [*_not_implied(one for one in lacking if one not in result.left_out)]
        if not new:
            result.differences.extend(lacking.values())
            break
        bindings |= dict.fromkeys(new)
    result.bindings = sorted(bindings, key=lambda one: (_order(one.pattern), one.entry))
    return result


def _compare(
    authorizer: Authorizer,
    rules: BrokerRules,
    one: Compared,
    asked: _Questions,
    too_wide: dict[AclBinding, str],
    lacking: dict[AclBinding, str],
    differences: list[str],
) -> None:
    kind = one.named.type
    covering = rules.covering(kind, one.flat)
    literal = ResourcePattern(kind, PatternType.LITERAL, one.flat)
    for question in asked.about(one, covering):
        bound = [each for each in covering if _binds(each.entry, question)]
        there = allows(bound)
        here = _allowed_here(authorizer, one, question)
        if there is here:
            continue
        principal, host, operation = question
        what = f"{operation.name} on {kind.name} {one.flat}"
        if one.made_later:
            what = f"{operation.name} on new names in '{one.named.namespace}'"
        if there:
            for each in bound:
                too_wide.setdefault(each, f"{principal} {what}")
        elif not one.made_later and operation is not Operation.CREATE:
            if host == _ELSEWHERE and not bound:
                entry = AclEntry(principal, WILDCARD, operation, Permission.ALLOW)
                lacking[AclBinding(literal, entry)] = f"{principal} {what}"
            else:
                at = "" if host == _ELSEWHERE else f" at {host}"
                differences.append(f"{principal}{at} {what}")


def _not_implied(lacking: Iterable[AclBinding]) -> Iterator[AclBinding]:
    """The ACLs among these that no wider ACL among them implies: READ implies DESCRIBE."""
    wide: dict[tuple[ResourcePattern, str], int] = {}
    held = list(lacking)
    for pattern, entry in ((one.pattern, one.entry) for one in held):
        implied = ALLOWS[entry.operation] & ~(1 << entry.operation)
        wide[pattern, entry.principal] = wide.get((pattern, entry.principal), 0) | implied
    for one in held:
        if not wide[one.pattern, one.entry.principal] >> one.entry.operation & 1:
            yield one


def _allowed_here(authorizer: Authorizer, one: Compared, question: _Question) -> bool:
    principal, host, operation = question
    if authorizer.authorize(principal, host, operation, one.named).allowed:
        return True
    if operation not in _BY_LINK:
        return False
    if not any(authorizer.authorize(principal, host, operation, by).allowed for by in one.links):
        return False
    return authorizer.denying(principal, host, operation, one.named) is None


def _binds(entry: AclEntry, question: _Question) -> bool:
    """Whether an entry concerns a question. An ALLOW also concerns the operations that it
    implies (KIP-11, KIP-133)."""
    if entry.principal not in (question.principal, ANY_USER):
        return False
    if entry.host != WILDCARD and canonical_host(entry.host) != canonical_host(question.host):
        return False
    if entry.permission is Permission.DENY:
        return entry.operation in (question.operation, Operation.ALL)
    return bool(ALLOWS[entry.operation] >> question.operation & 1)


class _Questions:
    """The questions to compare for a resource: every operation, for every principal that an ACL
    on the resource names and for all other principals, as ``User:*``; from the hosts that ACLs
    name, and from other hosts."""

    def __init__(self, authorizer: Authorizer, super_users: frozenset[str]) -> None:
        self._super_users = super_users
        self._literal: dict[str, set[str]] = {}
        self._prefixed: dict[str, set[str]] = {}
        self._hosts: dict[str, set[str]] = {ANY_USER: set()}
        for acl in authorizer.acls(AclFilter()):
            pattern, principal = decided_as(acl.pattern), acl.entry.principal
            self._hosts.setdefault(principal, set()).add(acl.entry.host)
            literal = pattern.pattern_type is PatternType.LITERAL
            holder = self._literal if literal else self._prefixed
            holder.setdefault(pattern.name, set()).add(principal)

    def about(self, one: Compared, covering: Iterable[AclBinding]) -> Iterator[_Question]:
        """The questions about a resource; at the brokers these ACLs cover it."""
        principals = {ANY_USER, *(each.entry.principal for each in covering)}
        for named in (one.named, *one.links):
            principals |= self._named_for(named.text)
        operations = sorted(SUPPORTED[one.named.type])
        for principal in sorted(principals - self._super_users):
            hosts = (self._hosts.get(principal, set()) | self._hosts[ANY_USER]) - {WILDCARD}
            for host in (_ELSEWHERE, *sorted(hosts)):
                for operation in operations:
                    yield _Question(principal, host, operation)

    def _named_for(self, text: str) -> set[str]:
        """The principals of ACLs that cover a name of any type, or a namespace
        that holds the name."""
        found = set(self._literal.get(WILDCARD, ()))
        for end in range(1, len(text) + 1):
            beginning = text[:end]
            found |= self._prefixed.get(beginning, set())
            if end == len(text) or beginning.endswith(DELIMITER):
                found |= self._literal.get(beginning, set())
        return found


def _order(pattern: ResourcePattern) -> tuple[int, str, int]:
    return int(pattern.type), pattern.name, int(pattern.pattern_type)
