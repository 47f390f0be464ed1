"""Names that topics were moved away from: no topic is auto-created under one of them, since a
client that has not heard of the move would go on writing there."""

from __future__ import annotations

from typing import Final

from gateway.catalog.entities import TopicEntry
from gateway.catalog.snapshot import Snapshot, differing
from gateway.catalog.source import Catalog
from gateway.names import LogicalName

MAX_NAMES: Final = 10_000
"""Names that are remembered; of more the oldest are forgotten."""


class FormerNames:
    """What one worker has seen of moves since it started. A topic's first name needs no memory: the
    topic is stored by it, and so holds it in the catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._seen = catalog.snapshot
        self._names: dict[LogicalName, None] = {}
        catalog.subscribe(self._catalog_changed)

    def __contains__(self, name: LogicalName) -> bool:
        return name in self._names

    def _catalog_changed(self) -> None:
        before, now = self._seen, self._catalog.snapshot
        self._seen = now
        if before.topics is now.topics:
            return
        for flat in differing(before.topics, now.topics):
            for name in _left(before, now, flat):
                self._names.pop(name, None)
                self._names[name] = None
        while len(self._names) > MAX_NAMES:
            del self._names[next(iter(self._names))]


def _left(before: Snapshot, now: Snapshot, flat: str) -> set[LogicalName]:
    """The names that led to a topic, and do no more. One whose entry is removed is deleted, or is
    stored by its name again, but for its aliases."""
    held = before.topics.get(flat)
    entry = now.topics.get(flat) or TopicEntry(flat, now.owner(flat))
    if held is not None and held.creating:
        return set()
    former = {before.owner(flat)} if held is None else set(held.names)
    if flat not in now.topics and entry.name not in former:
        return set()
    return former.difference(entry.names)
