"""A listener in a tree whose volume ``sf`` is behind another gateway, and its clients."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from gateway.identity import Identity
from gateway.referrals.questions import Outcome
from tests.tree.fake_others import FakeOthers, FarKafka, FarTopic
from tests.tree.fake_tree import PATHS, FakeCluster, FakeTree
from tests.tree.test_lanes import LA_1, NY_1, answers_metadata

ALICE, BOB = Identity("User:alice"), Identity("User:bob")
HOST = "192.0.2.7"
ID, OTHER_ID = UUID(int=101), UUID(int=102)
SF_1, SF_2 = 7 << 16 | 1, 7 << 16 | 2
NODES = [LA_1, NY_1]


class Site(FakeTree):
    """The volumes ``la`` and ``ny``, and ``sf`` (number 7) of another gateway, which has
    ``clicks`` with 3 partitions."""

    def __init__(self, *, volume: str = "la") -> None:
        self.sf = FarKafka("sf", 7, own=volume == "sf")
        self.sf.topics = {"clicks": FarTopic(ID.bytes, 3), "search:new": FarTopic(OTHER_ID.bytes)}
        self.others = FakeOthers([self.sf])
        super().__init__(volume=volume, others=self.others)
        for path in PATHS:
            _answers(self.clusters[path])
        self.be(ALICE)

    def be(self, identity: Identity, host: str = HOST) -> None:
        """Replace the client by another, from here on."""
        self.connect("la", identity, host)

    async def metadata(self, *names: str, version: int = 12) -> Any:
        topics = [{"topic_id": None, "name": name} for name in names]
        return await self.ask("Metadata", version, {"topics": topics})

    async def nodes(self) -> list[int]:
        """The brokers in a response about a topic of ``la`` alone."""
        return [broker.node_id for broker in (await self.metadata("orders")).brokers]

    def goes_down(self, outcome: Outcome = Outcome.UNREACHABLE, principal: str = "") -> None:
        """Let the other gateway answer like this from now on, to a principal or to all."""
        self.sf.outcome[principal] = outcome


def codes(response: Any) -> list[tuple[str | None, int, int]]:
    """Name, error and partitions of each topic, in their order."""
    return [(topic.name, int(topic.error_code), len(topic.partitions)) for topic in response.topics]


def _answers(cluster: FakeCluster) -> None:
    """Let a cluster respond to Metadata for any topic, and to DescribeCluster."""
    answers_metadata(cluster)
    metadata = cluster.answer

    async def answer(api: str, version: int, request: Any) -> dict[str, object]:
        return {} if api == "DescribeCluster" else await metadata(api, version, request)

    cluster.answer = answer  # type: ignore[method-assign]
