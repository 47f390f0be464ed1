"""What every change works with."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Protocol

from gateway.brokers.messages import ClusterAdmin
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Catalog, Decide
from gateway.changes.base.usage import Usage
from gateway.names import DELIMITER, is_reserved
from gateway.policies.judge import NO_JUDGE, Judge
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


ATTEMPTS: Final = 20
"""How often what changes under the reader is read anew."""


class Cluster(Protocol):
    """The cluster's topics (gateway/cluster/cluster.py)."""

    @property
    def index(self) -> TopicIndex:
        """As of the last listing and what was learnt since."""
        ...

    async def refresh(self) -> None:
        """List anew; raises ClusterUnreachable, an OSError."""
        ...


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Context:
    """The catalog, the cluster, and who asks it. ``clock`` tells milliseconds since the epoch.

    ``deprecated_grants`` counts ACLs that were made over the wire and should not be any more, by
    operation, until they are taken. ``judge`` asks the policies.
    """

    catalog: Catalog
    cluster: Cluster
    admin: ClusterAdmin
    clock: Callable[[], int] = now_ms
    trees: Trees = field(default_factory=Trees)
    usage: Usage = field(default_factory=Usage)
    judge: Judge = NO_JUDGE
    deprecated_grants: Counter[str] = field(default_factory=Counter)

    async def decide(self, decide: Decide, validate_only: bool) -> None:
        """Change the catalog; with ``validate_only`` just find what is against it. Raises OSError,
        and what ``decide`` raises."""
        if validate_only:
            decide(self.catalog.snapshot)
        else:
            await self.catalog.change(decide)

    async def tidy(self, decide: Decide) -> OSError | None:
        """Change the catalog if there is anything to change; returns why that failed, where the
        request is done all the same."""
        try:
            if decide(self.catalog.snapshot):
                await self.catalog.change(decide)
        except OSError as error:
            return error
        return None
