"""A config that is set on a topic is its own; how that is recorded, whatever happens in between."""

from __future__ import annotations

import asyncio

import pytest

from gateway.catalog.entities import Namespace, TopicEntry
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.resources import DELETE, SET, Operation
from gateway.changes.configs import alter_topics as module
from gateway.changes.configs.alter_topics import alter_topics, replacing, tracked
from gateway.cluster.link import ClusterUnreachable
from gateway.names import LogicalName
from tests.changes.fake_broker import Rejected as BrokerRejected
from tests.changes.fake_broker import no_step
from tests.changes.fakes import World, once

KEY = "retention.ms"
SET_IT = {"org..x": [Operation(KEY, SET, "7")]}
DELETE_IT = {"org..x": [Operation(KEY, DELETE)]}


@pytest.fixture
def world() -> World:
    world = World(["org"])
    world.log.append([Namespace("org", {KEY: "1"})])
    world.broker.make("org..x", retention_ms="1")
    world.broker.make("orders", segment_bytes="5")
    return world


def own(world: World) -> tuple[str, ...]:
    entry = world.snapshot.topics.get("org..x")
    return () if entry is None else entry.own_configs


def test_of_which_topics_the_catalog_has_to_know() -> None:
    waits = TopicEntry("a", LogicalName("", "a"), apply=True)
    quiet = TopicEntry("b", LogicalName("", "b"), topic_id=b"i" * 16)
    snapshot = World(["org"], [waits, quiet]).snapshot
    assert [tracked(snapshot, flat) for flat in ("org..x", "a", "b", "c")] == [
        True,
        True,
        False,
        False,
    ]


async def test_it_is_recorded_before_the_broker_has_it(world: World) -> None:
    seen: list[tuple[str, ...]] = []
    context = world.gateway().context
    world.step = once("ask IncrementalAlterConfigsRequest", lambda: seen.append(own(world)), nth=2)
    assert await alter_topics(context, SET_IT) == {"org..x": None}
    assert seen == [(KEY,)]
    world.step = once("asked IncrementalAlterConfigsRequest", lambda: seen.append(own(world)))
    assert await alter_topics(context, DELETE_IT) == {"org..x": None}
    assert seen == [(KEY,), (KEY,)]
    assert own(world) == ()


async def test_what_the_broker_rejects_in_the_end_is_not_recorded(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    alter = world.broker._alter

    def reject(resource: object, validate_only: bool) -> None:
        if not validate_only:
            raise BrokerRejected(44, "The policy has changed its mind.")
        alter(resource, validate_only)

    monkeypatch.setattr(world.broker, "_alter", reject)
    denied = (await alter_topics(world.gateway().context, SET_IT))["org..x"]
    assert denied is not None
    assert denied.code == 44
    assert own(world) == ()


async def test_what_is_not_known_stays_recorded(world: World) -> None:
    def away() -> None:
        world.broker.down = True

    world.step = once("changed", away)
    with pytest.raises(ClusterUnreachable):
        await alter_topics(world.gateway().context, SET_IT)
    assert own(world) == (KEY,)


async def test_it_waits_for_what_is_being_applied(world: World) -> None:
    pending = Namespace("org", {KEY: "1"}, apply=(KEY,), apply_since=1)
    world.log.append([pending])
    task = asyncio.create_task(alter_topics(world.gateway().context, SET_IT))
    await asyncio.sleep(0.12)
    assert not task.done()
    assert own(world) == ()
    world.log.append([Namespace("org", {KEY: "1"}, apply_since=1)])
    assert await task == {"org..x": None}
    assert world.broker.topics["org..x"].configs == {KEY: "7"}


async def test_it_does_not_wait_for_ever(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "JOB_PATIENCE", 0.0)
    world.log.append([Namespace("org", {KEY: "1"}, apply=(KEY,), apply_since=1)])
    with pytest.raises(Rejected, match="try again") as caught:
        await alter_topics(world.gateway().context, SET_IT)
    assert caught.value.why.code == 7
    assert world.broker.topics["org..x"].configs == {KEY: "1"}
    # A change of another key does not affect it.
    other = {"org..x": [Operation("segment.bytes", SET, "7")]}
    assert await alter_topics(world.gateway().context, other) == {"org..x": None}


async def test_a_topic_that_is_adopted_meanwhile_keeps_what_was_set(world: World) -> None:
    """The gateway that adopted it has not seen the key, and has removed it again."""

    def adopt() -> None:
        world.step = no_step
        world.log.append([TopicEntry("orders", LogicalName("org", "o"), own_configs=())])
        world.broker.topics["orders"].configs = {KEY: "1"}

    world.step = once("asked IncrementalAlterConfigsRequest", adopt)
    wanted = {"orders": [Operation("max.message.bytes", SET, "9")]}
    assert await alter_topics(world.gateway().context, wanted) == {"orders": None}
    assert world.broker.topics["orders"].configs == {KEY: "1", "max.message.bytes": "9"}
    assert world.snapshot.topics["orders"].own_configs == ("max.message.bytes",)


async def test_what_it_falls_back_to_changes_meanwhile(world: World) -> None:
    context = world.gateway().context
    await alter_topics(context, SET_IT)

    def change() -> None:
        world.log.append([Namespace("org", {})])

    world.step = once("asked IncrementalAlterConfigsRequest", change, nth=2)
    await alter_topics(context, DELETE_IT)
    assert world.snapshot.topics["org..x"].apply


async def test_replacing(world: World) -> None:
    given: dict[str, dict[str, str | None]]
    given = {"orders": {"a": "1"}, "gone": {"b": None}, "org..x": {}}
    assert await replacing(world.gateway().context, given) == {
        "orders": [Operation("a", SET, "1"), Operation("segment.bytes", DELETE)],
        "gone": [Operation("b", SET, None)],
        "org..x": [Operation(KEY, DELETE)],
    }
