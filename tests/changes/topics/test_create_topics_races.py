"""CreateTopics while another change is made, fails or crashes."""

from __future__ import annotations

import pytest

from gateway.catalog.entities import Namespace, Removal, TopicEntry
from gateway.changes.topics.create_plan import CREATION_TIME
from gateway.cluster.link import ClusterUnreachable
from gateway.decision import Denied
from gateway.names import LogicalName
from tests.changes.admin_requests import codes, create, delete
from tests.changes.fakes import START, Crash, World, crash_at, once

HELD = TopicEntry("org..x", LogicalName("", "moved"))


# -- races ---------------------------------------------------------------------------------------


async def test_a_namespace_deleted_before_the_broker_answers_takes_the_topic_back() -> None:
    world = World(["org"])
    gateway, other = world.gateway(), world.gateway()
    world.step = once("asked CreateTopicsRequest", lambda: delete(other, "org:"))
    told = await create(gateway, "org:x", "plain")
    assert codes(told) == [17, 0]
    assert told[0].message.startswith("InvalidNamespaceException: namespace 'org' has been deleted")
    assert set(world.broker.topics) == {"plain"}
    assert not gateway.cluster.index.exists(b"org..x")


async def test_a_namespace_deleted_before_the_commit_takes_the_topic_back() -> None:
    world = World(["org"], [HELD])
    world.broker.make("org..x")
    gateway, other = world.gateway(), world.gateway()
    steps = iter(["reservation", "commit"])

    async def at_change() -> None:
        if next(steps) == "commit":
            world.step = once("never", lambda: None)
            await delete(other, "org:")

    async def step(name: str) -> None:
        if name == "change":
            await at_change()

    world.step = step
    told = await create(gateway, "org:x", "org:y", configs={"retention.ms": "1"})
    assert codes(told) == [17, 17]
    assert set(world.broker.topics) == {"org..x"}
    assert world.snapshot.topics == {"org..x": HELD}


async def test_a_namespace_deleted_before_the_reservation() -> None:
    world = World(["org"], [HELD])
    world.broker.make("org..x")
    gateway, other = world.gateway(), world.gateway()
    world.step = once("change", lambda: delete(other, "org:"))
    assert codes(await create(gateway, "org:x")) == [17]
    assert set(world.broker.topics) == {"org..x"}


async def test_two_reservations_of_one_name() -> None:
    world = World(["org"], [HELD])
    world.broker.make("org..x")
    gateway, other = world.gateway(), world.gateway()
    won: list[int] = []

    async def compete() -> None:
        won.extend(codes(await create(other, "org:x")))

    world.step = once("change", compete)
    assert [codes(await create(gateway, "org:x")), won] == [[36], [0]]
    assert len(world.broker.topics) == 2


async def test_a_topic_moved_to_the_name_meanwhile_keeps_it() -> None:
    world = World(["org"])
    world.broker.make("moved")
    gateway = world.gateway()
    moved = TopicEntry("moved", LogicalName("org", "x"))
    world.step = once("asked CreateTopicsRequest", lambda: world.log.append([moved]))
    (told,) = await create(gateway, "org:x")
    assert told.code == 7
    assert set(world.broker.topics) == {"moved"}
    assert codes(await create(gateway, "org:x")) == [36]


async def test_a_new_topic_that_is_moved_at_once_stays() -> None:
    world = World(["org", "new"])
    gateway = world.gateway()
    moved = TopicEntry("org..x", LogicalName("new", "y"))
    gone = Namespace("org", deleting=START)
    world.step = once("asked CreateTopicsRequest", lambda: world.log.append([moved, gone]))
    assert codes(await create(gateway, "org:x", configs={"retention.ms": "1"})) == [0]
    assert "org..x" in world.broker.topics
    assert world.snapshot.topics["org..x"].own_configs == ("retention.ms",)


async def test_configs_of_the_namespace_that_change_meanwhile_are_applied_later() -> None:
    world = World(["org"])
    gateway = world.gateway()
    world.step = once(
        "asked CreateTopicsRequest",
        lambda: world.log.append([Namespace("org", {"retention.ms": "5"})]),
    )
    assert codes(await create(gateway, "org:x")) == [0]
    assert world.snapshot.topics["org..x"].apply


async def test_a_gateway_that_lags_decides_on_the_newest() -> None:
    world = World(["org"])
    gateway, other = world.gateway(), world.gateway()
    gateway.catalog.lags = True
    stale = gateway.view()
    await create(other, "new:")
    await delete(other, "org:")
    assert codes(await create(gateway, "new:x", "org:x", view=stale)) == [0, 17]
    assert set(world.broker.topics) == {"new..x"}


# -- failures ------------------------------------------------------------------------------------


async def test_an_unavailable_catalog_rejects_before_anything_is_made() -> None:
    world = World(["org"])
    gateway = world.gateway()
    gateway.catalog.down = True
    told = await create(gateway, "org:x", "plain")
    assert codes(told) == [7, 7]
    assert "catalog" in told[0].message
    assert not world.broker.asked


async def test_a_catalog_that_goes_away_leaves_topics_unconfirmed() -> None:
    world = World(["org"])
    gateway = world.gateway()

    def go() -> None:
        gateway.catalog.down = True

    world.step = once("asked CreateTopicsRequest", go)
    assert codes(await create(gateway, "org:x", "plain")) == [7, 0]


async def test_a_catalog_that_goes_away_before_the_reservation() -> None:
    world = World(["org"], [HELD])
    world.broker.make("org..x")
    gateway = world.gateway()

    def go() -> None:
        gateway.catalog.down = True

    world.step = once("change", go)
    told = await create(gateway, "org:x", "plain")
    assert codes(told) == [7, 0]
    assert set(world.broker.topics) == {"org..x", "plain"}


async def test_a_broker_that_goes_away_is_told_without_its_address() -> None:
    world = World(["org"])
    world.broker.down = True
    (told,) = await create(world.gateway(), "org:x")
    assert told.code == 7
    assert "10.0.0.1" not in told.message


async def test_a_lost_answer_keeps_the_reservation() -> None:
    world = World(["org"], [HELD])
    world.broker.make("org..x")

    def lose() -> None:
        raise ClusterUnreachable("main", "the connection broke")

    world.step = once("asked CreateTopicsRequest", lose)
    assert codes(await create(world.gateway(), "org:x")) == [7]
    entry = world.snapshot.entry_of(LogicalName("org", "x"))
    assert entry is not None
    assert entry.creating
    assert entry.flat in world.broker.topics


async def test_a_rejected_reservation_is_removed() -> None:
    world = World(["org"], [HELD])
    world.broker.make("org..x")
    (told,) = await create(world.gateway(), "org:x", configs={"retention.ms": "long"})
    assert told.code == 40
    assert isinstance(world.log.decisions[-1][0], Removal)
    assert world.snapshot.topics == {"org..x": HELD}


@pytest.mark.parametrize("number", range(12))
async def test_after_a_crash_at_any_step_the_topic_can_be_made(number: int) -> None:
    world = World(["org"], [HELD])
    world.broker.make("org..x")
    gateway = world.gateway()
    world.step = crash_at(number)
    try:
        await create(gateway, "org:x", configs={"retention.ms": "1"})
        crashed = False
    except Crash:
        crashed = True
    world.step = crash_at(-1)
    world.clock.now += CREATION_TIME
    survivor = world.gateway()
    assert codes(await create(survivor, "org:x", configs={"retention.ms": "1"}))[0] in (0, 36)
    found = survivor.view().resolve(b"org:x")
    assert not isinstance(found, Denied)
    assert found.flat.decode() in world.broker.topics
    entry = world.snapshot.entry_of(LogicalName("org", "x"))
    assert entry is not None
    assert entry.own_configs == ("retention.ms",)
    assert len(world.broker.topics) == 2
    assert crashed is (number < 7)
