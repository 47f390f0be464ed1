"""The namespace tree with its topics counted: made once for many questions."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from gateway.catalog.snapshot import Snapshot
from gateway.names import DELIMITER, is_reserved
from gateway.topic_ids import TopicIndex


@dataclass(frozen=True, slots=True)
class Tree:
    """``children`` maps a namespace (``""``: the default one) to the paths directly below it,
    sorted; ``topics`` to how many topics are in it, not below it."""

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
            self._tree = _grow(snapshot, index)
            self._snapshot, self._version = snapshot, index.version
        return self._tree


def _grow(snapshot: Snapshot, index: TopicIndex) -> Tree:
    children: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(snapshot.namespaces):
        children[path.rpartition(DELIMITER)[0]].append(path)
    names = (flat.decode() for flat in list(index.names()))
    owners = (snapshot.owner(flat).namespace for flat in names if not is_reserved(flat))
    return Tree(dict(children), Counter(owners))
