"""The next state of the catalog: what each change does to its entities, and to their indexes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from gateway.catalog.entities import (
    Change,
    ClientMetrics,
    Entity,
    Link,
    Namespace,
    Removal,
    TopicEntry,
)
from gateway.catalog.schema.table import kind_of
from gateway.catalog.tallies import TALLIED, tally_difference
from gateway.client_metrics import Subscription
from gateway.names import DELIMITER, LogicalName, flat_prefix, fold

Held: TypeAlias = Mapping[str, Mapping[Any, Any]]
"""Entities by the name of their kind, and by their place in it (``Kind.place``)."""

_NOTHING: Mapping[Any, Any] = MappingProxyType({})


class Draft:
    """A state of the catalog in the making: mappings that change are copied once, the rest is
    shared. ``held`` and ``indexes`` are those of the snapshot before: the entities by the name of
    their kind and their place in it, and the indexes by the name of the snapshot's field.
    """

    def __init__(self, held: Held, indexes: Mapping[str, Any]) -> None:
        self._before = held
        self._indexes_before = indexes
        self._copies: dict[str, dict[Any, Any]] = {}
        self.indexes: dict[str, Any] = {}
        """The indexes that have changed."""

    def apply(self, change: Change) -> None:
        """Take one more change."""
        kind = kind_of(change)
        entity: Entity | None = None
        if isinstance(change, Removal):
            place = kind.place(change.key[1])
        else:
            place = kind.place_of(change)
            lasting = kind.lasting(change)
            entity = None if lasting == kind.nothing else lasting
        if kind.name == Namespace.KIND:
            self._index_namespace(place, entity)
        elif kind.name == TopicEntry.KIND:
            self._index_topic(place, entity)
        elif kind.name == Link.KIND:
            self._index_link(place, entity)
        elif kind.name == ClientMetrics.KIND:
            self._index_client_metrics(place, entity)
        held = self._copy(kind.name)
        if kind.name in TALLIED:
            self._tally(held.get(place), entity)
        _put(held, place, entity)

    def held(self) -> Held:
        """The entities after the changes."""
        held = {**self._before, **self._copies}
        return {name: entities for name, entities in held.items() if entities}

    def _copy(self, kind: str) -> dict[Any, Any]:
        if kind not in self._copies:
            self._copies[kind] = dict(self._before.get(kind, _NOTHING))
        return self._copies[kind]

    def _index(self, attribute: str) -> dict[Any, Any]:
        if attribute not in self.indexes:
            self.indexes[attribute] = dict(self._indexes_before[attribute])
        found: dict[Any, Any] = self.indexes[attribute]
        return found

    def _index_namespace(self, path: Any, entity: Any) -> None:
        _put(self._index("_prefixes"), fold(flat_prefix(path)), None if entity is None else path)
        deleting: frozenset[str] = self.indexes.get("deleting", self._indexes_before["deleting"])
        marked = entity is not None and entity.deleting is not None
        if marked is not (path in deleting):
            self.indexes["deleting"] = deleting | {path} if marked else deleting - {path}

    def _index_topic(self, flat: Any, entity: Any) -> None:
        names, ids = self._index("_by_name"), self._index("_by_id")
        former: TopicEntry | None = self._copy(TopicEntry.KIND).get(flat)
        if former is not None:
            for name in former.names:
                if names.get(name) == flat:
                    del names[name]
            for topic_id in former.ids:
                ids.pop(topic_id, None)
        links = self._held(Link.KIND)
        for link in (links[name] for name in self._links_of(flat)):
            _put(ids, link.topic_id, None if entity is None else (flat, link.name))
        if entity is None:
            return
        # An alias gives way to a topic that has taken the name since.
        names.update({alias: flat for alias in reversed(entity.names) if alias not in names})
        names[entity.name] = flat
        ids.update({topic_id: (flat, name) for topic_id, name in entity.ids.items()})

    def _index_link(self, name: Any, link: Any) -> None:
        former: Link | None = self._held(Link.KIND).get(name)
        of, ids = self._index("_links_of"), self._index("_by_id")
        if former is not None:
            left = tuple(one for one in of.get(former.flat, ()) if one != name)
            _put(of, former.flat, left or None)
            ids.pop(former.topic_id, None)
        if link is None or link.gone:
            return
        of[link.flat] = tuple(sorted({*of.get(link.flat, ()), name}))
        if link.flat in self._held(TopicEntry.KIND):
            ids[link.topic_id] = link.flat, name

    def _index_client_metrics(self, name: Any, entity: Any) -> None:
        namespace, of = name.rpartition(DELIMITER)[0], self._index("_subscriptions")
        left = tuple(one for one in of.get(namespace, ()) if one.name != name)
        if entity is not None:
            left = (*left, Subscription(name, entity.configs))
        _put(of, namespace, left or None)

    def _tally(self, former: Entity | None, entity: Entity | None) -> None:
        for tally, more in tally_difference(former, entity):
            tallies = self._index("_tallies")
            _put(tallies, tally, tallies.get(tally, 0) + more or None)

    def _links_of(self, flat: str) -> tuple[LogicalName, ...]:
        of = self.indexes.get("_links_of", self._indexes_before["_links_of"])
        found: tuple[LogicalName, ...] = of.get(flat, ())
        return found

    def _held(self, kind: str) -> Mapping[Any, Any]:
        return self._copies.get(kind, self._before.get(kind, _NOTHING))


def _put(mapping: dict[Any, Any], key: Any, value: Any) -> None:
    if value is None:
        mapping.pop(key, None)
    else:
        mapping[key] = value
