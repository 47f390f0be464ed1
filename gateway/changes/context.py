"""What every change works with."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from gateway.catalog.source import Catalog
from gateway.changes.tree import Trees
from gateway.changes.usage import Usage
from gateway.policies.judge import NO_JUDGE, Judge
from gateway.topic_ids import TopicIndex

ATTEMPTS: Final = 20
"""How often what changes under the reader is read anew."""


class Admin(Protocol):
    """Asks the cluster (gateway/cluster/admin.py)."""

    async def ask(
        self, name: str, make: Callable[[type], Any], *, at_most: int, changes: bool = True
    ) -> Any:
        """The response entity; raises ClusterUnreachable, an OSError."""
        ...


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
    admin: Admin
    clock: Callable[[], int] = now_ms
    trees: Trees = field(default_factory=Trees)
    usage: Usage = field(default_factory=Usage)
    judge: Judge = NO_JUDGE
    deprecated_grants: Counter[str] = field(default_factory=Counter)
