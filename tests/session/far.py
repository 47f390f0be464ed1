"""A session of a group's node in a tree of two clusters, ``la:tracking`` (1) and ``ny`` (2)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from gateway.acls.authorizer import Authorizer
from gateway.apis.table import put_around
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import Context
from gateway.cluster.cluster import Cluster
from gateway.exchanges.exchange import Prepare
from gateway.rules.declaration import Shadows
from gateway.session.deciding import Deciding
from gateway.tree.far_topics import FarTopics
from gateway.tree.shadow_topics import ShadowTopics
from gateway.tree.splitting import AROUND
from gateway.views.access import Access
from gateway.views.authorized_access import AuthorizedAccess
from gateway.views.spelling import Spelling
from gateway.views.view import View
from protocol import messages
from tests.changes.fake_broker import FakeBroker, no_step
from tests.changes.fakes import Clock, FakeCatalog, FakeCluster, Log
from tests.scenarios.entities import entity
from tests.session.pair import Pair
from tests.views.trees import mounts, tree_settings

LA, NY = "la:tracking", "ny"
TREE = mounts(LA, NY)
NUMBERS = {LA: 1, NY: 2}
CLICKS_ID = UUID("00112233-4455-6677-8899-aabbccddeeff")
CLICKS = "__kafka_gateway_far.2.ABEiM0RVZneImaq7zN3u_w"
"""The shadow of ``:ny:search:clicks``, its id as Kafka's Uuid prints it."""
FOREIGN = ":ny:search:clicks"
SPELLED = [FOREIGN, "/ny/search/clicks", "..ny.search..clicks"]


class ReachableCluster(FakeCluster):
    """A cluster whose ``reachable`` is its broker's."""

    @property
    def reachable(self) -> bool:
        return not self._broker.down


@dataclass
class FakeState:
    """The part of a volume's WorkerState that far topics need."""

    number: int
    catalog: FakeCatalog


@dataclass
class FakeVolume:
    """A cluster in memory, for clients of a listener whose volume is ``la:tracking``."""

    path: str
    spelling: Spelling = "colon"
    authorizer: Authorizer | None = None
    broker: FakeBroker = field(default_factory=FakeBroker)

    def __post_init__(self) -> None:
        catalog = FakeCatalog(Log(Snapshot.of(["search"])), no_step)
        self.clock = Clock()
        self.cluster = ReachableCluster(self.broker, self.clock, no_step)
        self.state = FakeState(NUMBERS[self.path], catalog)
        context = Context(catalog, cast(Cluster, self.cluster), self.broker)
        self.shadows = ShadowTopics(context, self.clock.seconds)

    def make(self, *names: str, partitions: int = 1) -> None:
        """Make topics that a listing shows."""
        self.broker.make(*names)
        for name in names:
            self.broker.topics[name].partitions = partitions
        self.cluster.list()

    def access(self) -> Access:
        settings = tree_settings(TREE, self.path, LA, self.spelling)
        view = View(settings, self.state.catalog.snapshot)
        if self.authorizer is None:
            return Access(view, "", "")
        return AuthorizedAccess(view, "User:alice", "127.0.0.1", self.authorizer)


class FakeTree:
    """The part of :class:`gateway.exchanges.tree.Tree` that handlers of classic groups need."""

    own = LA

    def __init__(self, home: FakeVolume, other: FakeVolume) -> None:
        self.home = home
        self.other = other

    def far(self, shadows: Shadows, *, final: bool, thawed: bool = False) -> Any:
        volumes: Any = [self.home, self.other]
        view = self.home.access().view
        return FarTopics(
            volumes[0],
            volumes,
            view.volume_of_topic,
            lambda volume: volume.access(),  # type: ignore[attr-defined]
            shadows,
            self.home.shadows,
            final=final,
            thawed=thawed,
        )

    def group(self, group_id: bytes) -> str:
        return self.home.access().view.volume_of_group(group_id)

    def topic_id(self, topic_id: bytes) -> str | None:
        for volume in (self.home, self.other):
            if volume.cluster.index.name_of(topic_id) is not None:
                return volume.path
        return None


class FarPair(Pair):
    """A session at a node of ``home``; ``other`` has the topic ``search:clicks`` of 3 partitions,
    under ``CLICKS_ID``."""

    def __init__(
        self,
        home: str = LA,
        spelling: Spelling = "colon",
        *,
        authorizer: Authorizer | None = None,
        at_home: Authorizer | None = None,
    ) -> None:
        put_around(AROUND)
        super().__init__()
        self.home = FakeVolume(home, spelling, at_home)
        self.other = FakeVolume(NY if home == LA else LA, spelling, authorizer)
        self.home.make("search..orders", partitions=2)
        self.other.make("search..clicks", partitions=3)
        self.other.broker.topics["search..clicks"].topic_id = CLICKS_ID.bytes
        self.other.cluster.list()
        self.worker.cluster = cast(Cluster, self.home.cluster)
        self.worker.number, self.worker.mount = NUMBERS[home], home
        tree: Any = FakeTree(self.home, self.other)
        self.session.state.tree = tree
        self.session.state.marked_ids_only = home != LA
        self.session.state.see(self.home.access())

    def _go_on(self) -> None:
        while isinstance(waiting := self.session.waiting, (Prepare, Deciding)):
            if isinstance(waiting, Deciding):
                self._take_turns(waiting.slices)
            else:
                asyncio.run(_done(waiting))
            self.resume()
        super()._go_on()

    @property
    def made(self) -> dict[str, int]:
        """The shadows at home, with the numbers of their partitions."""
        topics = self.home.broker.topics.items()
        return {name: topic.partitions for name, topic in topics if "_far." in name}


def message(name: str, version: int, **values: object) -> Any:
    """A request or response entity; a field that is left out is zero."""
    return entity(messages.message_class(name, version), values)


def codes(response: Any, field: str = "error_code") -> list[int]:
    """The error codes of a response's partitions, in their order."""
    return [getattr(part, field) for topic in response.topics for part in topic.partitions]


async def _done(work: Prepare) -> None:
    await work.run()
