"""Topics are counted so that one too many is never made, even if several are requested at once."""

from __future__ import annotations

import asyncio

from gateway.changes.base.usage import LISTING_HOLDS
from gateway.changes.jobs.background import Housekeeping
from gateway.changes.topics.create_plan import CREATION_TIME
from gateway.policies.interface import RequestMetadata
from gateway.policies.tree import Placed
from gateway.policies.violation import Violation
from tests.changes.admin_requests import codes, create, create_shaped, delete
from tests.changes.fake_broker import no_step
from tests.changes.fakes import FakeGateway, World, once
from tests.changes.judges import Asked, everywhere, judge

POLICY_VIOLATION, TIMED_OUT, EXISTS = 44, 7, 36


def limited(world: World, **limits: int) -> FakeGateway:
    return world.gateway(judge(namespaces={"org": limits}))


async def test_one_too_many_is_rejected() -> None:
    world = World(["org"])
    one = limited(world, max_topics=2)
    assert codes(await create(one, "org:a", "org:b", "org:c")) == [0, 0, POLICY_VIOLATION]
    (told,) = await create(one, "org:d")
    assert told.code == POLICY_VIOLATION
    assert "would have 3 topics, and at most 2 are allowed" in told.message
    assert "namespace 'org'" in told.message
    assert set(world.broker.topics) == {"org..a", "org..b"}


async def test_what_is_deleted_makes_room_at_once() -> None:
    world = World(["org"])
    one = limited(world, max_topics=1)
    assert codes(await create(one, "org:a")) == [0]
    assert codes(await create(one, "org:b")) == [POLICY_VIOLATION]
    assert codes(await delete(one, "org:a")) == [0]
    assert world.snapshot.topics == {}
    assert codes(await create(one, "org:b")) == [0]


async def test_another_gateway_counts_what_its_listing_lacks() -> None:
    """It has listed the cluster before the topic was created, and the topic exists by now."""
    world = World(["org"])
    first, second = limited(world, max_topics=1), limited(world, max_topics=1)
    second.cluster.lagging = {}
    assert codes(await create(first, "org:a")) == [0]
    assert codes(await create(second, "org:b")) == [POLICY_VIOLATION]
    assert set(world.broker.topics) == {"org..a"}


async def test_many_at_the_same_time() -> None:
    world = World(["org"])
    gateways = [limited(world, max_topics=10) for _ in range(3)]
    told = await asyncio.gather(*(create(gateways[n % 3], f"org:t{n}") for n in range(60)))
    assert sorted(codes([one for (one,) in told])) == [0] * 10 + [POLICY_VIOLATION] * 50
    assert len(world.broker.topics) == 10


async def test_partitions_of_one_request_are_summed_up() -> None:
    one = limited(World(["org:sub"]), max_partitions_in_tree=5)
    told = await create_shaped(one, "org:a", "org:sub:b", "org:sub:c", partitions=2)
    assert codes(told) == [0, 0, POLICY_VIOLATION]


async def test_defaults_are_counted_as_what_they_are() -> None:
    one = limited(World(["org"]), max_partitions=1)
    assert codes(await create_shaped(one, "org:a", "org:b", partitions=-1)) == [0, POLICY_VIOLATION]


async def test_validate_only_says_what_would_be_and_keeps_nothing() -> None:
    world = World(["org"])
    one = limited(world, max_topics=1)
    told = await create(one, "org:a", "org:b", validate_only=True)
    assert codes(told) == [0, POLICY_VIOLATION]
    assert world.log.decisions == []


async def test_a_topic_that_the_broker_rejects_after_all_takes_no_room() -> None:
    world = World(["org"])
    one = limited(world, max_topics=1)
    # Another client makes it at the broker itself between validation and creation.
    world.step = once("ask CreateTopicsRequest", lambda: world.broker.make("org..a"), nth=2)
    assert codes(await create(one, "org:a")) == [EXISTS]
    assert world.snapshot.topics == {}


async def test_the_entry_goes_when_every_listing_has_the_topic() -> None:
    world = World(["org"])
    one = limited(world, max_topics=5)
    await create(one, "org:a")
    entry = world.snapshot.topics["org..a"]
    assert (entry.creating, entry.counted) == (False, 1)
    keeper = Housekeeping(one.context)
    assert list(keeper.tasks(world.snapshot)) == []
    world.clock.forward(seconds=CREATION_TIME / 1000)
    (task,) = keeper.tasks(world.snapshot)
    await keeper.run(task)
    assert world.snapshot.topics == {}


async def test_a_crash_before_the_topic_is_made_takes_no_room_for_long() -> None:
    world = World(["org"])
    one = limited(world, max_topics=1)
    world.broker.down = False

    def lose() -> None:
        world.broker.down = True

    world.step = once("ask CreateTopicsRequest", lose, nth=2)
    assert codes(await create(one, "org:a")) == [TIMED_OUT]
    assert world.snapshot.topics["org..a"].creating
    world.broker.down = False
    assert codes(await create(one, "org:b")) == [POLICY_VIOLATION]
    world.clock.forward(seconds=CREATION_TIME / 1000)
    (task,) = Housekeeping(one.context).tasks(world.snapshot)
    await Housekeeping(one.context).run(task)
    assert codes(await create(one, "org:b")) == [0]


async def test_nothing_is_counted_by_an_old_listing() -> None:
    world = World(["org"])
    one = limited(world, max_topics=5)
    world.step = once("change", lambda: world.clock.forward(seconds=LISTING_HOLDS / 1000 + 1))
    (told,) = await create(one, "org:a")
    assert told.code == TIMED_OUT
    assert world.broker.topics == {}


async def test_the_default_namespace_and_all_there_is() -> None:
    world = World(["org"])
    one = world.gateway(
        judge(**everywhere(max_topics_in_tree=3), default_namespace={"max_topics": 1})
    )
    told = await create(one, "plain", "more", "org:a", "org:b", "org:c")
    assert codes(told) == [0, POLICY_VIOLATION, 0, 0, POLICY_VIOLATION]


async def test_a_creation_that_took_too_long_is_taken_back() -> None:
    """Its entry no longer counted, so another topic has come in its place."""
    world = World(["org"])
    one, two = limited(world, max_topics=1), limited(world, max_topics=1)

    async def meanwhile() -> None:
        world.step = no_step
        world.clock.forward(seconds=CREATION_TIME / 1000)
        keeper = Housekeeping(two.context)
        for task in list(keeper.tasks(world.snapshot)):
            await keeper.run(task)
        assert codes(await create(two, "org:b")) == [0]

    world.step = once("ask CreateTopicsRequest", meanwhile, nth=2)
    assert codes(await create(one, "org:a")) == [TIMED_OUT]
    assert set(world.broker.topics) == {"org..b"}


class Reloading(Asked):
    """A policy class during whose call about ``org:b`` a reload brings limits."""

    one: FakeGateway

    async def why_not(self, placed: Placed, metadata: RequestMetadata) -> Violation | None:
        if metadata.topic == "org:b":
            limits = judge(namespaces={"org": {"max_topics": 0}})
            self.one.context.judge.policies = limits.policies
        return await super().why_not(placed, metadata)


async def test_limits_that_come_after_a_topic_was_judged() -> None:
    world, classes = World(["org"]), Reloading()
    block = {"create.topic.policy.class.name": "any:Class"}
    one = classes.one = world.gateway(judge(classes, **everywhere(**block)))
    assert codes(await create(one, "org:a", "org:b")) == [TIMED_OUT, POLICY_VIOLATION]
    assert world.broker.topics == {}
