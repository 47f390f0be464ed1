"""Shadows are deleted if their topic is gone, and stay in all cases of doubt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from gateway.changes.base.context import Context
from gateway.cluster.cluster import Cluster
from gateway.cluster.link import ClusterUnreachable
from gateway.error_codes import TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_ID
from gateway.rules.shadows import shadow_name
from gateway.tree.shadow_removal import GONE_SECONDS, LOOK_AGAIN, ShadowRemoval
from protocol.messages import element_class, make
from tests.changes.fake_broker import FakeBroker, no_step
from tests.changes.fakes import Clock, FakeCluster, World

GONE = b"g" * 16


@dataclass
class BrokerWithIds(FakeBroker):
    """Answers Metadata by topic id; the ids in ``secret`` as a broker whose ACLs hide them."""

    secret: frozenset[bytes] = frozenset()

    def _MetadataRequest(self, request: Any, cls: type) -> Any:
        topic_class = element_class(cls, "topics")
        known = {topic.topic_id for topic in self.topics.values()}
        results = []
        for asked in request.topics:
            code = 0 if asked.topic_id.bytes in known else UNKNOWN_TOPIC_ID
            if asked.topic_id.bytes in self.secret:
                code = TOPIC_AUTHORIZATION_FAILED
            results.append(make(topic_class, {"topic_id": asked.topic_id, "error_code": code}))
        return make(cls, {"topics": tuple(results)})


class Story:
    """A home with shadows of volume 2, which this gateway serves, and of volume 3, which it does
    not."""

    def __init__(self) -> None:
        self.world = World([])
        self.clock = Clock()
        self.broker = BrokerWithIds()
        self.broker.make("there")
        self.cluster = FakeCluster(self.broker, self.clock, no_step)
        self.cluster.list()
        gateway = self.world.gateway()
        other = Context(gateway.context.catalog, cast(Cluster, self.cluster), self.broker)
        self.there = shadow_name(2, self.broker.topics["there"].topic_id).decode()
        self.gone = shadow_name(2, GONE).decode()
        self.unknown = shadow_name(3, GONE).decode()
        self.world.broker.make(self.there, self.gone, self.unknown, "orders")
        gateway.cluster.list()
        volumes = {1: gateway.context, 2: other}
        self.job = ShadowRemoval(gateway.context, volumes, self.clock.seconds)
        self.snapshot = gateway.catalog.snapshot

    async def after(self, seconds: float) -> set[str]:
        """The topics after ``seconds``, in steps as the runner takes them."""
        passed = 0.0
        while passed <= seconds:
            for task in list(self.job.tasks(self.snapshot)):
                await self.job.run(task)
            self.clock.forward(seconds=LOOK_AGAIN)
            passed += LOOK_AGAIN
        return set(self.world.broker.topics)


async def test_only_the_shadow_of_a_topic_that_is_gone_goes() -> None:
    story = Story()
    everything = {story.there, story.gone, story.unknown, "orders"}
    assert await story.after(GONE_SECONDS - LOOK_AGAIN) == everything
    assert await story.after(GONE_SECONDS) == everything - {story.gone}


async def test_a_topic_that_a_listing_leaves_out_is_not_gone() -> None:
    story = Story()
    story.broker.secret = frozenset({GONE})
    assert story.gone in await story.after(3 * GONE_SECONDS)


async def test_a_topic_that_is_listed_again() -> None:
    story = Story()
    await story.after(GONE_SECONDS - 2 * LOOK_AGAIN)
    story.broker.make("late")
    story.broker.topics["late"].topic_id = GONE
    story.cluster.list()
    assert story.gone in await story.after(2 * GONE_SECONDS)


async def test_a_cluster_that_does_not_answer() -> None:
    story = Story()
    story.broker.down = True
    with pytest.raises(ClusterUnreachable):
        await story.after(2 * GONE_SECONDS)
    assert story.gone in story.world.broker.topics
