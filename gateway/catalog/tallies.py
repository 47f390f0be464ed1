"""Tallies: how many namespaces, ACLs, links, aliases and subscriptions each tier of the tree has.

A snapshot keeps them from one state to the next, so that a limit is compared with a number and
nothing is counted anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from gateway.acl_model import namespace_of
from gateway.catalog.entities import (
    Change,
    ClientMetrics,
    Entity,
    Key,
    Link,
    Namespace,
    Removal,
    ResourceAcls,
    TopicEntry,
    key_of,
)
from gateway.names import DELIMITER, parents
from protocol.pausing import paced

TALLIED: Final = frozenset(
    {Namespace.KIND, ResourceAcls.KIND, Link.KIND, TopicEntry.KIND, ClientMetrics.KIND}
)
"""The kinds of entities that add to a tally."""


Tally: TypeAlias = tuple[str, str | None]
"""The name of a count (``namespaces``, ``ACLs``, ``links``, ``aliases`` or ``subscriptions``), and
the tier with everything below it (``""``: the default namespace alone, None: everything)."""


def contents(entity: Entity | None) -> Iterator[tuple[str, str | None, int]]:
    """The counts that an entity adds to a namespace and every tier above: count's name, namespace,
    number. A namespace counts in the tier above it (None if it is outermost), an alias in the
    namespace of its name."""
    match entity:
        case Namespace(path=path):
            yield "namespaces", path.rpartition(DELIMITER)[0] or None, 1
        case ResourceAcls(pattern=pattern, entries=entries):
            yield "ACLs", namespace_of(pattern) or "", len(entries)
        case Link(name=name):
            yield "links", name.namespace, 1
        case TopicEntry(aliases=aliases):
            for alias in aliases:
                yield "aliases", alias.name.namespace, 1
        case ClientMetrics(namespace=namespace):
            yield "subscriptions", namespace, 1


@lru_cache(maxsize=10_000)
def tiers_with(namespace: str | None) -> tuple[str | None, ...]:
    """The tiers whose tallies include a namespace."""
    return (None,) if namespace is None else (None, *(parents(namespace) or [""]))


def tally_difference(before: Entity | None, now: Entity | None) -> list[tuple[Tally, int]]:
    """By how much each tally grows if an entity takes the place of another."""
    grown: dict[tuple[str, str | None], int] = {}
    for what, namespace, count in contents(before):
        grown[what, namespace] = grown.get((what, namespace), 0) - count
    for what, namespace, count in contents(now):
        grown[what, namespace] = grown.get((what, namespace), 0) + count
    return [
        ((what, tier), more)
        for (what, namespace), more in grown.items()
        if more
        for tier in tiers_with(namespace)
    ]


class Grown:
    """By how much tallies grow by changes of the catalog, one after the other; ``namespaces`` are
    the namespaces that gain an entity."""

    def __init__(
        self, before: Callable[[Key], Entity | None], changes: Iterable[Change] = ()
    ) -> None:
        """``before`` is ``Snapshot.entity`` of the state that the changes are made to."""
        self.namespaces: dict[str, None] = {}
        self._before = before
        self._changed: dict[Key, Entity | None] = {}
        self._tallies: Counter[Tally] = Counter()
        for change in paced(changes):
            self.add(change)

    def add(self, change: Change) -> None:
        """Count a further change."""
        key = key_of(change)
        if key[0] not in TALLIED:
            return
        before = self._changed[key] if key in self._changed else self._before(key)
        now = None if isinstance(change, Removal) else change
        self._changed[key] = now
        self.exchange(before, now)

    def exchange(self, before: Entity | None, now: Entity | None) -> None:
        """Count an entity in place of another, if no other change is of the same entity."""
        for tally, more in tally_difference(before, now):
            self._tallies[tally] += more
        self.namespaces |= dict.fromkeys(namespace or "" for _, namespace, _ in contents(now))

    def tally(self, what: str, tier: str | None) -> int:
        """By how much a tally grows in a tier and below it; see ``Snapshot.tally``."""
        return self._tallies[what, tier]


NO_TALLIES: Final[Mapping[Tally, int]] = {}
