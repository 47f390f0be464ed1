"""The parts of a configuration's file that are valid by themselves, for the rules between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gateway.config.models import (
    CatalogSettings,
    Cluster,
    Config,
    Listener,
    MetricsSettings,
    TrafficLogSettings,
    Trust,
)
from gateway.config.reach import reached
from gateway.config.security import AuditSettings, ClusterSecurity
from gateway.config.tree import TreeSettings
from gateway.node_ids import NodeIdRanges


@dataclass(frozen=True, slots=True)
class ClusterParts:
    """The valid keys of a cluster. Keys that are not valid, or not in the file, are None."""

    name: str | None = None
    ranges: NodeIdRanges | None = None
    security: ClusterSecurity | None = None
    mount: str | None = None
    number: int | None = None
    catalog: CatalogSettings | None = None
    namespaces: Sequence[str] | None = None
    trust: Mapping[int, Trust] | None = None
    # The names of all keys that the cluster has in the file.
    written: frozenset[str] = frozenset()

    @classmethod
    def of(cls, cluster: Cluster) -> ClusterParts:
        """The parts of a valid cluster that ports depend on."""
        ranges = NodeIdRanges.parse(cluster.node_ids)
        return cls(cluster.name, ranges, mount=cluster.mount, number=cluster.number)

    @property
    def in_tree(self) -> bool:
        """Whether the cluster has a place in a tree, by its keys in the file."""
        return not self.written.isdisjoint({"mount", "number"})


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a configuration that are valid by themselves; the others are left out."""

    # By their index in the file.
    clusters: Mapping[int, ClusterParts]
    namespaces: Sequence[str] | None
    # By their index in the file.
    listeners: Mapping[int, Listener]
    metrics: MetricsSettings | None
    audit: AuditSettings | None = None
    # Whether the file has ``authorization``.
    authorizes: bool = False
    traffic_log: TrafficLogSettings | None = None
    catalog: CatalogSettings | None = None
    # The names of the file's outermost keys.
    written: frozenset[str] = frozenset()
    # The number of listeners in the file, valid or not.
    listeners_written: int = 0
    tree: TreeSettings | None = None
    # Whether the file has a ``tree``, valid or not, so that mounts of other gateways may be named.
    has_peers: bool = False

    @classmethod
    def of(cls, config: Config) -> Parts:
        """The parts of a valid configuration that bind ports."""
        return cls(
            dict(enumerate(map(ClusterParts.of, config.clusters))),
            None,
            dict(enumerate(config.listeners)),
            config.metrics,
            tree=config.tree,
            has_peers=config.tree is not None,
        )

    @property
    def is_tree(self) -> bool:
        """Whether clusters have places in a tree, as they must if there are several."""
        return len(self.clusters) > 1 or any(one.in_tree for one in self.clusters.values())

    @property
    def mounts(self) -> list[str] | None:
        """Every mount, in the order of the clusters, or None if a mount is missing or not valid."""
        mounts = [one.mount for one in self.clusters.values()]
        known = [mount for mount in mounts if mount is not None]
        return known if len(known) == len(mounts) else None

    def volume_of(self, listener: Listener) -> int | None:
        """The index of the cluster that is the listener's volume, as far as it is known and in this
        file."""
        if not self.is_tree or (listener.volume is None and len(self.clusters) == 1):
            return next(iter(self.clusters), None)
        for index, cluster in self.clusters.items():
            if cluster.mount is not None and cluster.mount == listener.volume:
                return index
        return None

    def is_far(self, path: str | None) -> bool:
        """Whether a path that a listener names is the mount of another gateway."""
        mounts = self.mounts if self.has_peers and self.is_tree else None
        return path is not None and mounts is not None and path not in mounts

    def far_of(self, listener: Listener) -> list[str]:
        """The mounts of other gateways that a listener names, without repetition: its own volume
        first."""
        named = dict.fromkeys((listener.volume, *(listener.reach or ())))
        return [path for path in named if path is not None and self.is_far(path)]

    def reach_of(self, listener: Listener) -> tuple[ClusterParts, ...]:
        """The clusters whose brokers have a port on the listener, in the order of the ports."""
        return reached(((one.mount, one) for one in self.clusters.values()), listener)

    def ranges_of(self, listener: Listener) -> list[NodeIdRanges] | None:
        """The node ids that have a port on the listener, by cluster, or None unless all are
        known."""
        clusters = self.reach_of(listener)
        known = [one.ranges for one in clusters if one.ranges is not None]
        near = {*(listener.reach or ())}.difference(self.far_of(listener))
        complete = near <= {one.mount for one in clusters}
        return known if clusters and complete and len(known) == len(clusters) else None
