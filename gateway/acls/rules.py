"""The grants of a principal on a type of resource, found by name."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from gateway.acl_model import (
    NAMESPACED,
    WILDCARD,
    Name,
    Operation,
    PatternType,
    ResourcePattern,
    name_of,
)
from gateway.acls.grants import Bits, Grant
from gateway.names import DELIMITER
from protocol.pausing import eased, in_order, paced, pause_point

_AT_ONCE: Final = 2_000
"""Prefixes of a namespace that are indexed without a pause point: 2 ms."""

_EVERY: Final = 512
"""Prefixes between two pause points."""


class PrefixGrant:
    """The grant of a PREFIXED pattern, and the grants of all shorter prefixes that cover its names.

    ``shorter`` is the longest shorter prefix. ``allow`` and ``deny``, the bits for every host,
    include the shorter prefixes, so that a name needs its longest prefix only. ``with_hosts`` is
    the first grant, this or a shorter, with bits for a single host.
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
        """The bits allowed and denied at a host."""
        allow, deny = self.allow, self.deny
        one = self.with_hosts
        while one is not None:
            here_allow, here_deny = one.grant.at(host)
            allow |= here_allow
            deny |= here_deny
            one = None if one.shorter is None else one.shorter.with_hosts
        return allow, deny


class Prefixes:
    """PREFIXED patterns inside a namespace, by the rest of the name after the namespace."""

    __slots__ = ("_sorted", "_tails", "grants")

    def __init__(self) -> None:
        self.grants: dict[str, Grant] = {}
        self._sorted: list[PrefixGrant] = []
        self._tails: list[str] = []

    def copy(self) -> Prefixes:
        """A copy with the same grants; see :meth:`settle`."""
        made = Prefixes()
        made.grants = dict(self.grants)
        return made

    def settle(self) -> None:
        """Index :attr:`grants` again, after they have been changed."""
        self._tails = in_order(self.grants)
        self._sorted = []
        last: PrefixGrant | None = None
        for tail in paced(self._tails, _EVERY) if len(self._tails) > _AT_ONCE else self._tails:
            while last is not None and not tail.startswith(last.tail):
                last = last.shorter
            last = PrefixGrant(tail, self.grants[tail], last)
            self._sorted.append(last)

    def longest(self, tail: str) -> PrefixGrant | None:
        """The longest prefix of a name, if it has any here."""
        at = bisect_right(self._tails, tail)
        if not at:
            return None
        # In this order the entry before a name comes after every prefix of the name.
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
    """All grants of a principal on a type of resource.

    - ``literals``: name -> grant of the LITERAL pattern.
    - ``namespaces``: name -> grant of the PREFIXED pattern, for patterns that end in ``:``. Other
      prefixes are kept by the namespace that they stay in.
    - ``allowing``: operation -> the grants with an ALLOW whose entry names it.
    - ``denied``: the bits denied by any grant; bits are never removed, so a bit may outlive its
      DENY.
    - ``wide``: the number of grants on namespaces, or on every name.
    """

    __slots__ = (
        "_prefixes",
        "_shared",
        "_unsettled",
        "allowing",
        "denied",
        "literals",
        "namespaces",
        "wide",
    )

    def __init__(self) -> None:
        self.literals: dict[str, Grant] = {}
        self.namespaces: dict[str, Grant] = {}
        self.allowing: dict[Operation, dict[tuple[PatternType, str], Grant]] = {}
        self.denied = 0
        self.wide = 0
        self._prefixes: dict[str, Prefixes] = {}
        self._unsettled: set[str] = set()
        self._shared: set[str] = set()
        """The namespaces whose prefixes are shared with the Rules that were copied."""

    def copy(self) -> Rules:
        """A copy with the same grants, which can be changed separately. Both are settled."""
        made = Rules()
        pause_point()
        made.literals, made.namespaces = dict(self.literals), dict(self.namespaces)
        for operation, held in self.allowing.items():
            pause_point()
            made.allowing[operation] = dict(held)
        made.denied, made.wide = self.denied, self.wide
        made._prefixes, made._shared = dict(self._prefixes), set(self._prefixes)
        return made

    def put(self, pattern: ResourcePattern, grant: Grant | None) -> None:
        """Set or remove (None) the grant of a pattern. Call :meth:`settle` before reading."""
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
        """Index the grants that were put since the last call."""
        for head in eased(self._unsettled):
            prefixes = self._prefixes[head]
            if prefixes.grants:
                prefixes.settle()
            else:
                del self._prefixes[head]
        self._unsettled.clear()

    def of_name(self, name: Name, host: str) -> Bits:
        """The bits allowed and denied at a host by the patterns that cover a name, except patterns
        that cover its whole namespace."""
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
        """The grants of the patterns that cover a whole namespace, the last of these tiers; without
        tiers, of the patterns that cover all names of the default namespace."""
        found = [self.namespaces[tier] for tier in tiers if tier in self.namespaces]
        if WILDCARD in self.literals:
            found.append(self.literals[WILDCARD])
        return found

    def covering(self, name: Name, tiers: Sequence[str]) -> Iterator[Grant]:
        """The grants of all patterns that cover a name in a namespace, the last of these tiers; the
        most specific patterns come first."""
        if name.text in self.literals:
            yield self.literals[name.text]
        prefixes = self._prefixes.get(name.head)
        if prefixes is not None and not name.itself:
            yield from prefixes.covering(name.tail)
        inner = [*tiers, name.text] if name.itself else list(tiers)
        yield from self.covering_all(inner[::-1])

    def allowing_by_name(self, operation: Operation, host: str) -> Iterator[Grant]:
        """The grants with an ALLOW at a host that names the operation, or ALL, and does not only
        imply it."""
        for named in (operation, Operation.ALL):
            for grant in self.allowing.get(named, {}).values():
                if grant.by_host is None or grant.allows_by_name(operation, host):
                    yield grant

    def grants(self) -> Iterator[Grant]:
        """Every grant."""
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
        elif name.head in self._shared:
            prefixes = self._prefixes[name.head] = prefixes.copy()
            self._shared.remove(name.head)
        self._unsettled.add(name.head)
        return _swapped(prefixes.grants, name.tail, grant)


def _swapped(grants: dict[str, Grant], name: str, grant: Grant | None) -> Grant | None:
    former = grants.pop(name, None) if grant is None else grants.get(name)
    if grant is not None:
        grants[name] = grant
    return former
