"""An index of ACLs by principal and pattern, which follows the catalog change by change.

It has a :class:`Rules` for each principal and type of resource, and another for patterns that are
decided as other patterns than they are written as (``decided_as``).

Few changes are made in place. Many changes would take too long for a single callback, so they are
made in slices on a copy, which shares the unchanged parts, and replaces the index at once. A fork
shares them for longer: then neither index changes what it shares, but copies it first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from gateway.acl_model import (
    ANY_USER,
    NAMESPACED,
    WILDCARD,
    AclBinding,
    AclEntry,
    AclFilter,
    PatternType,
    ResourcePattern,
    ResourceType,
    decided_as,
    name_of,
    tiers_of,
)
from gateway.acls.authorizer import means_entry, means_pattern
from gateway.acls.grants import Grant
from gateway.acls.rules import Rules
from gateway.catalog.entities import ResourceAcls
from gateway.names import DELIMITER
from protocol.pausing import FEW, eased, paced, pause_point

Acls = Mapping[ResourcePattern, ResourceAcls]

Difference = tuple[ResourceAcls | None, ResourceAcls | None]
"""The ACLs of a pattern before and after a change, or None if it has no ACLs."""

_Key = tuple[ResourceType, str, bool]
"""Type of resource, principal, and whether the patterns are decided as they are written."""


_Candidate = tuple[ResourcePattern, Collection[AclEntry]]

MAX_BESIDE: Final = 1_000
"""PREFIXED patterns that are indexed again in a single callback: 1 ms."""

_NO_LENGTHS: Final[Mapping[int, int]] = {}


class AclIndex:
    """The ACLs of a state of the catalog."""

    def __init__(self) -> None:
        self.acls: Acls = {}
        self.own_acls: set[str] = set()
        """The namespaces, each with its final ``:``, that have ACLs of their own."""
        self._rules: dict[_Key, Rules] = {}
        self._present = {kind: Presence(kind) for kind in ResourceType}
        self._decided = {kind: Presence(kind) for kind in ResourceType}
        self._next: _Next | None = None
        self._own: set[_Key] | None = None
        """The Rules that no other index shares; None: all of them. Replaced when more are
        shared."""

    def prepare(self, acls: Acls) -> None:
        """Compute the changes that :meth:`see` needs for another state of the catalog, with pause
        points if that is long. Verdicts stay the same until :meth:`see`."""
        before = self.acls
        differences = list(differing(before, acls))
        made, principals, own = None, None, self._own
        copies: dict[_Key, Rules] = {}
        if self._is_long(differences):
            made = self._copy()
            principals = made._follow(differences)
        elif own is not None:
            shared = set(_keys(differences)).difference(own).intersection(self._rules)
            copies = {key: self._rules[key].copy() for key in shared}
        self._next = _Next(before, acls, differences, made, principals, own, copies)

    def see(self, acls: Acls) -> Collection[str] | None:
        """Follow the catalog to another state, change by change. Returns the principals whose ACLs
        have changed, or None if every principal is affected."""
        if acls is self.acls:
            return set()
        # A preparation for, or from, another state is useless.
        while (found := self._next) is None or not found.leads(self, acls):
            self.prepare(acls)
        self._next, self.acls = None, acls
        if found.made is None:
            # All copies are there, so nothing pauses before the change is whole.
            self._rules.update(found.copies)
            if self._own is not None:
                self._own.update(found.copies)
            return self._follow(found.differences)
        made = found.made
        self.own_acls, self._rules = made.own_acls, made._rules
        self._present, self._decided = made._present, made._decided
        if self._own is not None:
            self._own = made._own
        return found.principals

    def fork(self) -> AclIndex:
        """An index with the same ACLs that follows other states of the catalog than this one. May
        pause."""
        while True:
            acls, self._own = self.acls, set()
            made = self._copy()
            if self.acls is acls:
                made.acls = acls
                return made

    def own_rules(self, kind: ResourceType, principal: str) -> tuple[Rules, ...]:
        """The grants whose entries name this principal, ``User:*`` for every user."""
        found = (self._rules.get((kind, principal, written)) for written in (True, False))
        return tuple(rules for rules in found if rules is not None)

    def present(self, kind: ResourceType) -> Presence:
        """The patterns of a type that have ACLs, for any principal, as they are written."""
        return self._present[kind]

    def covers(self, kind: ResourceType, text: str) -> bool:
        """Whether a pattern with ACLs, for any principal, covers a name."""
        return self._present[kind].covers(text) or self._decided[kind].covers(text)

    def _is_long(self, differences: Iterable[Difference]) -> bool:
        """Whether these changes take too long for a single callback."""
        entries = 0
        beside: dict[tuple[ResourceType, str, bool], int] = {}
        for before, after in differences:
            known = after or before
            assert known is not None
            entries += max(1, _entries_in(before), _entries_in(after))
            if known.pattern.pattern_type is PatternType.PREFIXED:
                # All patterns of a principal in the same namespace are indexed again, because they
                # share an index.
                decided = decided_as(known.pattern)
                written = decided == known.pattern
                found = (self._present if written else self._decided)[decided.type]
                head = name_of(decided.type, decided.name).head
                beside[decided.type, head, written] = found.prefixes_in(head)
            if entries > FEW or sum(beside.values()) > MAX_BESIDE:
                return True
        return False

    def _copy(self) -> AclIndex:
        """An index with the same ACLs that can be changed separately. The Rules are shared."""
        made = AclIndex()
        made.own_acls = set(self.own_acls)
        made._rules, made._own = dict(self._rules), set()
        if self._own is not None:
            self._own = set()
        made._present = {kind: found.copy() for kind, found in self._present.items()}
        made._decided = {kind: found.copy() for kind, found in self._decided.items()}
        return made

    def _follow(self, differences: Collection[Difference]) -> Collection[str] | None:
        """Apply these changes; returns the principals that they concern."""
        gates = set(self.own_acls)
        touched: dict[_Key, Rules] = {}
        for before, after in eased(differences):
            self._change(before, after, touched)
        for key, rules in eased(touched.items()):
            rules.settle()
            if not rules:
                del self._rules[key]
        principals = {principal for _, principal, _ in touched}
        return None if ANY_USER in principals or gates != self.own_acls else principals

    def _change(
        self,
        before: ResourceAcls | None,
        after: ResourceAcls | None,
        touched: dict[_Key, Rules],
    ) -> None:
        old: frozenset[AclEntry] = frozenset() if before is None else before.entries
        new: frozenset[AclEntry] = frozenset() if after is None else after.entries
        known = after or before
        assert known is not None
        pattern = known.pattern
        decided = decided_as(pattern)
        for principal, entries in _by_principal(new, {each.principal for each in old ^ new}):
            key = pattern.type, principal, decided == pattern
            rules = touched.get(key)
            if rules is None:
                rules = touched[key] = self._rules_to_change(key)
            rules.put(decided, Grant(pattern, entries) if entries else None)
        if bool(old) is not bool(new):
            self._appear(pattern, there=bool(new))
            if decided != pattern:
                self._decided[pattern.type].put(decided, there=bool(new))

    def _rules_to_change(self, key: _Key) -> Rules:
        rules = self._rules.get(key)
        if rules is not None and (self._own is None or key in self._own):
            return rules
        rules = self._rules[key] = Rules() if rules is None else rules.copy()
        if self._own is not None:
            self._own.add(key)
        return rules

    def _appear(self, pattern: ResourcePattern, *, there: bool) -> None:
        self._present[pattern.type].put(pattern, there=there)
        literal = pattern.pattern_type is PatternType.LITERAL
        if literal and pattern.type is ResourceType.TOPIC and pattern.name.endswith(DELIMITER):
            (self.own_acls.add if there else self.own_acls.discard)(pattern.name)


class _Next(NamedTuple):
    """The way from a state of the catalog to another: the ``differences`` if they are few, with
    ``copies`` of the shared Rules that they change, where the index had Rules of its ``own``; or
    else an index that was ``made`` from them, and the ``principals`` that they concern."""

    before: Acls
    after: Acls
    differences: Sequence[Difference]
    made: AclIndex | None
    principals: Collection[str] | None
    own: set[_Key] | None
    copies: Mapping[_Key, Rules]

    def leads(self, index: AclIndex, after: Acls) -> bool:
        """Whether it leads from the present state of ``index`` to ``after``."""
        ready = self.made is not None or self.own is index._own
        return ready and self.before is index.acls and self.after is after


def _keys(differences: Iterable[Difference]) -> Iterator[_Key]:
    """The Rules that differences change."""
    for before, after in differences:
        known = after or before
        assert known is not None
        old: frozenset[AclEntry] = frozenset() if before is None else before.entries
        new: frozenset[AclEntry] = frozenset() if after is None else after.entries
        written = decided_as(known.pattern) == known.pattern
        for principal in {each.principal for each in old ^ new}:
            yield known.pattern.type, principal, written


def _entries_in(acls: ResourceAcls | None) -> int:
    return 0 if acls is None else len(acls.entries)


def differing(before: Acls, after: Acls) -> Iterator[Difference]:
    """The differences of two states: pairs of the old and the new entity, either of which may be
    missing.

    Two states of a catalog share their entities, in the same order except for entities added at the
    end, so they are compared side by side by identity, 100,000 in a few milliseconds. In any order,
    the differences lead from the old state to the new if they are applied in their order.
    """
    old = iter(before.values())
    for was, now in zip_longest(old, after.values()):
        while was is not now:
            if was is None or now is None or was.pattern == now.pattern:
                yield was, now
                break
            yield was, None
            was = next(old, None)


def _by_principal(
    entries: Collection[AclEntry], principals: Iterable[str]
) -> Iterator[tuple[str, tuple[AclEntry, ...]]]:
    """The entries of each of these principals."""
    found: dict[str, list[AclEntry]] = {principal: [] for principal in principals}
    for entry in eased(entries):
        if entry.principal in found:
            found[entry.principal].append(entry)
    return ((principal, tuple(mine)) for principal, mine in eased(found.items()))


def matching_acls(index: AclIndex, matching: AclFilter) -> Iterator[AclBinding]:
    """All ACLs that match a filter, looked up by its name or its principal if it has either. They
    are of the state of the call, whatever the index goes on to. Taking them has pause points, also
    where few of many match."""
    return _matching(_candidates(index, matching), matching)


def _matching(candidates: Iterable[_Candidate], matching: AclFilter) -> Iterator[AclBinding]:
    for pattern, entries in paced(candidates):
        if means_pattern(matching, pattern):
            for entry in eased(entries):
                if means_entry(matching, entry):
                    yield AclBinding(pattern, entry)


def _candidates(index: AclIndex, matching: AclFilter) -> Iterable[_Candidate]:
    """A superset of the patterns that match a filter, with their entries, as they are now."""
    kinds = [kind for kind in ResourceType if kind > ResourceType.ANY]
    if matching.type is not ResourceType.ANY:
        kinds = [matching.type]
    if matching.name is not None:
        named = _named(index, kinds, matching.name, matching.pattern_type)
        return [(one, index.acls[one].entries) for one in named if one in index.acls]
    if matching.principal is not None:
        found = [index.own_rules(kind, matching.principal) for kind in kinds]
        grants = [grant for each in found for rules in each for grant in rules.grants()]
        return ((grant.pattern, grant.entries) for grant in grants)
    # The ACLs of a state never change, unlike the rules above.
    return ((acls.pattern, acls.entries) for acls in index.acls.values())


def _named(
    index: AclIndex, kinds: Iterable[ResourceType], name: str, pattern_type: PatternType
) -> Iterator[ResourcePattern]:
    """The patterns with a name; if MATCH, all patterns that cover it."""
    for kind in kinds:
        literals, prefixes = [name], [name]
        if pattern_type is PatternType.MATCH:
            literals = list({name, WILDCARD})
            prefixes = list(index.present(kind).prefixes_of(name))
        yield from (ResourcePattern(kind, PatternType.LITERAL, one) for one in literals)
        yield from (ResourcePattern(kind, PatternType.PREFIXED, one) for one in prefixes)


class Presence:
    """The patterns of a type of resource that have ACLs."""

    __slots__ = ("_kind", "_lengths", "_literals", "_prefixes")

    def __init__(self, kind: ResourceType) -> None:
        self._kind = kind
        self._literals: set[str] = set()
        self._prefixes: set[str] = set()
        self._lengths: dict[str, dict[int, int]] = {}
        """The number of prefixes of each length, by the namespace that they stay in. Prefixes that
        are whole namespaces are left out. The inner mappings are replaced, never changed, because
        copies share them."""

    def copy(self) -> Presence:
        """A copy with the same patterns."""
        made = Presence(self._kind)
        pause_point()
        made._literals, made._prefixes = set(self._literals), set(self._prefixes)
        made._lengths = dict(self._lengths)
        return made

    def put(self, pattern: ResourcePattern, *, there: bool) -> None:
        """Note whether a pattern has ACLs now (``there``)."""
        name = pattern.name
        if pattern.pattern_type is PatternType.LITERAL:
            (self._literals.add if there else self._literals.discard)(name)
            return
        (self._prefixes.add if there else self._prefixes.discard)(name)
        if self._is_namespace(name):
            return
        head = name_of(self._kind, name).head
        lengths = dict(self._lengths.get(head, _NO_LENGTHS))
        lengths[len(name)] = lengths.get(len(name), 0) + (1 if there else -1)
        if not lengths[len(name)]:
            del lengths[len(name)]
        if lengths:
            self._lengths[head] = lengths
        else:
            del self._lengths[head]

    def prefixes_in(self, head: str) -> int:
        """The number of prefixes that stay in a namespace."""
        return sum(self._lengths.get(head, _NO_LENGTHS).values())

    def covers(self, text: str) -> bool:
        """Whether a pattern with ACLs covers a name."""
        if text in self._literals or WILDCARD in self._literals:
            return True
        return any(True for _ in self.prefixes_of(text))

    def prefixes_of(self, text: str) -> Iterator[str]:
        """The names of the PREFIXED patterns that cover a name."""
        prefixes = self._prefixes
        if self._kind in NAMESPACED:
            yield from (tier for tier in tiers_of(text) if tier in prefixes)
        if self._is_namespace(text):
            return
        for length in self._lengths.get(name_of(self._kind, text).head, ()):
            if length <= len(text) and text[:length] in prefixes:
                yield text[:length]

    def _is_namespace(self, text: str) -> bool:
        return self._kind in NAMESPACED and text.endswith(DELIMITER)
