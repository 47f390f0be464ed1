"""The grants of one principal on one type of resource, found by the name that is asked for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from gateway.acl_model import (
    WILDCARD,
    Operation,
    PatternType,
    ResourcePattern,
)
from gateway.acls.grants import Bits, Grant
from gateway.acls.patterns import NAMESPACED, Name, name_of
from gateway.names import DELIMITER

_ALL: Final = Operation.ALL


class PrefixGrant:
    """The grant of a PREFIXED pattern, and those of all shorter ones that cover the same names.

    ``shorter`` is the longest of these. What holds for every host is kept together for all of
    them, so that a name is answered by the longest prefix that it has; ``with_hosts`` is the first
    of them, this one or a shorter, that says something of a single host.
    """

    __slots__ = ("allow", "deny", "grant", "shorter", "tail", "with_hosts")

    def __init__(self, tail: str, grant: Grant, shorter: PrefixGrant | None) -> None:
        self.tail = tail
        self.grant = grant
        self.shorter = shorter
        self.allow = grant.allow
        self.deny = grant.deny
        self.with_hosts: PrefixGrant | None = None if shorter is None else shorter.with_hosts
        if shorter is not None:
            self.allow |= shorter.allow
            self.deny |= shorter.deny
        if grant.by_host is not None:
            self.with_hosts = self

    def at(self, host: str) -> Bits:
        """The bits of what is allowed, and of what is denied, at a host."""
        allow, deny = self.allow, self.deny
        one = self.with_hosts
        while one is not None:
            here_allow, here_deny = one.grant.at(host)
            allow |= here_allow
            deny |= here_deny
            one = None if one.shorter is None else one.shorter.with_hosts
        return allow, deny


class Prefixes:
    """PREFIXED patterns inside one namespace, by what follows its name."""

    __slots__ = ("_sorted", "_tails", "grants")

    def __init__(self) -> None:
        self.grants: dict[str, Grant] = {}
        self._sorted: list[PrefixGrant] = []
        self._tails: list[str] = []

    def settle(self) -> None:
        """Make :attr:`grants` the ones that are found: they have been changed."""
        self._tails = sorted(self.grants)
        self._sorted = []
        last: PrefixGrant | None = None
        for tail in self._tails:
            while last is not None and not tail.startswith(last.tail):
                last = last.shorter
            last = PrefixGrant(tail, self.grants[tail], last)
            self._sorted.append(last)

    def longest(self, tail: str) -> PrefixGrant | None:
        """The longest prefix of a name; None: there is none."""
        at = bisect_right(self._tails, tail)
        if not at:
            return None
        # What stands before the name in the order has every prefix of the name before it.
        found: PrefixGrant | None = self._sorted[at - 1]
        while found is not None and not tail.startswith(found.tail):
            found = found.shorter
        return found

    def covering(self, tail: str) -> Iterator[Grant]:
        """The grants of all prefixes of a name, the longest first."""
        found = self.longest(tail)
        while found is not None:
            yield found.grant
            found = found.shorter


class Rules:
    """All grants of one principal on one type of resource.

    ``literals`` go by name, ``namespaces`` are the PREFIXED patterns that end in ``:``, and the
    other ones go by the namespace that they stay in. ``allowing`` has those with an ALLOW by the
    operations that their entries name. What is in none of the bits in ``denied`` is denied nowhere
    (the reverse does not hold: they are not taken out again). ``wide`` is how many are about
    namespaces, or about everything.
    """

    __slots__ = ("_prefixes", "_unsettled", "allowing", "denied", "literals", "namespaces", "wide")

    def __init__(self) -> None:
        self.literals: dict[str, Grant] = {}
        self.namespaces: dict[str, Grant] = {}
        self.allowing: dict[Operation, dict[tuple[PatternType, str], Grant]] = {}
        self.denied = 0
        self.wide = 0
        self._prefixes: dict[str, Prefixes] = {}
        self._unsettled: set[str] = set()

    def put(self, pattern: ResourcePattern, grant: Grant | None) -> None:
        """Hold what a pattern grants, or forget it. :meth:`settle` before anything is asked."""
        former = self._swap(pattern, grant)
        key = pattern.pattern_type, pattern.name
        if former is not None:
            for operation in former.allowed_operations:
                held = self.allowing[operation]
                del held[key]
                if not held:
                    del self.allowing[operation]
        if grant is not None:
            for operation in grant.allowed_operations:
                self.allowing.setdefault(operation, {})[key] = grant
            self.denied |= grant.denied_anywhere
        if pattern.name.endswith(DELIMITER) or pattern.name == WILDCARD:
            self.wide += (grant is not None) - (former is not None)

    def settle(self) -> None:
        """Answer by what was put last."""
        for head in self._unsettled:
            prefixes = self._prefixes[head]
            if prefixes.grants:
                prefixes.settle()
            else:
                del self._prefixes[head]
        self._unsettled.clear()

    def of_name(self, name: Name, host: str) -> Bits:
        """The bits of what is allowed, and of what is denied, at a host by the patterns that cover
        a name, but for those that cover all of the namespace that it is in."""
        allow = deny = 0
        grant = self.literals.get(name.text)
        if grant is not None:
            allow, deny = grant.at(host)
        wide: Grant | PrefixGrant | None = None
        if name.itself:
            wide = self.namespaces.get(name.text)
        else:
            prefixes = self._prefixes.get(name.head)
            if prefixes is not None:
                wide = prefixes.longest(name.tail)
        if wide is None:
            return allow, deny
        wide_allow, wide_deny = wide.at(host)
        return allow | wide_allow, deny | wide_deny

    def covering_all(self, tiers: Sequence[str]) -> list[Grant]:
        """The grants of the patterns that cover all of a namespace, the last of these tiers; of
        the default one, which has none: of all names."""
        found = []
        if tiers and self.namespaces:
            found = [self.namespaces[tier] for tier in tiers if tier in self.namespaces]
        grant = self.literals.get(WILDCARD)
        if grant is not None:
            found.append(grant)
        return found

    def covering(self, name: Name, tiers: Sequence[str]) -> Iterator[Grant]:
        """The grants of all patterns that cover a name in a namespace, the last of these tiers;
        those that mean it alone come first."""
        grant = self.literals.get(name.text)
        if grant is not None:
            yield grant
        prefixes = self._prefixes.get(name.head)
        if prefixes is not None and not name.itself:
            yield from prefixes.covering(name.tail)
        inner = [*tiers, name.text] if name.itself else list(tiers)
        yield from self.covering_all(inner[::-1])

    def allowing_by_name(self, operation: Operation, host: str) -> Iterator[Grant]:
        """Those with an ALLOW at a host that names the operation, or ALL: nothing is implied."""
        for named in (operation, _ALL):
            grants = self.allowing.get(named)
            if grants is not None:
                for grant in grants.values():
                    if grant.by_host is None or grant.allows_by_name(operation, host):
                        yield grant

    def grants(self) -> Iterator[Grant]:
        """All of them."""
        yield from self.literals.values()
        yield from self.namespaces.values()
        for prefixes in self._prefixes.values():
            yield from prefixes.grants.values()

    def __bool__(self) -> bool:
        return bool(self.literals or self.namespaces or self._prefixes)

    def _swap(self, pattern: ResourcePattern, grant: Grant | None) -> Grant | None:
        if pattern.pattern_type is PatternType.LITERAL:
            return _swapped(self.literals, pattern.name, grant)
        if pattern.type in NAMESPACED and pattern.name.endswith(DELIMITER):
            return _swapped(self.namespaces, pattern.name, grant)
        name = name_of(pattern.type, pattern.name)
        prefixes = self._prefixes.get(name.head)
        if prefixes is None:
            prefixes = self._prefixes[name.head] = Prefixes()
        self._unsettled.add(name.head)
        return _swapped(prefixes.grants, name.tail, grant)


def _swapped(grants: dict[str, Grant], name: str, grant: Grant | None) -> Grant | None:
    former = grants.get(name)
    if grant is not None:
        grants[name] = grant
    elif former is not None:
        del grants[name]
    return former
