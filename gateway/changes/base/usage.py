"""Topics and partitions of every namespace, which counted limits are compared with.

A topic counts once the cluster lists it, and before that while its catalog entry says that it is
about to be made (``TopicEntry.counted``): from the decision that it may be made until the next
listing of every gateway. Counts are kept from one question to the next: a decision in the catalog
writer's turn looks at what has changed, not at every topic there is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from gateway.catalog.entities import Namespace, TopicEntry
from gateway.catalog.snapshot import Snapshot, differing
from gateway.mirror_maker import DEFAULT
from gateway.names import DELIMITER, LogicalName, decode, is_reserved
from gateway.policies.limits import Counts, Part, Scope, scopes
from gateway.topic_ids import TopicIndex
from protocol.pausing import FEW, eased, in_order, paced, pause_point

LISTING_HOLDS: Final = 30_000
"""Milliseconds for which a listing of the cluster may be counted by: entries of topics that it
lacks are kept for longer (``create_plan.CREATION_TIME``)."""

UNCOUNTED: Final = 64
"""Topics of MirrorMaker's own (five for each cluster it knows) that each limit leaves out: the
first ones by flat name of the namespace, or the tree, that it counts. There is a bound because
anyone who may create topics may name them so, in as many namespaces as it likes."""

UNCOUNTED_PARTITIONS: Final = 25
"""Partitions of such a topic at most (the default of ``offset.storage.partitions``, the most that
MirrorMaker creates): one with more counts like any other."""


PLACED_AT_ONCE: Final = 64
"""Topics that are counted anew between two pause points: 0.6 ms."""


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
        tree, version = self._tree, index.version
        if self._snapshot is not snapshot or self._version != version:
            children: defaultdict[str, list[str]] = defaultdict(list)
            for path in paced(in_order(snapshot.namespaces)):
                children[path.rpartition(DELIMITER)[0]].append(path)
            names = (flat.decode() for flat in paced(list(index.names())))
            owners = (snapshot.owner(flat).namespace for flat in names if not is_reserved(flat))
            tree = Tree(dict(children), Counter(owners))
            # After the pauses: others may have made one meanwhile, and one of the two is kept.
            self._tree, self._snapshot, self._version = tree, snapshot, version
        return tree


class Held(NamedTuple):
    """A topic as limits count it: its namespace and partitions. ``own``: limits leave it out, as
    long as there are few such topics."""

    namespace: str
    partitions: int
    own: bool

    @classmethod
    def under(cls, name: LogicalName, partitions: int) -> Held:
        """A topic of that name."""
        few = partitions <= UNCOUNTED_PARTITIONS
        own = few and DEFAULT.is_mm2_internal_topic(name.topic)
        return cls(name.namespace, partitions, own)


class _Topics(Counts, ABC):
    """Counts that follow topics as they come, change and go."""

    @abstractmethod
    def held(self, flat: str) -> Held | None:
        """A topic as it counts now, or None if there is none."""

    @abstractmethod
    def _keep(self, flat: str, held: Held | None) -> None:
        """Remember a topic, or that there is none."""

    @abstractmethod
    def _own(self, scope: Scope) -> list[str]:
        """The topics of MirrorMaker's own in a scope, sorted; the list is altered in place."""

    def place(self, flat: str, now: Held | None) -> list[Part]:
        """Count a topic as it is ``now``; returns by how much that makes each scope larger."""
        before = self.held(flat)
        if before == now:
            return []
        parts: list[Part] = []
        if before is not None:
            parts += self._parts(flat, before, comes=False)
        self._keep(flat, now)
        if now is not None:
            parts += self._parts(flat, now, comes=True)
        self.include(parts)
        return parts

    def _parts(self, flat: str, held: Held, *, comes: bool) -> list[Part]:
        """By how much scopes get larger as a topic comes, or goes."""
        sign = 1 if comes else -1
        parts: list[Part] = []
        for scope in scopes(held.namespace):
            partitions = held.partitions
            if held.own:
                own = self._own(scope)
                at = bisect_left(own, flat)
                if comes:
                    own.insert(at, flat)
                # The topic that is left out with it, and is not without it: it changes places.
                other = own[UNCOUNTED] if at < UNCOUNTED < len(own) else None
                if not comes:
                    del own[at]
                if at < UNCOUNTED:
                    if other is None:
                        continue
                    passed = self.held(other)
                    assert passed is not None, "its list has topics that exist"
                    partitions = passed.partitions
            parts.append(Part(scope, sign, sign * partitions))
        return parts


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """What counts follow: mappings that are replaced as a whole, so identity tells of changes."""

    namespaces: Mapping[str, Namespace] | None
    entries: Mapping[str, TopicEntry]
    listed: Mapping[bytes, int]
    version: int

    @classmethod
    def of(cls, snapshot: Snapshot, index: TopicIndex) -> _State:
        """The state of a catalog and of a cluster's topics."""
        return cls(snapshot.namespaces, snapshot.topics, index.partitions, index.version)

    def is_same(self, other: _State) -> bool:
        """Whether nothing has changed from one state to the other."""
        return (
            self.namespaces is other.namespaces
            and self.entries is other.entries
            and self.listed is other.listed
            and self.version == other.version
        )


class Usage(_Topics):
    """The counts of one catalog and one cluster."""

    def __init__(self) -> None:
        super().__init__()
        self._held: dict[str, Held] = {}
        self._own_in: defaultdict[Scope, list[str]] = defaultdict(list)
        self._state = _State(None, {}, {}, -1)
        self._unplaced: set[str] = set()

    def at(self, snapshot: Snapshot, index: TopicIndex) -> Usage:
        """This, as of a state of the catalog and the cluster's topics as they are known now.

        May take several slices: 200,000 topics take 2 s at first. Meanwhile others may bring it to
        a state of theirs, which is followed to this one then, in one go, because two could undo
        each other's counts for ever. Each topic counts as it was, or as it will be.
        """
        pauses = True
        while not (state := _State.of(snapshot, index)).is_same(self._state) or self._unplaced:
            before = self._state
            changed = self._changed(before, state, index)
            if self._state is not before:
                continue  # these are the differences from another state
            self._unplaced |= changed
            self._state = state
            while self._unplaced and self._state is state:
                for flat in list(islice(self._unplaced, PLACED_AT_ONCE)):
                    self._unplaced.discard(flat)
                    self.place(flat, _held(snapshot, index, flat))
                if pauses:
                    pause_point()
            pauses = False
        return self

    def _changed(self, before: _State, state: _State, index: TopicIndex) -> set[str]:
        """The topics that may count in another way than they did."""
        changed: set[str] = set()
        # Of all topics, theirs alone: else two who ask by different namespaces, in turns, would
        # begin anew with each turn of the other, for ever.
        if paths := _come_or_gone(before, state):
            names = _decoded(index)
            pause_point()
            flats = paced(self._held.keys() | names, FEW)
            changed.update(flat for flat in flats if decode(flat).namespace in paths)
        if state.entries is not before.entries:
            changed.update(differing(before.entries, state.entries))
            pause_point()
        if state.listed is not before.listed:
            listed = differing(before.listed, state.listed)
            changed.update(flat.decode() for flat in eased(listed))
        if state.version != before.version:
            names = _decoded(index)
            pause_point()
            changed |= self._held.keys() ^ names
        return changed

    def held(self, flat: str) -> Held | None:
        """See :class:`_Topics`."""
        return self._held.get(flat)

    def _keep(self, flat: str, held: Held | None) -> None:
        if held is None:
            self._held.pop(flat, None)
        else:
            self._held[flat] = held

    def _own(self, scope: Scope) -> list[str]:
        return self._own_in[scope]

    def own(self, scope: Scope) -> list[str]:
        """The topics of MirrorMaker's own in a scope, sorted."""
        return list(self._own_in.get(scope, ()))

    def is_counted(self, flat: str) -> bool:
        """Whether a topic is among those that the limits of its namespace count."""
        held = self._held.get(flat)
        if held is None or not held.own:
            return held is not None
        own = self._own_in[Scope(held.namespace, in_tree=False)]
        return bisect_left(own, flat) >= UNCOUNTED

    def partitions_of(self, flat: str) -> int:
        """The partitions of one topic; 0: there is no such topic, nor will there be."""
        held = self._held.get(flat)
        return 0 if held is None else held.partitions


def _come_or_gone(before: _State, now: _State) -> set[str]:
    """The paths of the namespaces that are in one of two states alone; none if nothing was
    counted by the first: all topics are new then."""
    was, there = before.namespaces, now.namespaces
    if was is None or there is None or was is there:
        return set()
    return {path for path in differing(was, there) if path not in was or path not in there}


def _decoded(index: TopicIndex) -> set[str]:
    return {flat.decode() for flat in paced(list(index.names()), FEW)}


def _held(snapshot: Snapshot, index: TopicIndex, flat: str) -> Held | None:
    """A topic as it counts, or None if there is no such topic, nor will there be."""
    if is_reserved(flat):
        return None
    entry = snapshot.topics.get(flat)
    expected = 0 if entry is None else entry.counted
    exists = index.exists(flat.encode())
    if not exists and not expected:
        return None
    # A topic that was learnt of since the last listing has a partition at least.
    listed = index.partitions.get(flat.encode(), 1) if exists else 0
    return Held.under(snapshot.owner(flat), max(expected, listed))


class Expected(_Topics):
    """Usage, and what else the same decision is about to change: it leaves the usage as it is."""

    def __init__(self, usage: Usage) -> None:
        super().__init__()
        self._usage = usage
        self._changed: dict[str, Held | None] = {}
        self._own_in: dict[Scope, list[str]] = {}

    def growth(self, flat: str, name: LogicalName, partitions: int) -> Counts:
        """By how much numbers would be larger if a topic, stored as ``flat``, whether it exists or
        not, had this name and so many partitions."""
        before = self.held(flat)
        parts = self.expect(flat, name, partitions)
        self.place(flat, before)
        return Counts(parts)

    def expect(self, flat: str, name: LogicalName, partitions: int) -> list[Part]:
        """Count a topic with this name and so many partitions, or as many as it has already, from
        now on; returns by how much that makes each scope larger."""
        before = self.held(flat)
        most = partitions if before is None else max(partitions, before.partitions)
        return self.place(flat, Held.under(name, most))

    def held(self, flat: str) -> Held | None:
        """See :class:`_Topics`."""
        return self._changed[flat] if flat in self._changed else self._usage.held(flat)

    def _keep(self, flat: str, held: Held | None) -> None:
        self._changed[flat] = held

    def _own(self, scope: Scope) -> list[str]:
        if scope not in self._own_in:
            self._own_in[scope] = self._usage.own(scope)
        return self._own_in[scope]

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
