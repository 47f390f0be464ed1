"""A group's node at ``la:tracking`` (number 1), and ``ny`` (2) behind another gateway."""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from typing import Any, cast

from gateway.apis.table import put_around
from gateway.cluster.cluster import Cluster
from gateway.config.models import Listener
from gateway.exchanges.exchange import Prepare
from gateway.exchanges.state import ConnectionState
from gateway.identity import Identity
from gateway.referrals.questions import Outcome
from gateway.rules.declaration import Shadows
from gateway.rules.regex_subscriptions import RegexSubscriptions
from gateway.session.deciding import Deciding
from gateway.slices import Turns
from gateway.tree.far_lanes import FarLanes
from gateway.tree.far_topics import FarTopics
from gateway.tree.referred_topics import ReferredTopics
from gateway.tree.splitting import AROUND
from gateway.views.spelling import Spelling
from tests.session.far import CLICKS_ID, LA, NY, FakeVolume, codes, message
from tests.session.pair import Pair
from tests.session.test_shadows import commit
from tests.tree.fake_others import FakeOthers, FarKafka, FarTopic

HOST = "192.0.2.7"
ALICE, BOB = "User:alice", "User:bob"


class FakeTree:
    """The part of :class:`gateway.exchanges.tree.Tree` that handlers of classic groups need."""

    own = LA

    def __init__(self, home: FakeVolume, lanes: FarLanes) -> None:
        self.home = home
        self.lanes = lanes

    def far(self, shadows: Shadows, *, final: bool, thawed: bool = False) -> Any:
        home: Any = self.home
        view = self.home.access().view
        referred = ReferredTopics(home, self.lanes, shadows, home.shadows, final=final)
        return FarTopics(
            home,
            [home],
            view.volume_of_topic,
            lambda volume: volume.access(),  # type: ignore[attr-defined]
            shadows,
            home.shadows,
            referred,
            final=final,
            thawed=thawed,
        )

    def group(self, group_id: bytes) -> str:
        return self.home.access().view.volume_of_group(group_id)

    def topic_id(self, topic_id: bytes) -> str | None:
        if self.home.cluster.index.name_of(topic_id) is not None:
            return self.home.path
        return self.lanes.path_of_id(topic_id)


class ReferredPair(Pair):
    """The home has ``search:orders`` of 2 partitions, the other gateway's volume ``search:clicks``
    of 3, under ``CLICKS_ID``."""

    def __init__(self, spelling: Spelling = "colon") -> None:
        super().__init__()
        self.home = FakeVolume(LA, spelling)
        self.home.make("search..orders", partitions=2)
        self.ny = FarKafka(NY, 2)
        self.clicks = self.ny.topics["search:clicks"] = FarTopic(CLICKS_ID.bytes, 3)
        self.others = FakeOthers([self.ny])
        self.worker.cluster = cast(Cluster, self.home.cluster)
        self.worker.number, self.worker.mount = 1, LA
        self.be(ALICE)

    def be(self, principal: str, host: str = HOST) -> None:
        """Replace the client by another, on a connection of its own, from here on."""
        self.session = self.another_session(self.session.state.addresses)
        state: ConnectionState = self.session.state
        state.identity, state.host = Identity(principal), host
        state.source = replace(state.source, principal=principal)
        state.see(self.home.access())
        listener = Listener.model_construct(name="test", port=9000, volume=LA, reach=(LA, NY))
        self.lanes = FarLanes(self.others.gateways, listener, LA, state, Turns())
        tree: Any = FakeTree(self.home, self.lanes)
        put_around(AROUND)
        state.tree = tree

    def forgets(self) -> None:
        """Go on at another worker, which has heard of no member, and from no other gateway."""
        self.others.close()
        self.others = FakeOthers([self.ny])
        self.worker.regexes = RegexSubscriptions()
        self.be(ALICE)

    def goes_down(self, outcome: Outcome = Outcome.UNREACHABLE) -> None:
        """Let the other gateway answer like this from now on."""
        self.ny.outcome[""] = outcome

    def in_background(self) -> None:
        """Do the work that no request waits for."""
        asyncio.run(self.others.settled())

    def later(self, seconds: float) -> None:
        """Let time pass."""
        self.others.clock.now += seconds

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

    def asked(self) -> int:
        """The number of questions to the other gateway since the last call."""
        return len(self.others.asked())


def sent(pair: ReferredPair, *topics: str | uuid.UUID, partition: int = 0) -> list[Any]:
    """The topics that the coordinator gets in a commit of these topics."""
    version = 10 if isinstance(topics[0], uuid.UUID) else 9
    request = pair.ask("OffsetCommit", version, commit(version, *topics, partition=partition))
    if request is None:
        return []
    answered = [
        {key: getattr(each, key) for key in ("name",) if hasattr(each, key)}
        | ({"topic_id": each.topic_id.int} if hasattr(each, "topic_id") else {})
        | {"partitions": [{"partition_index": partition}]}
        for each in request.topics
    ]
    reply = message("OffsetCommitResponse", version, topics=answered)
    assert codes(pair.reply("OffsetCommit", version, reply)) == [0] * len(request.topics)
    return [getattr(each, "name", None) or each.topic_id for each in request.topics]


def rejected(pair: ReferredPair, *topics: str | uuid.UUID) -> list[int]:
    """The error codes of a commit that does not reach the coordinator."""
    version = 10 if isinstance(topics[0], uuid.UUID) else 9
    assert pair.ask("OffsetCommit", version, commit(version, *topics)) is None
    return codes(pair.answer("OffsetCommit", version))


async def _done(work: Prepare) -> None:
    await work.run()
