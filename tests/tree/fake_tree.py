"""Two volumes, ``la`` (number 1) and ``ny`` (2), whose clusters are the test, and perhaps volumes
of other gateways."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

from gateway.apis.table import put_around
from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError
from gateway.catalog.snapshot import Snapshot
from gateway.cluster.admin import Ready
from gateway.cluster.cluster import Cluster
from gateway.config.models import Listener
from gateway.connections.clients import Clients
from gateway.connections.tasks import Tasks
from gateway.connections.under_way import UnderWay
from gateway.connections.volumes import Volume, Volumes
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.worker_state import WorkerState
from gateway.flows import FlowSource
from gateway.identity import ANONYMOUS, Identity
from gateway.mounts import Mount, Mounts
from gateway.node_ids import NodeIdRanges
from gateway.session.session import Session
from gateway.slices import Turns
from gateway.topic_ids import TopicIndex
from gateway.tree.lanes import LaneHub, Lanes
from gateway.tree.splitting import AROUND
from gateway.views.views import Views
from gateway.virtual_brokers import ListenerAddresses
from protocol import messages
from protocol.headers import read_request_header, response_body_pos, response_header_version
from protocol.schema import api_key_of, request_name, response_name
from tests.changes.fake_broker import no_step
from tests.changes.fakes import FakeCatalog, Log
from tests.scenarios.entities import entity
from tests.session.pair import request_frame, response_frame, topic_id
from tests.tree.fake_others import FakeOthers
from tests.views.trees import mounts, tree_settings

LISTENER = "test"
PATHS = ("la", "ny")

Answer = Callable[[str, int, Any], Awaitable[dict[str, object]]]
"""(API, version, request) -> the values of the response."""


class FakeCluster:
    """The part of a cluster that lanes read, and the requests that they forward to it; a test
    replaces ``answer``. If ``waits``, the response never comes."""

    def __init__(self, topics: dict[str, int]) -> None:
        self.index = TopicIndex()
        ids = {name.encode(): topic_id(n).bytes for n, name in enumerate(topics, 1)}
        self.index.replace(
            ids.items(), partitions={name.encode(): count for name, count in topics.items()}
        )
        self.brokers = {1: ("kafka", 9092)}
        self.racks: dict[int, str | None] = {}
        self.api_versions: dict[int, tuple[int, int]] = {}
        self.served: Any = None
        self.served_apart: dict[int | None, Any] = {}
        self.cluster_id: str | None = "id"
        self.controller_id = 1
        self.reachable = self.answers = True
        self.awaited = False
        self.suspicions = self.refreshed = self.resets = self.sent = 0
        self.waits = False
        self._unanswered: asyncio.Future[None] | None = None
        self.asked: list[tuple[str, Any]] = []
        self.changes: list[bool] = []

    def suspect(self) -> None:
        self.suspicions += 1

    def versions_of(self, node_id: int | None) -> dict[int, tuple[int, int]]:
        """The same versions for each node."""
        return self.api_versions

    def served_by(self, node_id: int | None) -> Any:
        """The response of a broker in ``served_apart``, or else the response of all brokers."""
        return self.served_apart.get(node_id, self.served)

    def hear(self, node_id: int, host: str, port: int) -> None:
        """Do nothing, because it lists only if a test calls for it."""

    async def refresh(self) -> None:
        self.refreshed += 1

    async def connected(self) -> None:
        """Return at once, because there is a connection to a broker."""

    def reset(self) -> None:
        self.resets += 1
        if self._unanswered is not None:
            self._unanswered.set_exception(BrokerError("connection lost"))

    async def answer(self, api: str, version: int, request: Any) -> dict[str, object]:
        raise AssertionError(f"{api} was not expected")

    async def forward(self, request: bytes, *, changes: bool, ready: Ready) -> bytes:
        key, version, correlation_id, _, start = read_request_header(request, 4, len(request))
        api = request_name(key).removesuffix("Request")
        parsed = messages.parse(request_name(key), version, request[start:])
        self.asked.append((api, parsed))
        self.changes.append(changes)
        await self.connected()
        await ready(cast(BrokerConnection, self))
        self.sent += 1
        if self.waits:
            self._unanswered = asyncio.get_running_loop().create_future()
            await self._unanswered
        values = await self.answer(api, version, parsed)
        cls = messages.message_class(response_name(key), version)
        return response_frame(api, version, entity(cls, values), correlation_id)


class FakeTree:
    """The volumes of a worker, and the lanes of a client at a listener of ``volume`` (by default
    ``la``), which is connected to a node of ``node``."""

    def __init__(
        self, *, node: str = "la", volume: str = "la", others: FakeOthers | None = None
    ) -> None:
        self.clusters = {path: FakeCluster({"orders": 2, "team..x": 1}) for path in PATHS}
        self.catalogs = {path: FakeCatalog(Log(Snapshot.of(["team"])), no_step) for path in PATHS}
        self.views: dict[str, Views] = {}
        near, far = mounts(*PATHS), () if others is None else tuple(others.kafkas)
        tree = Mounts([*near, *map(Mount, far)])
        volumes = []
        for mount in near:
            cluster, catalog = self.clusters[mount.path], self.catalogs[mount.path]
            settings = tree_settings(tree, mount.path, volume)
            views = self.views[mount.path] = Views(catalog, [settings])
            state = WorkerState(
                catalog,
                cast(Cluster, cluster),
                cast(Any, None),
                8 * 1024 * 1024,
                number=mount.number,
                mount=mount.path,
            )
            config = SimpleNamespace(principals={}, clusters=[SimpleNamespace(trust=())])
            parts: Any = (config, state, cluster, views, cluster)
            volumes.append(Volume(mount, *parts))
        self.listener = Listener.model_construct(
            name=LISTENER,
            port=9000,
            volume=volume,
            reach=None if others is None else (*PATHS, *far),
        )
        put_around(AROUND)
        self.gateways = None if others is None else others.gateways
        self.shadows = dict.fromkeys(PATHS)
        self.volumes = Volumes(volumes, [self.listener])
        self.turns = Turns()
        self.under_way = UnderWay((), Turns(), Tasks())
        self.connect(node)

    def connect(self, node: str, identity: Identity = ANONYMOUS, host: str = "") -> None:
        """Replace the client by another, from here on."""
        node_volume = self.volumes[node]
        access = node_volume.views.access(node_volume.views.of(LISTENER), "", host)
        source = FlowSource(LISTENER, "", "", "", "", "")
        self.client = ConnectionState(
            node_volume.state, access, self.addresses(LISTENER, node), source
        )
        self.client.identity, self.client.host = identity, host
        self.lanes = Lanes(cast(LaneHub, self), self.listener, self.client)
        self.client.tree = self.lanes

    def addresses(self, listener: str, path: str) -> ListenerAddresses:
        number = self.volumes[path].state.number
        ranges = NodeIdRanges.parse(["1-3"])
        return ListenerAddresses("gateway", 9000 + 100 * number, ranges, number=number)

    async def perform(self, session: Session, work: Any) -> bytes | None:
        return await Clients.perform(cast(Any, self), session, work)

    async def _refresh(self, state: object, what: object) -> None:
        """Do nothing, because there is no news."""

    def goes_stale(self, path: str) -> None:
        """Mark the catalog of a volume as stale, because it was not read for too long."""
        self.catalogs[path].fresh = False
        self.views[path].update()

    async def ask(self, api: str, version: int, values: dict[str, object]) -> Any:
        """The response that the client gets to a request that needs no broker connection."""
        session = self.begin(api, version, values)
        await self.settle(session)
        return self.answered(api, version, session)

    def begin(self, api: str, version: int, values: dict[str, object]) -> Session:
        """Send a request of the client; its work waits."""
        session = Session(self.client)
        request = entity(messages.message_class(f"{api}Request", version), values)
        session.client_data(request_frame(api, version, request))
        return session

    async def settle(self, session: Session) -> None:
        """Do the work that a session waits for, until it has responded."""
        while session.waiting is not None:
            session.resume(await self.perform(session, session.waiting))

    def answered(self, api: str, version: int, session: Session) -> Any:
        """The response that a session has written."""
        assert not session.to_broker, "forwarded to the node's broker"
        frame = b"".join(map(bytes, session.to_client))
        return self._parsed(api, version, frame)

    def _parsed(self, api: str, version: int, frame: bytes) -> Any:
        header = response_header_version(api_key_of(f"{api}Request"), version)
        return messages.parse(
            f"{api}Response", version, frame[response_body_pos(frame, 4, len(frame), header) :]
        )
