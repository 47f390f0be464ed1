"""A cluster and its catalog in memory, for the operators' tools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest

from gateway.catalog.replicated import ReplicatedCatalog
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import CatalogUnavailable, Decide
from gateway.cluster.admin import BrokerAdmin
from gateway.cluster.cluster import Cluster
from gateway.commands import backend
from gateway.config.models import Config
from gateway.topic_ids import TopicIndex
from protocol import messages
from protocol.messages import Request, element_class, make
from protocol.schema import api_key_of, response_name
from tests.changes.fake_coordinators import LIST_TRANSACTIONS, FakeCoordinators
from tests.changes.fake_partitions import FakePartitions


class FakeCatalog:
    """A catalog that another client may change ``before`` change number 1, 2, ..."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.commits: list[int] = []
        self.before: dict[int, Callable[[], None]] = {}
        self.fails_at = -1
        self.age: float | None = 0.0
        self.damaged = self.skipped = 0

    @property
    def fresh(self) -> bool:
        return True

    async def mend(self) -> int:
        """Mend every damage."""
        mended, self.damaged = self.damaged, 0
        return mended

    def subscribe(self, changed: Callable[[], None]) -> None:
        """Notify no subscriber, because the test that changes the catalog looks at it."""

    async def refresh(self) -> None:
        """Do nothing, because there is nothing to read."""

    async def change(self, decide: Decide) -> Snapshot:
        self.before.pop(len(self.commits), lambda: None)()
        if len(self.commits) == self.fails_at:
            raise CatalogUnavailable("The catalog cannot be written now.")
        changes = decide(self.snapshot)
        self.commits.append(len(changes))
        self.snapshot = self.snapshot.apply(changes, self.snapshot.version + len(changes))
        return self.snapshot


class FakeCluster(FakePartitions, FakeCoordinators):
    """Topics by stored name, with the configs that the broker describes: (value, source). Configs
    of the value ``soon`` are rejected, and ``a=1`` together with ``b=1``."""

    def __init__(self, topics: Mapping[str, Mapping[str, tuple[str, int]]]) -> None:
        self.name = "main"
        self.brokers = {1: ("10.0.0.1", 9092)}
        self.topics = topics
        self.groups: list[str] = []
        self.ids: list[str] = []
        self.coordinator_error = 0
        self.silent = False
        self.api_versions = {LIST_TRANSACTIONS: (0, 2)}
        self.index = TopicIndex()
        self.error = 0
        self.refreshed = 0
        self.validated: list[dict[str, str]] = []
        for number, flat in enumerate(topics):
            self.index.learn(flat.encode(), bytes(15) + bytes([number + 1]))

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        assert not changes
        entity = request.entity(request.at_most)
        if request.name == "CreateTopicsRequest":
            return self._validated(entity, request.at_most)
        if request.name != "DescribeConfigsRequest":
            name = response_name(api_key_of(request.name))
            cls = messages.message_class(name, request.at_most)
            return getattr(self, "_" + request.name)(entity, cls)
        (resource,) = entity.resources
        response = messages.message_class("DescribeConfigsResponse", request.at_most)
        result = element_class(response, "results")
        config = element_class(result, "configs")
        configs = tuple(
            make(config, {"name": key, "value": value, "config_source": source})
            for key, (value, source) in self.topics[resource.resource_name].items()
        )
        values = {"error_code": self.error, "configs": configs}
        return make(response, {"results": (make(result, values),)})

    async def refresh(self) -> None:
        """Count the refresh; there is nothing new."""
        self.refreshed += 1

    def _validated(self, request: Any, version: int) -> Any:
        assert request.validate_only
        (topic,) = request.topics
        configs = {one.name: one.value for one in topic.configs}
        self.validated.append(configs)
        bad = [key for key, value in configs.items() if value == "soon"]
        message = f"Invalid value soon for configuration {bad[0]}" if bad else None
        if configs.get("a") == configs.get("b") == "1":
            message = "a and b do not go together."
        response = messages.message_class("CreateTopicsResponse", version)
        values = {"name": topic.name, "error_code": 40 if message else 0, "error_message": message}
        return make(response, {"topics": (make(element_class(response, "topics"), values),)})


class FakeBackend:
    """Stands in for the result of backend.open_backend. If there is no ``catalog``, it does not
    exist yet."""

    def __init__(
        self,
        snapshot: Snapshot | None,
        topics: Mapping[str, Mapping[str, tuple[str, int]]] | None = None,
    ) -> None:
        self.exists = snapshot is not None
        self.catalog = FakeCatalog(snapshot or Snapshot())
        self.cluster = FakeCluster(topics or {})
        self.opened: list[str] = []

    def take_place(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(backend, "open_backend", self._open)

    @asynccontextmanager
    async def _open(
        self, config: Config, *, read_only: bool, or_empty: bool = False, anew: bool = False
    ) -> AsyncIterator[backend.Backend]:
        self.opened.append("to read" if read_only else "to write")
        if read_only and not self.exists and not or_empty:
            raise backend.NoCatalog(f"cluster '{config.clusters[0].name}' has no catalog yet")
        yield backend.Backend(
            cast(Cluster, self.cluster),
            cast(BrokerAdmin, self.cluster),
            cast(ReplicatedCatalog, self.catalog),
        )
