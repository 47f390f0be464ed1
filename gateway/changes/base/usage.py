"""Topics and partitions of every namespace, which counted limits are compared with.

A topic counts once the cluster lists it, and before that while its catalog entry says that it is
about to be made (``TopicEntry.counted``): from the decision that it may be made until the next
listing of every gateway. Counts are kept from one question to the next: a decision in the catalog
writer's turn looks at what has changed, not at every topic there is.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gateway.catalog.entities import Namespace, TopicEntry
from gateway.catalog.snapshot import Snapshot, differing
from gateway.mirror_maker import DEFAULT
from gateway.names import DELIMITER, is_reserved, parents
from gateway.policies.judge import Usage as AnyUsage
from gateway.topic_ids import TopicIndex

LISTING_HOLDS: Final = 30_000
"""Milliseconds for which a listing of the cluster may be counted by: entries of topics that it
lacks are kept for longer (``create_plan.CREATION_TIME``)."""

UNCOUNTED: Final = 64
"""Topics of MirrorMaker's own (five for each cluster it knows) that a cluster has without their
being counted, the first ones by flat name. There is a bound because anyone who may create topics
may name them so, in as many namespaces as it likes."""

UNCOUNTED_PARTITIONS: Final = 25
"""Partitions of such a topic at most (the default of ``offset.storage.partitions``, the most that
MirrorMaker creates): one with more counts like any other."""

_ROOM: Final = -sys.maxsize
"""So little usage that any limit has room for more."""


@dataclass(frozen=True, slots=True)
class Tree:
    """``children`` maps a namespace (``""``: the default one) to the paths directly below it,
    sorted; ``topics`` to how many listed topics are in it, not below it."""

    children: dict[str, list[str]]
    topics: Counter[str]


@dataclass(slots=True)
class Trees:
    """The tree as of now, kept until the catalog or the cluster's topics change."""

    _snapshot: Snapshot | None = None
    _version: int = 0
    _tree: Tree = field(default_factory=lambda: Tree({}, Counter()))

    def of(self, snapshot: Snapshot, index: TopicIndex) -> Tree:
        """Looks at every topic there is if anything has changed, a microsecond or two each."""
        if self._snapshot is not snapshot or self._version != index.version:
            children: defaultdict[str, list[str]] = defaultdict(list)
            for path in sorted(snapshot.namespaces):
                children[path.rpartition(DELIMITER)[0]].append(path)
            names = (flat.decode() for flat in list(index.names()))
            owners = (snapshot.owner(flat).namespace for flat in names if not is_reserved(flat))
            self._tree = Tree(dict(children), Counter(owners))
            self._snapshot, self._version = snapshot, index.version
        return self._tree


class Counts:
    """Topics and partitions by namespace. Implements :class:`gateway.policies.limits.Usage`."""

    def __init__(self) -> None:
        self._topics: Counter[str] = Counter()
        self._partitions: Counter[str] = Counter()
        self._tree_topics: Counter[str | None] = Counter()
        self._tree_partitions: Counter[str | None] = Counter()

    def add(self, namespace: str, partitions: int, topics: int = 1) -> None:
        """Count so many partitions, and topics, more in a namespace."""
        self._topics[namespace] += topics
        self._partitions[namespace] += partitions
        for tier in (None, *parents(namespace)):
            self._tree_topics[tier] += topics
            self._tree_partitions[tier] += partitions

    def topics(self, path: str) -> int:
        """Topics of one namespace (``""``: the default one), without those below it."""
        return self._topics[path]

    def partitions(self, path: str) -> int:
        """Partitions of the topics of one namespace."""
        return self._partitions[path]

    def tree_topics(self, path: str | None) -> int:
        """Topics of a namespace and all below it; None: of all namespaces, the default one too."""
        return self._tree_topics[path]

    def tree_partitions(self, path: str | None) -> int:
        """Partitions of the topics of a namespace and all below it."""
        return self._tree_partitions[path]


class Usage(Counts):
    """The counts of one catalog and one cluster."""

    def __init__(self) -> None:
        super().__init__()
        self._counted: dict[str, tuple[str, int]] = {}
        self._own: set[str] = set()
        self._uncounted: frozenset[str] = frozenset()
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
        own = set(self._own)
        for flat in changed:
            before, now = self._counted.get(flat), _counted(snapshot, index, flat)
            if before == now:
                continue
            if before is not None:
                self._count(flat, -1)
                own.discard(flat)
                del self._counted[flat]
            if now is not None:
                self._counted[flat] = now
                if _may_be_uncounted(snapshot.owner(flat).topic, now[1]):
                    own.add(flat)
                self._count(flat, 1)
        if own != self._own:
            self._leave_out(own)
        return self

    def _count(self, flat: str, sign: int) -> None:
        namespace, partitions = self._counted[flat]
        if flat not in self._uncounted:
            self.add(namespace, sign * partitions, sign)

    def _leave_out(self, own: set[str]) -> None:
        """Leave the first of these out of the counts, and count the others."""
        self._own, uncounted = own, frozenset(sorted(own)[:UNCOUNTED])
        for flat, sign in (
            *((flat, 1) for flat in self._uncounted - uncounted),
            *((flat, -1) for flat in uncounted - self._uncounted),
        ):
            if flat in self._counted:
                namespace, partitions = self._counted[flat]
                self.add(namespace, sign * partitions, sign)
        self._uncounted = uncounted

    @property
    def uncounted(self) -> int:
        """The topics of MirrorMaker's own that are not counted."""
        return len(self._uncounted)

    def is_uncounted(self, flat: str) -> bool:
        """Whether a topic that exists is one of those."""
        return flat in self._uncounted

    def partitions_of(self, flat: str) -> int:
        """The partitions that one topic counts with; 0: it does not count."""
        return self._counted.get(flat, ("", 0))[1]


def _counted(snapshot: Snapshot, index: TopicIndex, flat: str) -> tuple[str, int] | None:
    """The namespace that a topic counts in, and its partitions; None: there is no such topic, nor
    will there be."""
    if is_reserved(flat):
        return None
    entry = snapshot.topics.get(flat)
    expected = 0 if entry is None else entry.counted
    exists = index.exists(flat.encode())
    if not exists and not expected:
        return None
    # A topic that was learnt of since the last listing has a partition at least.
    listed = index.partitions.get(flat.encode(), 1) if exists else 0
    return snapshot.owner(flat).namespace, max(expected, listed)


def _may_be_uncounted(topic: str, partitions: int) -> bool:
    return partitions <= UNCOUNTED_PARTITIONS and DEFAULT.is_mm2_internal_topic(topic)


class Expected(Counts):
    """Usage, and what else the same decision is about to add."""

    def __init__(self, usage: Usage) -> None:
        super().__init__()
        self._usage = usage
        self._uncounted = 0

    def takes_uncounted(self, topic: str, partitions: int) -> bool:
        """Whether a new topic is one that no limit counts; there is one more of them then."""
        if self._usage.uncounted + self._uncounted >= UNCOUNTED:
            return False
        if not _may_be_uncounted(topic, partitions):
            return False
        self._uncounted += 1
        return True

    def topics(self, path: str) -> int:
        """See :class:`Counts`."""
        return self._usage.topics(path) + super().topics(path)

    def partitions(self, path: str) -> int:
        """See :class:`Counts`."""
        return self._usage.partitions(path) + super().partitions(path)

    def tree_topics(self, path: str | None) -> int:
        """See :class:`Counts`."""
        return self._usage.tree_topics(path) + super().tree_topics(path)

    def tree_partitions(self, path: str | None) -> int:
        """See :class:`Counts`."""
        return self._usage.tree_partitions(path) + super().tree_partitions(path)


class UsageForMove:
    """Usage as it limits topics that come from the namespace ``former``: a tree that holds both
    namespaces gets no more topics by the move, so it has room, however many it holds."""

    def __init__(self, usage: AnyUsage, former: str) -> None:
        self.topics = usage.topics
        self.partitions = usage.partitions
        self._usage = usage
        self._former = former

    def tree_topics(self, path: str | None) -> int:
        """Topics of a namespace and all below it."""
        return _ROOM if self._holds_former(path) else self._usage.tree_topics(path)

    def tree_partitions(self, path: str | None) -> int:
        """Partitions of the topics of a namespace and all below it."""
        return _ROOM if self._holds_former(path) else self._usage.tree_partitions(path)

    def _holds_former(self, path: str | None) -> bool:
        return path is None or self._former == path or self._former.startswith(path + DELIMITER)
