"""Several clusters in memory, with brokers, sizes and features, for the operators' tools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import cast

import pytest

from gateway.catalog.replicated import ReplicatedCatalog
from gateway.catalog.snapshot import Snapshot
from gateway.cluster.admin import BrokerAdmin
from gateway.cluster.cluster import Cluster
from gateway.commands import backend, log_dirs
from gateway.commands.errors import CommandError, Unavailable
from gateway.commands.log_dirs import Sizes
from gateway.config.models import Config
from tests.commands.fake_backend import FakeCatalog, FakeCluster


@dataclass
class FakeVolume:
    """A cluster: its catalog, its topics with their sizes, and why it cannot be used."""

    snapshot: Snapshot = field(default_factory=Snapshot)
    topics: Mapping[str, int] = field(default_factory=dict)
    level: int | None = 27
    missing: Sequence[str] = ()
    failure: CommandError | None = None

    def opened(self) -> backend.Backend:
        """The backend that stands in for the cluster."""
        cluster = FakeCluster({name: {} for name in self.topics})
        fake = cast(SimpleNamespace, cluster)
        fake.brokers = {1: ("127.0.0.1", 9092)}
        fake.sizes = Sizes(self.topics, tuple(self.missing))
        features = [SimpleNamespace(name="group.version", max_version_level=1)]
        if self.level is not None:
            named = SimpleNamespace(name="metadata.version", max_version_level=self.level)
            features.append(named)
        fake.served = SimpleNamespace(finalized_features=features)
        catalog = cast(ReplicatedCatalog, FakeCatalog(self.snapshot))
        return backend.Backend(cast(Cluster, cluster), cast(BrokerAdmin, cluster), catalog)


def down(name: str) -> Unavailable:
    """The error of a cluster that does not respond."""
    return Unavailable(f"cluster '{name}' is not reachable; see that it runs")


def take_place(monkeypatch: pytest.MonkeyPatch, volumes: Mapping[str, FakeVolume]) -> list[str]:
    """Stand in for the clusters of these names; returns the names of the clusters that were
    opened."""
    opened: list[str] = []

    @asynccontextmanager
    async def open_one(
        config: Config, *, read_only: bool, or_empty: bool = False
    ) -> AsyncIterator[backend.Backend]:
        assert read_only
        (cluster,) = config.clusters
        opened.append(cluster.name)
        volume = volumes[cluster.name]
        if volume.failure is not None:
            raise volume.failure
        yield volume.opened()

    async def sizes(cluster: Cluster) -> Sizes:
        found: Sizes = cast(SimpleNamespace, cluster).sizes
        return found

    monkeypatch.setattr(backend, "open_backend", open_one)
    monkeypatch.setattr(log_dirs, "stored_sizes", sizes)
    return opened
