"""A move as a client requests it: its source, its destination, and how it is reverted."""

from __future__ import annotations

import logging

import pytest

from gateway.catalog.entities import TopicEntry
from gateway.changes.base import context as module
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.virtual_configs import Move, Release
from gateway.changes.topics.move_topics import move_topic
from gateway.names import LogicalName
from tests.changes.fake_broker import FakeTopic, no_step
from tests.changes.fakes import FakeGateway, World, allowed, once

KEY = "retention.ms"


@pytest.fixture
def world() -> World:
    world = World(["org:apache", "team"])
    world.broker.make("org..x", "orders")
    return world


async def rejection(gateway: FakeGateway, name: str, wanted: Move | Release) -> tuple[int, str]:
    with pytest.raises(Rejected) as caught:
        await move_topic(gateway.context, allowed(gateway), name, wanted)
    return caught.value.why.code, caught.value.why.message


async def test_the_newest_catalog_counts_and_not_the_client_s_view(world: World) -> None:
    gateway = world.gateway()
    gateway.catalog.lags = True
    view = gateway.view()
    world.log.append([TopicEntry("org..x", LogicalName("team", "y"))])
    with pytest.raises(Rejected, match="Topic 'org:x' does not exist"):
        await move_topic(gateway.context, allowed(gateway, view), "org:x", Move("org:apache"))
    await move_topic(gateway.context, allowed(gateway, view), "team:y", Move("org:apache"))
    assert world.snapshot.topics["org..x"].name == LogicalName("org:apache", "y")


async def test_a_listing_comes_first(world: World) -> None:
    gateway = world.gateway()
    world.broker.make("org..new", "team..taken")
    await move_topic(gateway.context, allowed(gateway), "org:new", Move("team"))
    assert await rejection(gateway, "org:x", Move("team", "taken")) == (
        36,
        "Topic 'team:taken' already exists.",
    )


async def test_a_topic_that_goes_between_two_looks(world: World) -> None:
    gateway = world.gateway()
    world.step = once("ask DescribeConfigsRequest", lambda: world.broker.topics.clear())
    assert await rejection(gateway, "org:x", Move("team")) == (3, "Topic 'org:x' does not exist.")
    assert world.log.decisions == []


@pytest.mark.parametrize("namespace", ["a b", "a::b", "org:a_b"])
async def test_namespaces_that_cannot_be(world: World, namespace: str) -> None:
    code, message = await rejection(world.gateway(), "orders", Move(namespace))
    assert code == 17
    assert "is not one or more of" in message


async def test_to_the_root_without_a_home(world: World) -> None:
    gateway = world.gateway()
    await move_topic(gateway.context, allowed(gateway), "org:x", Move(":", "plain"))
    assert world.snapshot.topics["org..x"].name == LogicalName("", "plain")


async def test_a_twin_takes_the_move_back(world: World, caplog: pytest.LogCaptureFixture) -> None:
    held = TopicEntry("orders", LogicalName("org", "o"), topic_id=b"i" * 16, since=3)
    world.log.append([held])
    gateway = world.gateway()

    def make() -> None:
        world.step = no_step
        world.broker.topics["team..o"] = FakeTopic(b"t" * 16, {})

    world.step = once("change", make)
    with caplog.at_level(logging.WARNING):
        code, _ = await rejection(gateway, "org:o", Move("team"))
    assert code == 36
    assert world.snapshot.topics == {"orders": held}
    assert "was made meanwhile" in caplog.text


async def test_a_twin_is_left_alone_once_somebody_moved_the_topic_on(world: World) -> None:
    gateway = world.gateway()
    on = TopicEntry("orders", LogicalName("org", "on"), topic_id=b"i" * 16, since=9)

    def make() -> None:
        world.broker.topics["team..orders"] = FakeTopic(b"t" * 16, {})

    steps = 0

    async def step(at: str) -> None:
        nonlocal steps
        steps += at == "change"
        if at == "change" and steps == 1:
            make()
        elif at == "change" and steps == 2:
            world.step = no_step
            world.log.append([on])

    world.step = step
    assert (await rejection(gateway, "orders", Move("team")))[0] == 36
    assert world.snapshot.topics == {"orders": on}


async def test_it_gives_up_in_the_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ATTEMPTS", 3)
    gateway = world.gateway()
    since = 0

    async def change(at: str) -> None:
        nonlocal since
        if at == "change":
            since += 1
            name = LogicalName("org", "x")
            world.log.append([TopicEntry("org..x", name, own_configs=(KEY,), since=since)])

    world.step = change
    code, message = await rejection(gateway, "org:x", Move("team"))
    assert (code, message) == (7, "Topic 'org:x' keeps changing meanwhile; try again.")


async def test_validate_only_of_a_release(world: World) -> None:
    gateway = world.gateway()
    view = gateway.view()
    await move_topic(
        gateway.context, allowed(gateway, view), "orders", Release(), validate_only=True
    )
    with pytest.raises(Rejected, match="cannot be released"):
        await move_topic(
            gateway.context, allowed(gateway, view), "org:x", Release(), validate_only=True
        )
    assert world.log.decisions == []
