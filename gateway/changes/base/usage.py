"""How many topics and partitions every namespace has: what counted limits are compared with.

What counts is what the cluster lists, and what the catalog says is about to be there
(``TopicEntry.counted``): between the decision that a topic may be made and the next listing of
every gateway that knows it, its entry counts. Kept from one question to the next: a decision in
the catalog writer's turn looks at what has changed, not at every topic there is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from gateway.catalog.entities import Namespace, TopicEntry
from gateway.catalog.snapshot import Snapshot, differing
from gateway.names import is_reserved, parents
from gateway.topic_ids import TopicIndex

_Counted = tuple[str, int]
"""The namespace that a topic counts in, and its partitions."""


class Usage:
    """Implements :class:`gateway.policies.judge.Usage` for one catalog and one cluster."""

    def __init__(self) -> None:
        self._counted: dict[str, _Counted] = {}
        self._topics: Counter[str] = Counter()
        self._partitions: Counter[str] = Counter()
        self._tree_topics: Counter[str] = Counter()
        self._tree_partitions: Counter[str] = Counter()
        self._namespaces: Mapping[str, Namespace] | None = None
        self._entries: Mapping[str, TopicEntry] = {}
        self._listed: Mapping[bytes, int] = {}
        self._version = -1

    def at(self, snapshot: Snapshot, index: TopicIndex) -> Usage:
        """This, as of a state of the catalog and the cluster's topics as they are known now."""
        changed: set[str] = set()
        if snapshot.namespaces is not self._namespaces or index.partitions is not self._listed:
            # Which topics that touches is not worth finding out: both are seldom.
            changed |= self._counted.keys()
            changed.update(flat.decode() for flat in index.names())
            changed |= snapshot.topics.keys()
        else:
            if snapshot.topics is not self._entries:
                changed.update(differing(self._entries, snapshot.topics))
            if index.version != self._version:
                changed |= self._counted.keys() ^ {flat.decode() for flat in index.names()}
        self._namespaces, self._entries = snapshot.namespaces, snapshot.topics
        self._listed, self._version = index.partitions, index.version
        for flat in changed:
            self._count(flat, _counted(snapshot, index, flat))
        return self

    def topics(self, path: str) -> int:
        """Topics of one namespace (``""``: the default one), without those below it."""
        return self._topics[path]

    def partitions(self, path: str) -> int:
        """Their partitions."""
        return self._partitions[path]

    def partitions_of(self, flat: str) -> int:
        """The partitions that one topic counts with; 0: it does not count."""
        found = self._counted.get(flat)
        return 0 if found is None else found[1]

    def tree_topics(self, path: str | None) -> int:
        """Topics of a namespace and all below it; None: of all namespaces, the default one too."""
        return len(self._counted) if path is None else self._tree_topics[path]

    def tree_partitions(self, path: str | None) -> int:
        """Their partitions."""
        return self._partitions.total() if path is None else self._tree_partitions[path]

    def _count(self, flat: str, now: _Counted | None) -> None:
        before = self._counted.get(flat)
        if before == now:
            return
        if before is not None:
            self._add(before, -1)
            del self._counted[flat]
        if now is not None:
            self._add(now, 1)
            self._counted[flat] = now

    def _add(self, counted: _Counted, sign: int) -> None:
        namespace, partitions = counted
        self._topics[namespace] += sign
        self._partitions[namespace] += sign * partitions
        for tier in parents(namespace):
            self._tree_topics[tier] += sign
            self._tree_partitions[tier] += sign * partitions


class Expected:
    """Usage, and what else is about to come by the same decision."""

    def __init__(self, usage: Usage) -> None:
        self._usage = usage
        self._topics: Counter[str | None] = Counter()
        self._partitions: Counter[str | None] = Counter()
        self._tree_topics: Counter[str | None] = Counter()
        self._tree_partitions: Counter[str | None] = Counter()

    def add(self, namespace: str, partitions: int, topics: int = 1) -> None:
        """So many partitions, and topics, more in a namespace."""
        self._topics[namespace] += topics
        self._partitions[namespace] += partitions
        for tier in (None, *parents(namespace)):
            self._tree_topics[tier] += topics
            self._tree_partitions[tier] += partitions

    def topics(self, path: str) -> int:
        """See :class:`Usage`."""
        return self._usage.topics(path) + self._topics[path]

    def partitions(self, path: str) -> int:
        """See :class:`Usage`."""
        return self._usage.partitions(path) + self._partitions[path]

    def tree_topics(self, path: str | None) -> int:
        """See :class:`Usage`."""
        return self._usage.tree_topics(path) + self._tree_topics[path]

    def tree_partitions(self, path: str | None) -> int:
        """See :class:`Usage`."""
        return self._usage.tree_partitions(path) + self._tree_partitions[path]


def _counted(snapshot: Snapshot, index: TopicIndex, flat: str) -> _Counted | None:
    """What a flat name counts as; None: there is no such topic, nor will there be."""
    if is_reserved(flat):
        return None
    entry = snapshot.topics.get(flat)
    expected = 0 if entry is None else entry.counted
    there = index.exists(flat.encode())
    if not there and not expected:
        return None
    # One that was learnt of since the last listing has a partition at least.
    listed = index.partitions.get(flat.encode(), 1) if there else 0
    return snapshot.owner(flat).namespace, max(expected, listed)


LISTING_HOLDS: Final = 30_000
"""Milliseconds for which a listing of the cluster may be counted by: entries of topics that it
lacks are kept for longer (``housekeeping.CREATION_TIME``)."""
