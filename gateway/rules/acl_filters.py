"""Which ACLs a client's filter means (KIP-140, KIP-290), in the catalog's terms.

A view confines a filter as it confines every name: under a home an open filter means what is in
it, and LITERAL ``*`` means the pattern that stands for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, NamedTuple

from gateway.acl_model import NAMESPACED, AclEntry, PatternType, ResourcePattern, ResourceType
from gateway.acls.authorizer import AclFilter, means_entry, means_pattern
from gateway.catalog.entities import ResourceAcls
from gateway.catalog.snapshot import Snapshot
from gateway.decision import Denied
from gateway.rules.acl_names import home_wildcard, pattern_named, shown_pattern
from gateway.views.view import View

_KINDS: Final = tuple(kind for kind in ResourceType if kind > ResourceType.ANY)
_STORED: Final = (PatternType.LITERAL, PatternType.PREFIXED)


class Found(NamedTuple):
    """A pattern, how it is shown, and the entries of it that a filter means."""

    pattern: ResourcePattern
    shown: ResourcePattern
    entries: frozenset[AclEntry]


@dataclass(frozen=True, slots=True)
class Meant:
    """What a client's filter means in its view: whatever one of ``filters``, in the catalog's
    terms, matches, and the view shows with a pattern type that was ``asked`` for. ``names``: it
    names its patterns, so that each filter means one at most."""

    view: View
    asked: PatternType
    filters: tuple[AclFilter, ...]
    names: bool

    def shown(self, pattern: ResourcePattern) -> ResourcePattern | None:
        """The pattern as the client is shown it; None for what the filter does not mean."""
        shown = shown_pattern(self.view, pattern)
        if shown is None or (self.asked in _STORED and shown.pattern_type is not self.asked):
            return None
        return shown

    def patterns(self) -> list[ResourcePattern]:
        """Those that a filter with a name means, whether or not they exist."""
        return [
            ResourcePattern(one.type, one.pattern_type, one.name)
            for one in self.filters
            if one.name is not None and one.pattern_type in _STORED
        ]

    def in_catalog(self, snapshot: Snapshot) -> Iterator[Found]:
        """What it means in a catalog."""
        for acls in self._candidates(snapshot):
            pattern = acls.pattern
            for one in self.filters:
                if means_pattern(one, pattern):
                    break
            else:
                continue
            entries = _entries(one, acls)
            shown = self.shown(pattern) if entries else None
            if shown is not None:
                yield Found(pattern, shown, entries)

    @property
    def scans(self) -> bool:
        """Whether all ACLs have to be looked through."""
        return len(self.patterns()) < len(self.filters)

    def _candidates(self, snapshot: Snapshot) -> Iterable[ResourceAcls]:
        if self.scans:
            return snapshot.acls.values()
        return [snapshot.acls[pattern] for pattern in self.patterns() if pattern in snapshot.acls]


def meant(view: View, asked: AclFilter) -> Meant:
    """What a filter means whose name and pattern type are the client's.

    A name that stands for nothing in this view, such as one outside of its home, means nothing.
    """
    kinds = _KINDS if asked.type is ResourceType.ANY else (asked.type,)
    if view.settings.home:
        kinds = tuple(kind for kind in kinds if kind in NAMESPACED)
    if asked.name is None:
        return Meant(view, asked.pattern_type, tuple(_open(view, asked, kinds)), names=False)
    patterns = _named(view, asked.name, asked.pattern_type, kinds)
    filters = (replace(asked, type=p.type, name=p.name, pattern_type=t) for p, t in patterns)
    names = asked.pattern_type is not PatternType.MATCH
    return Meant(view, asked.pattern_type, tuple(dict.fromkeys(filters)), names)


def _entries(one: AclFilter, acls: ResourceAcls) -> frozenset[AclEntry]:
    """What a filter means of a pattern. Mostly nothing, and there are many patterns."""
    wanted = one.principal
    if wanted is not None and not any([entry.principal == wanted for entry in acls.entries]):
        return frozenset()
    return frozenset([entry for entry in acls.entries if means_entry(one, entry)])


def _open(view: View, asked: AclFilter, kinds: Iterable[ResourceType]) -> Iterator[AclFilter]:
    """Filters without a name. What LITERAL ``*`` of a home stands for is PREFIXED."""
    if not view.settings.home:
        yield asked
        return
    for kind in kinds:
        yield replace(asked, type=kind)
        wildcard = home_wildcard(view, kind)
        if wildcard is not None and asked.pattern_type is PatternType.LITERAL:
            yield replace(asked, type=kind, name=wildcard.name, pattern_type=PatternType.PREFIXED)


def _named(
    view: View, name: str, asked: PatternType, kinds: Iterable[ResourceType]
) -> Iterator[tuple[ResourcePattern, PatternType]]:
    """The patterns that a name may stand for, each with the pattern type to look for."""
    if not name:
        return
    types = {PatternType.ANY: _STORED, PatternType.MATCH: (PatternType.LITERAL,)}
    for kind, pattern_type in product(kinds, types.get(asked, (asked,))):
        found = pattern_named(view, kind, pattern_type, name)
        if isinstance(found, Denied):
            continue
        match = asked is PatternType.MATCH and found.pattern_type is PatternType.LITERAL
        yield found, PatternType.MATCH if match else found.pattern_type
        raw = ResourcePattern(kind, pattern_type, name)
        if kind in NAMESPACED - {ResourceType.TOPIC} and not view.settings.home:
            # It may have been written before there was the namespace that it spells.
            yield raw, asked if asked is PatternType.MATCH else pattern_type
