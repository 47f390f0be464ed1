"""A worker's report on its clusters: their catalogs, namespaces and gateways, limited in number."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from heapq import nsmallest
from typing import Final

from gateway.catalog.replicated import ReplicatedCatalog
from gateway.catalog.snapshot import Snapshot
from gateway.cluster.cluster import Cluster
from gateway.mounts import join
from gateway.names import DELIMITER
from gateway.node_ids import FIRST_GATEWAY_ID
from gateway.page.observed import Item

MAX_NAMESPACES: Final = 300
MAX_GATEWAYS: Final = 50


@dataclass(slots=True)
class DescribedCluster:
    """A cluster that a worker serves. ``mount`` is its path in the tree, or None without a tree.
    ``down`` returns the ids of the other gateways that accept no connection."""

    name: str
    mount: str | None
    number: int
    cluster: Cluster
    catalog: ReplicatedCatalog
    down: Callable[[], Collection[str]] = frozenset
    _read: Snapshot | None = None
    _found: Item = field(default_factory=dict)

    def item(self) -> Item:
        """The present state of the cluster and its catalog, in the keys that page/assets/*.js read.
        ``age``: seconds since the catalog was read to its end, or None if it never was."""
        catalog = self.catalog
        snapshot = catalog.snapshot
        if snapshot is not self._read:
            self._found, self._read = self._of_snapshot(snapshot), snapshot
        return {
            "name": self.name,
            "mount": self.mount,
            "number": self.number,
            "reachable": self.cluster.reachable,
            "topics": len(self.cluster.index.names()),
            "offset": catalog.position,
            "age": catalog.age,
            "fresh": catalog.fresh,
            "damaged": catalog.damaged,
            "skipped": catalog.skipped,
            "gateways_down": sorted(self.down()),
            **self._found,
        }

    def _of_snapshot(self, snapshot: Snapshot) -> Item:
        paths = snapshot.namespaces
        outermost = nsmallest(MAX_NAMESPACES, paths, key=lambda one: (one.count(DELIMITER), one))
        return {
            "format": snapshot.format,
            "entities": snapshot.size,
            "namespaces": [join(self.mount or "", one) for one in outermost],
            "namespaces_in_all": len(paths),
            "gateways": [
                self._gateway(snapshot, one) for one in nsmallest(MAX_GATEWAYS, snapshot.gateways)
            ],
            "gateways_in_all": len(snapshot.gateways),
        }

    def _gateway(self, snapshot: Snapshot, gateway_id: str) -> Item:
        gateway, member = snapshot.gateways[gateway_id], snapshot.members.get(gateway_id)
        return {
            "id": gateway_id,
            "software": gateway.software,
            "format": gateway.format,
            "node": None if member is None else FIRST_GATEWAY_ID + member.number,
            "addresses": {} if member is None else dict(member.addresses),
        }
