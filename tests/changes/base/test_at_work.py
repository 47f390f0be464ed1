"""Changes that are at work at brokers: a move waits for them, and later changes are decided
anew."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from gateway.catalog.entities import Freeze
from gateway.changes.base.at_work import AtWork
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.virtual_configs import Move
from gateway.changes.configs.alter_configs import alter_configs, incremental_alter_configs
from gateway.changes.topics.create_partitions import create_partitions
from gateway.changes.topics.move_topics import move_topic
from gateway.error_codes import (
    LEADER_NOT_AVAILABLE,
    REQUEST_TIMED_OUT,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.names import LogicalName
from gateway.views.access import Access
from gateway.views.authorized_access import AuthorizedAccess
from protocol import messages
from protocol.messages import element_class, make
from tests.changes.fakes import Clock, FakeGateway, World, allowed, body_of, once
from tests.changes.freezing import HERE, frozen_world, moved, working
from tests.session.allowing import Allowing

Change = Callable[[FakeGateway, Access], Coroutine[Any, Any, int]]
"""Changes the topic ``org:x`` at the broker; returns the error code."""


@pytest.fixture
def world() -> World:
    return frozen_world()


async def _alter(gateway: FakeGateway, access: Access) -> int:
    return await _altered(gateway, access, "IncrementalAlterConfigs")


async def _alter_all(gateway: FakeGateway, access: Access) -> int:
    return await _altered(gateway, access, "AlterConfigs")


async def _altered(gateway: FakeGateway, access: Access, api: str) -> int:
    cls = messages.message_class(f"{api}Request", 1)
    resource = element_class(cls, "resources")
    config = make(element_class(resource, "configs"), {"name": "retention.ms", "value": "1"})
    values = {"resource_type": 2, "resource_name": "org:x", "configs": (config,)}
    body = body_of(f"{api}Request", 1, {"resources": (make(resource, values),)})
    change = alter_configs if api == "AlterConfigs" else incremental_alter_configs
    answered = await change(gateway.context, access, 1, body)
    (response,) = messages.parse(f"{api}Response", 1, answered.body).responses
    return int(response.error_code)


async def _grow(gateway: FakeGateway, access: Access) -> int:
    cls = element_class(messages.message_class("CreatePartitionsRequest", 2), "topics")
    topic = make(cls, {"name": "org:x", "count": 9, "assignments": None})
    body = body_of("CreatePartitionsRequest", 2, {"topics": (topic,)})
    answered = await create_partitions(gateway.context, access, 2, body)
    (result,) = messages.parse("CreatePartitionsResponse", 2, answered.body).results
    return int(result.error_code)


CHANGES = [
    (_alter, "IncrementalAlterConfigsRequest"),
    (_alter_all, "IncrementalAlterConfigsRequest"),
    (_grow, "CreatePartitionsRequest"),
]

RECORDED = "changed"
"""The step at which the catalog has the change, which the broker has only validated."""


def is_done(world: World) -> bool:
    """Whether the broker has changed the topic."""
    topic = world.broker.topics["org..x"]
    return topic.configs.get("retention.ms") == "1" or topic.partitions == 9


@pytest.mark.parametrize("change", [change for change, _ in CHANGES])
async def test_a_topic_that_was_moved_before_the_broker_was_asked(
    world: World, change: Change
) -> None:
    gateway = working(world)
    mover = working(world)
    world.step = once(RECORDED, lambda: moved(mover))
    assert await change(gateway, allowed(gateway)) == UNKNOWN_TOPIC_OR_PARTITION
    assert world.snapshot.topics["org..x"].name == LogicalName("team", "x")
    assert not is_done(world)


@pytest.mark.parametrize("change", [change for change, _ in CHANGES])
async def test_another_topic_that_has_the_name_by_then(world: World, change: Change) -> None:
    async def swapped() -> None:
        await moved(mover)
        await move_topic(mover.context, allowed(mover), "org:y", Move("org", "x"))

    gateway = working(world)
    mover = working(world)
    world.step = once(RECORDED, swapped)
    assert await change(gateway, allowed(gateway)) == REQUEST_TIMED_OUT
    assert not is_done(world)


@pytest.mark.parametrize("change", [change for change, _ in CHANGES])
async def test_a_topic_that_is_frozen_before_the_broker_is_asked(
    world: World, change: Change
) -> None:
    freeze = Freeze("f", HERE.run, world.clock.now + 60_000, ("org:x",))
    gateway = working(world)
    world.step = once(RECORDED, lambda: world.log.append([freeze]))
    assert await change(gateway, allowed(gateway)) == LEADER_NOT_AVAILABLE
    assert not is_done(world)


@pytest.mark.parametrize("change", [change for change, _ in CHANGES])
async def test_a_right_that_is_taken_away_before_the_broker_is_asked(
    world: World, change: Change
) -> None:
    rights = Allowing(["ALTER TOPIC org:x", "ALTER_CONFIGS TOPIC org:x"])
    gateway = working(world)
    world.step = once(RECORDED, rights._allowed.clear)
    access = AuthorizedAccess(gateway.view(), "User:alice", "127.0.0.1", rights)
    assert await change(gateway, access) == TOPIC_AUTHORIZATION_FAILED
    assert not is_done(world)


@pytest.mark.parametrize(("change", "request_name"), CHANGES)
@pytest.mark.parametrize("at", ["ask", "asked"])
async def test_a_move_waits_for_what_the_broker_was_asked(
    world: World, change: Change, request_name: str, at: str
) -> None:
    """Otherwise the client would get its response, and the new owner's topic would be changed after
    that."""
    gateway = working(world)
    asked, goes_on = asyncio.Event(), asyncio.Event()

    async def held() -> None:
        asked.set()
        await goes_on.wait()

    world.step = once(f"{at} {request_name}", held, nth=2)
    changing = asyncio.create_task(change(gateway, allowed(gateway)))
    await asked.wait()
    gateway.context.freezer.patience = 0.0
    with pytest.raises(Rejected) as caught:
        await move_topic(gateway.context, allowed(gateway), "org:x", Move("team"))
    assert caught.value.why.code == REQUEST_TIMED_OUT
    await move_topic(gateway.context, allowed(gateway), "org:y", Move("team"))
    goes_on.set()
    assert await changing == 0
    assert is_done(world)
    await moved(gateway)
    assert world.snapshot.topics["org..x"].name == LogicalName("team", "x")


def test_what_was_not_answered_counts_for_a_while() -> None:
    """A broker is at work for 60 s at most."""
    clock = Clock()
    work = AtWork(clock.seconds)
    with work.on(["a", "b"]):
        assert work.concerns(lambda flat: flat == b"b")
    assert not work.concerns(lambda flat: True)
    with pytest.raises(OSError, match="gone"), work.on(["a"]):
        raise OSError("gone")
    clock.forward(seconds=59)
    assert work.concerns(lambda flat: flat == b"a")
    assert not work.concerns(lambda flat: flat == b"b")
    clock.forward(seconds=2)
    assert not work.concerns(lambda flat: True)
