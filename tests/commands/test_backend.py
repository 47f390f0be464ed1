"""gateway.commands.backend: opening the cluster and its catalog, and how that fails."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from gateway.audit.audit import NO_AUDIT, Audit
from gateway.catalog.log.needs import NEEDS
from gateway.catalog.log.records import UnreadableCatalog
from gateway.catalog.log.topics import CatalogTopicError, FoundTopic
from gateway.catalog.replicated import ReplicatedCatalog
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import CatalogUnavailable
from gateway.cluster.cluster import Cluster
from gateway.commands import backend
from gateway.commands.errors import CommandError, Unavailable
from gateway.config.models import Config
from gateway.config.security import AUDIT_TOPIC
from protocol.schema import api_key_of
from tests.cluster.scripted_broker import ClusterState, ScriptedBroker
from tests.config import config_samples


@pytest.fixture(autouse=True)
def root_handlers() -> Iterator[None]:
    """Restore the log's handlers after the test: tools report each failure once, so they silence
    the log."""
    root = logging.getLogger()
    before = list(root.handlers)
    yield
    root.handlers[:] = before


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "START_SECONDS", 0.2)


def config(directory: Path, port: int) -> Config:
    cluster = {"name": "main", "bootstrap_servers": [f"127.0.0.1:{port}"], "node_ids": ["1-3"]}
    return config_samples.config(directory, clusters=[cluster])


@pytest.mark.usefixtures("no_waiting")
async def test_a_cluster_that_does_not_answer(tmp_path: Path) -> None:
    async with ScriptedBroker(ClusterState()) as broker:
        port = broker.port
    with pytest.raises(Unavailable) as caught:
        async with backend.open_backend(config(tmp_path, port), read_only=True):
            pass
    assert str(caught.value) == (
        f"cluster 'main' is not reachable: 127.0.0.1:{port}: cannot connect: Connection refused; "
        "see that it runs, and that clusters[0] names it"
    )


def serving(topics: dict[str, UUID] | None = None, cluster_id: str = "a") -> ScriptedBroker:
    """A broker that serves the APIs that the catalog needs."""
    broker = ScriptedBroker(ClusterState(cluster_id, topics=topics or {}))
    needed = {api_key_of(name): (0, newest) for name, newest in NEEDS.items()}
    broker.api_versions = {**needed, **broker.api_versions}
    return broker


async def test_a_cluster_without_a_catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_topic(*_: object) -> FoundTopic:
        return FoundTopic(there=False)

    monkeypatch.setattr(backend, "find_topic", no_topic)
    async with serving({"a": UUID(int=1)}) as broker:
        with pytest.raises(backend.NoCatalog, match="cluster 'main' has no catalog yet: the fir"):
            async with backend.open_backend(config(tmp_path, broker.port), read_only=True):
                pass
        settings = config(tmp_path, broker.port)
        async with backend.open_backend(settings, read_only=True, or_empty=True) as found:
            assert found.catalog.snapshot == Snapshot()
            assert found.cluster.index.exists(b"a")
        await broker.wait_disconnected()


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (CatalogTopicError("it is not compacted"), CommandError),
        (UnreadableCatalog("it is newer"), CommandError),
        (CatalogUnavailable("It cannot be read now."), Unavailable),
    ],
)
async def test_a_catalog_that_cannot_be_used(
    error: Exception, kind: type[CommandError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(ReplicatedCatalog, "start", fails)
    async with serving() as broker:
        with pytest.raises(CommandError, match="the catalog of cluster 'main': ") as caught:
            async with backend.open_backend(config(tmp_path, broker.port), read_only=False):
                pass
        assert str(error) in str(caught.value)
        assert type(caught.value) is kind


async def test_all_of_it_is_closed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []

    async def start(_: ReplicatedCatalog, *, read_only: bool) -> None:
        calls.append(read_only)

    async def stop(_: ReplicatedCatalog) -> None:
        calls.append("stopped")

    monkeypatch.setattr(ReplicatedCatalog, "start", start)
    monkeypatch.setattr(ReplicatedCatalog, "stop", stop)
    async with serving({"a": UUID(int=1)}) as broker:
        with pytest.raises(ValueError, match="mine"):
            async with backend.open_backend(
                config(tmp_path, broker.port), read_only=False
            ) as found:
                assert isinstance(found.cluster, Cluster)
                assert found.cluster.index.exists(b"a")
                raise ValueError("mine")
        await broker.wait_disconnected()
    assert calls == [False, "stopped"]


@pytest.mark.usefixtures("no_waiting")
async def test_errors_of_another_cluster_have_its_key(tmp_path: Path) -> None:
    config = config_samples.tree(tmp_path)
    second = config.of_volume(config.clusters[1])
    with pytest.raises(Unavailable, match=r"cluster 'ny' is not .* that clusters\[1\] names it"):
        async with backend.open_backend(second, read_only=True):
            pass


@pytest.mark.parametrize("place", [0, 1])
async def test_audit_events_go_to_the_first_cluster(
    place: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever cluster the command is about."""
    opened: list[str] = []

    def open_audit(config: Config, *_: object) -> Audit:
        opened.append(config.clusters[0].name)
        return NO_AUDIT

    async def start(_: ReplicatedCatalog, *, read_only: bool) -> None:
        """Read nothing."""

    async def stop(_: ReplicatedCatalog) -> None:
        """Do nothing, because nothing was started."""

    monkeypatch.setattr(ReplicatedCatalog, "start", start)
    monkeypatch.setattr(ReplicatedCatalog, "stop", stop)
    monkeypatch.setattr(backend, "open_audit", open_audit)
    values = config_samples.tree_values(audit={"topic": AUDIT_TOPIC})
    async with serving() as la, serving(cluster_id="b") as ny:
        for cluster, broker in zip(values["clusters"], (la, ny), strict=True):
            cluster["bootstrap_servers"] = [f"127.0.0.1:{broker.port}"]
        config = config_samples.tree(tmp_path, **values)
        about = config.of_volume(config.clusters[place])
        async with backend.open_backend(about, read_only=False) as found:
            assert found.cluster.name == ("la", "ny")[place]
        await la.wait_disconnected()
    assert opened == ["la"]
