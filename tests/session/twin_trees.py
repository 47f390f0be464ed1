"""Trees in memory whose volumes are worlds: two at this gateway, one that hides part of another,
one below a directory, and one behind another gateway. Requests are answered as by a worker."""

from __future__ import annotations

from collections.abc import Coroutine, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from types import SimpleNamespace
from typing import Any, Final, cast
from uuid import UUID

from gateway.acls.standard import StandardAuthorizer
from gateway.apis.table import put_around
from gateway.brokers.connection import BrokerConnection
from gateway.catalog.entities import CatalogFormat
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import Context
from gateway.changes.changes import NamespaceChanges
from gateway.cluster.admin import Ready
from gateway.cluster.cluster import Cluster as KnownCluster
from gateway.config.models import Cluster, Config, Listener, Trust
from gateway.config.tree import Peer
from gateway.connections.tasks import Tasks
from gateway.connections.under_way import UnderWay
from gateway.connections.volumes import Volume, Volumes
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.worker_state import WorkerState
from gateway.flows import FlowSource
from gateway.identity import Identity
from gateway.mounts import Mount, Mounts
from gateway.referrals.far_file import FarVolumes
from gateway.referrals.lookups import Lookups
from gateway.referrals.questions import Answer, Question
from gateway.referrals.routing import Routes
from gateway.rules.shadows import expected_name, shadow_name
from gateway.session.session import Session
from gateway.slices import Turns, in_slices
from gateway.tree.far_lanes import OtherGateways
from gateway.tree.lanes import LaneHub, Lanes
from gateway.tree.referred import Referred
from gateway.tree.shadow_topics import ShadowTopics
from gateway.tree.splitting import AROUND
from gateway.views.views import Views
from protocol.errors import ProtocolError
from tests.changes.acl_requests import entities
from tests.changes.fake_broker import FakeBroker, FakeTopic, no_step
from tests.changes.fakes import Clock, FakeCatalog, FakeCluster, Log
from tests.session import isolation_ids
from tests.session.pair import ScriptedBroker, frames, topic_id
from tests.session.twin_exchanges import Asked, frame, reply
from tests.session.twin_worlds import BOTH, OWN, RIGHTS, World
from tests.tree.fake_tree import FakeTree
from tests.views.trees import tree_settings

LISTENER: Final = "test"
ALICE, HOST = Identity("User:alice"), "127.0.0.1"
LA, NY, DEEP, FR, SF = "la", "ny", "ny:deep", "eu:fr", "sf"
HERE: Final = (LA, NY, DEEP, FR)
MOUNTS: Final = Mounts(Mount(path, n, f"c{n}") for n, path in enumerate((*HERE, SF), 1))
SHARED: Final = "shared..s"
"""A topic that each volume but ``la`` has, for clients with a right there."""

IDS: Final[Mapping[str, UUID]] = {
    **dict.fromkeys(("team-a:orders", OWN, "orders"), topic_id(1)),
    **dict.fromkeys((":la:team-a:orders", "..la.team-a..orders"), topic_id(1)),
    ":ny:shared:s": topic_id(1_001),
    ":sf:shared:s": topic_id(4_001),
}
"""The ids of topics that the client may know, by its spellings of their names."""


def _shadows(number: int, first: int) -> Iterator[str]:
    """The shadows of a volume's topics in the groups of others, whether or not the topics exist."""
    for each in (first, first + 1):
        yield shadow_name(number, topic_id(each).bytes).decode()
    for flat in (b"hid..x", b"shared..new"):
        yield expected_name(number, flat).decode()


FAR: Final = (*_shadows(2, 1_001), *_shadows(5, 4_001))
"""Topics of ``ny`` and ``sf`` that members of the groups of ``la`` have subscribed to."""

EVERYONE: Final = (Trust(listener=LISTENER),)


@dataclass(frozen=True)
class TreeWorld:
    """The world of each volume; ``la`` is the listener's. Volumes in ``silent`` do not respond, and
    volumes in ``distrust`` do not trust the listener. ``settings`` are the listener's."""

    volumes: Mapping[str, World] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()
    distrust: frozenset[str] = frozenset()

    def tree(self, node: str = LA, **settings: Any) -> TwinTree:
        """The tree, with the client connected to a node of one of its volumes."""
        owner = TwinTree(self, (SF,), LA, {}, None)
        made = TwinTree(self, HERE, LA, settings, owner)
        made.connect(node)
        return made


class TwinCluster(FakeCluster):
    """A cluster whose brokers have a world's topics."""

    def __init__(self, path: str, world: World, *, silent: bool) -> None:
        self.own = OWN if path == LA else SHARED
        self.world, self.silent = world, silent
        first = 1 + 1_000 * [*HERE, SF].index(path)
        topics = (*(BOTH if path == LA else (SHARED,)), *world.topics)
        broker = ScriptedBroker()
        broker.topics = {
            name: FakeTopic(topic_id(number).bytes, {}) for number, name in enumerate(topics, first)
        }
        broker.new_id = map(topic_id, count(first + 500)).__next__
        super().__init__(broker, Clock(), no_step)
        self.list()
        broker.down = silent
        self.broker: FakeBroker = broker
        self.brokers = {1: ("kafka", 9092)}
        self.racks: dict[int, str | None] = {}
        self.api_versions: dict[int, tuple[int, int]] = {}
        self.served: Any = None
        self.cluster_id, self.controller_id = f"id-{path}", 1
        self.reachable = self.answers = not silent
        self.awaited = False
        self.asked = Asked("", 0)

    def served_by(self, node_id: int | None) -> Any:
        """The same ApiVersionsResponse for every node."""
        return self.served

    def suspect(self) -> None:
        """Do nothing, because nothing is learned of the cluster."""

    async def forward(self, request: bytes, *, changes: bool, ready: Ready) -> bytes:
        """Forward as BrokerAdmin.forward does."""
        await ready(cast(BrokerConnection, self))
        return self.reply(request[4:])

    def reply(self, payload: bytes) -> bytes:
        """The broker's response to a request."""
        others = FAR if self.own == OWN else ()
        return reply(self.own, self.world, self.index, self.asked, payload, others)


class TwinTree(FakeTree):
    """A worker of a gateway that has the volumes ``paths``; ``owner`` has the others."""

    def __init__(
        self,
        world: TreeWorld,
        paths: tuple[str, ...],
        volume: str,
        settings: Mapping[str, Any],
        owner: TwinTree | None,
    ) -> None:
        volumes = []
        self.twins: dict[str, TwinCluster] = {}
        for path in paths:
            inside = world.volumes.get(path, World() if path == LA else World(namespaces=()))
            cluster = TwinCluster(path, inside, silent=path in world.silent)
            self.twins[path] = cluster
            trust = () if path in world.distrust else EVERYONE
            volumes.append(_volume(path, inside, cluster, volume, settings, trust))
        self.listener = Listener.model_construct(
            name=LISTENER, port=9000, volume=volume, reach=None if owner is None else (*HERE, SF)
        )
        self.owner = owner
        self._pending: list[Coroutine[Any, Any, None]] = []
        put_around(AROUND)
        self.shadows = {each.path: shadows for each, shadows in volumes}
        self.gateways = None
        if owner is not None:
            self.gateways = OtherGateways(
                cast(Lookups, self), FarVolumes(None), [SF], 16, self.run, lambda *_: None
            )
        self.volumes = Volumes([each for each, _ in volumes], [self.listener])
        self.turns = Turns()
        self.under_way = UnderWay((), Turns(), Tasks())
        clusters = [
            Cluster.model_construct(name=path, mount=path, number=MOUNTS.at(path).number)  # type: ignore[union-attr]
            for path in paths
        ]
        config = Config.model_construct(
            gateway_id="gw", clusters=tuple(clusters), listeners=(self.listener,), tree=None
        )
        routes = Routes.of_config(config)
        self.referred = Referred(cast(LaneHub, self), config, routes, cast(Any, None))

    def connect(self, node: str, identity: Identity = ALICE, host: str = HOST) -> None:
        """Connect the client to a node of this volume."""
        volume = self.volumes[node]
        access = self.volumes.access(volume, LISTENER, identity, host)
        source = FlowSource(LISTENER, identity.principal, "", "", "", host)
        addresses = self.addresses(LISTENER, node)
        self.client = ConnectionState(volume.state, access, addresses, source)
        self.client.identity, self.client.host = identity, host
        self.lanes = Lanes(cast(LaneHub, self), self.listener, self.client)
        self.client.tree = self.lanes
        self.client.marked_ids_only = node != LA

    # -- the way to the other gateway --------------------------------------------------------------

    async def ask(  # type: ignore[override]
        self, question: Question, *, came_from: str | None = None, changes: bool = False
    ) -> Answer:
        """Answer as Lookups does."""
        assert self.owner is not None
        peer = Peer.model_construct(name="root", principals="all")
        return await self.owner.referred.answer(peer, question)

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """Keep work for :meth:`settled`."""
        self._pending.append(work)

    async def settled(self) -> None:
        """Do the work in the background."""
        while self._pending:
            await self._pending.pop(0)

    # -- the client --------------------------------------------------------------------------------

    async def exchange(self, asked: Asked) -> bytes:
        """The bytes that the client gets for a request, and the error that ends its connection."""
        for cluster in (*self.twins.values(), *(self.owner.twins if self.owner else {}).values()):
            cluster.asked = asked
        isolation_ids.IDS.random.seed(0)  # an id drawn here is the same in both worlds
        return await self._exchange(frame(asked, IDS))

    async def _exchange(self, request: bytes) -> bytes:
        session, told = Session(self.client), b""
        broker = self.twins[self.client.worker.mount]
        try:
            session.client_data(request)
            while True:
                if session.waiting is not None:
                    session.resume(await self.perform(session, session.waiting))
                elif session.restoring is not None:
                    await in_slices(self.turns, session.restoring.slices)
                    session.restored()
                elif session.to_broker:
                    sent = b"".join(map(bytes, session.to_broker))
                    session.to_broker.clear()
                    for payload in frames(sent):
                        session.broker_data(broker.reply(payload))
                else:
                    break
        except ProtocolError as error:
            told = f"; {error}".encode()
        await self.settled()
        return b"".join(map(bytes, session.to_client)) + told


def _volume(
    path: str,
    world: World,
    cluster: TwinCluster,
    listener_volume: str,
    settings: Mapping[str, Any],
    trust: Iterable[Trust],
) -> tuple[Volume, ShadowTopics]:
    mount = MOUNTS.at(path)
    assert mount is not None
    catalog = FakeCatalog(Log(Snapshot.of((*world.namespaces, "shared"))), no_step)
    rights = RIGHTS if path == LA else ()
    catalog.log.append([CatalogFormat(3), *entities((*rights, *world.acls)), *world.changes])
    named = {key: settings[key] for key in ("spelling", "home", "escape") if key in settings}
    others = {key: value for key, value in settings.items() if key not in named}
    of_view = replace(tree_settings(MOUNTS, path, listener_volume, **named), **others)
    views = Views(catalog, [of_view], StandardAuthorizer())
    catalog.subscribe(views.update)
    known = cast(KnownCluster, cluster)
    context = Context(catalog, known, cluster.broker, Clock())
    state = WorkerState(
        catalog,
        known,
        NamespaceChanges(context, lambda _: None),
        8 * 1024 * 1024,
        number=mount.number,
        mount=path,
    )
    state.turn_seconds = 3600.0
    config = SimpleNamespace(principals={}, clusters=[SimpleNamespace(trust=tuple(trust))])
    parts: Any = (config, state, cluster, views, cluster)
    return Volume(mount, *parts), ShadowTopics(context, Clock().seconds)
