"""Brokers that go on returning former configs: an inherited value is never taken for the topic's
own."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from gateway.catalog.entities import Namespace, TopicEntry
from gateway.changes.base import told_everywhere
from gateway.changes.base.context import Context
from gateway.changes.base.resources import APPEND, DELETE, SET, Operation
from gateway.changes.base.told_configs import late_configs, values_after
from gateway.changes.configs.alter_topics import alter_topics
from gateway.changes.namespaces.namespace_configs import (
    NotApplied,
    alter_namespace,
    apply_namespace,
    apply_topic,
)
from gateway.names import LogicalName
from protocol.messages import Request
from tests.changes.fake_broker import FakeBroker
from tests.changes.fakes import World

KEY = "retention.ms"
FLAT = "org..x"
LATE = 3


@pytest.fixture
def world() -> World:
    world = World(["org"])
    world.log.append([Namespace("org", {KEY: "1"})])
    world.broker.make(FLAT, retention_ms="1")
    return world


def applying(world: World) -> tuple[str, ...]:
    """The keys that the namespace has yet to apply to topics."""
    return world.snapshot.namespaces["org"].apply


def own(world: World) -> tuple[str, ...]:
    entry = world.snapshot.topics.get(FLAT)
    return () if entry is None else entry.own_configs


async def alter(world: World, value: str | None) -> None:
    """Set the key of the namespace, or delete it if ``value`` is None, by a gateway of its own."""
    step = Operation(KEY, DELETE) if value is None else Operation(KEY, SET, value)
    await alter_namespace(world.gateway().context, "org", lambda _: [step])


@pytest.mark.parametrize("late", range(LATE + 1))
@pytest.mark.parametrize("last", ["4", None])
async def test_namespaces_that_change_again_at_once(
    world: World, late: int, last: str | None
) -> None:
    world.broker.late = late
    for value in ("2", "3", last):
        await alter(world, value)
    assert own(world) == ()
    assert world.broker.topics[FLAT].configs == ({} if last is None else {KEY: last})


@pytest.mark.parametrize("late", range(LATE + 1))
async def test_a_topic_that_has_its_own_no_more(world: World, late: int) -> None:
    world.broker.late = late
    context = world.gateway().context
    await alter_topics(context, {FLAT: [Operation(KEY, SET, "7")]})
    assert own(world) == (KEY,)
    await alter_topics(context, {FLAT: [Operation(KEY, DELETE)]})
    await alter(world, "2")
    assert own(world) == ()
    assert world.broker.topics[FLAT].configs == {KEY: "2"}


async def test_what_brokers_never_tell(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The namespace's change stays to be applied, and the topic's own key stays its own."""
    monkeypatch.setattr(told_everywhere, "PATIENCE", 0.05)
    context = world.gateway().context
    await alter_topics(context, {FLAT: [Operation(KEY, SET, "7")]})
    world.broker.late = 10_000
    await alter_topics(context, {FLAT: [Operation(KEY, DELETE)]})
    assert own(world) == (KEY,)

    world.broker.make("org..y", retention_ms="1")
    await alter(world, "2")
    assert world.broker.topics["org..y"].configs == {KEY: "2"}
    assert applying(world) == (KEY,)


async def test_who_is_waited_for(world: World) -> None:
    """Topics that a broker does not describe, and brokers that do not respond, are not waited
    for."""
    context = world.gateway().context
    assert not await late_configs(context, {FLAT: {KEY: "1"}, "org..gone": {KEY: "1"}})
    assert await late_configs(context, {FLAT: {KEY: "2"}}, patience=0.01) == {FLAT}
    assert not await late_configs(context, {FLAT: {KEY: "2"}}, holds=lambda _: False)
    world.broker.down = True
    assert not await late_configs(context, {FLAT: {KEY: "2"}})


def test_values_after() -> None:
    steps = [
        Operation(KEY, SET, "7"),
        Operation("segment.ms", DELETE),
        Operation("cleanup.policy", APPEND, "compact"),
    ]
    assert values_after({FLAT: steps}) == {FLAT: {KEY: "7", "segment.ms": None}}


@pytest.mark.parametrize("written", [" 0100 ", "+100", "100"])
async def test_values_that_brokers_tell_otherwise_than_they_were_written(
    world: World, written: str
) -> None:
    """They are applied at once, and so is the next value, because they are never the topic's
    own."""
    await alter(world, written)
    assert applying(world) == ()
    await alter(world, "5")
    assert own(world) == ()
    assert world.broker.topics[FLAT].configs == {KEY: "5"}
    assert applying(world) == ()


async def test_a_topic_that_brokers_are_late_with_holds_up_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many there are, and in whatever order they are written."""
    monkeypatch.setattr(told_everywhere, "PATIENCE", 0.05)
    many = [f"org..t{number}" for number in range(120)]
    world.broker.make(*many, retention_ms="1")
    world.broker.late, world.broker.late_of = 10_000, {"org..t0"}
    await alter(world, "2")
    assert {world.broker.topics[flat].configs[KEY] for flat in (FLAT, *many)} == {"2"}
    assert applying(world) == (KEY,)


async def test_keys_that_are_deleted_of_many_topics(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If brokers return a topic's former value, only that topic keeps its key as its own."""
    monkeypatch.setattr(told_everywhere, "PATIENCE", 0.05)
    world.broker.make("org..y", retention_ms="1")
    context = world.gateway().context
    await alter_topics(context, {f: [Operation(KEY, SET, "7")] for f in (FLAT, "org..y")})
    world.broker.late, world.broker.late_of = 10_000, {"org..y"}
    await alter_topics(context, {f: [Operation(KEY, DELETE)] for f in (FLAT, "org..y")})
    assert own(world) == ()
    assert world.snapshot.topics["org..y"].own_configs == (KEY,)


@pytest.mark.parametrize(("other", "kept"), [("segment.bytes", (KEY,)), (KEY, ())])
async def test_the_namespace_changes_while_brokers_are_late(
    world: World, monkeypatch: pytest.MonkeyPatch, other: str, kept: tuple[str, ...]
) -> None:
    """The brokers are waited for, unless this key changes: then a job applies it."""
    monkeypatch.setattr(told_everywhere, "PATIENCE", 0.3)
    context = world.gateway().context
    await alter_topics(context, {FLAT: [Operation(KEY, SET, "7")]})
    world.broker.late = 10_000
    deleting = asyncio.create_task(alter_topics(context, {FLAT: [Operation(KEY, DELETE)]}))
    await asyncio.sleep(0.1)
    present = world.snapshot.namespaces["org"]
    configs = {**present.configs, other: "100000"}
    world.log.append([replace(present, configs=configs, apply=(other,), apply_since=1)])
    await deleting
    assert own(world) == kept
    assert world.snapshot.topics[FLAT].apply == (not kept)


async def test_a_job_that_goes_on_does_not_take_one_broker_for_all(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker that is read has the value that was written before; another broker is still
    late."""
    monkeypatch.setattr(told_everywhere, "PATIENCE", 0.05)
    context, others = one_is_late(world)
    await alter_namespace(context, "org", lambda _: [Operation(KEY, SET, "2")])
    assert world.broker.topics[FLAT].configs == {KEY: "2"}
    for _ in range(2):
        with pytest.raises(NotApplied):
            await apply_namespace(context, "org")
        assert applying(world) == (KEY,)
    others.late = False
    await apply_namespace(context, "org")
    assert applying(world) == ()


async def test_a_moved_topic_of_which_one_broker_tells_what_it_inherited_before(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever that was: the topic's own configs stay as they are, and no others stay."""
    monkeypatch.setattr(told_everywhere, "PATIENCE", 0.05)
    world.broker.topics[FLAT].configs["segment.bytes"] = "9999"
    moved = TopicEntry(FLAT, LogicalName("", "x"), own_configs=("segment.bytes",), apply=True)
    world.log.append([moved])
    context, others = one_is_late(world)
    for _ in range(2):
        with pytest.raises(NotApplied):
            await apply_topic(context, FLAT)
        assert world.broker.topics[FLAT].configs == {"segment.bytes": "9999"}
        assert world.snapshot.topics[FLAT].apply
    others.late = False
    await apply_topic(context, FLAT)
    assert not world.snapshot.topics[FLAT].apply


async def test_a_broker_that_does_not_know_a_topic_yet(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic that a broker does not know is neither applied, nor known everywhere."""
    monkeypatch.setattr(told_everywhere, "PATIENCE", 0.05)
    context, others = one_is_late(world)
    world.broker.make("org..new", retention_ms="1")
    await context.cluster.refresh()
    assert await late_configs(context, {"org..new": {KEY: "1"}}) == {"org..new"}

    others.read = LATE_ONE
    await alter_namespace(context, "org", lambda _: [Operation(KEY, SET, "2")])
    assert world.broker.topics["org..new"].configs == {KEY: "1"}
    assert applying(world) == (KEY,)
    others.late = False
    await apply_namespace(context, "org")
    assert world.broker.topics["org..new"].configs == {KEY: "2"}
    assert applying(world) == ()


LATE_ONE = ("broker", 9093)


class OtherBrokers:
    """Two brokers; while ``late``, the second goes on returning the former configs. ``read`` is the
    broker that describes if no broker is named."""

    def __init__(self, broker: FakeBroker) -> None:
        self.late = True
        self.read: tuple[str, int] | None = None
        self._broker = broker
        self._before = deepcopy(broker.topics)

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        if self.read is not None and request.name == "DescribeConfigsRequest":
            return await self.ask_at(self.read, request)
        return await self._broker.ask(request, changes=changes)

    async def ask_at(
        self, address: tuple[str, int], request: Request, *, within: float | None = None
    ) -> Any:
        known = self._broker.topics
        if self.late and address == LATE_ONE:
            self._broker.topics = self._before
        try:
            return await self._broker.ask(request, changes=False)
        finally:
            self._broker.topics = known


def one_is_late(world: World) -> tuple[Context, OtherBrokers]:
    """The context of a gateway of two brokers, of which the second is late from now on."""
    gateway = world.gateway()
    gateway.cluster.brokers = {1: ("broker", 9092), 2: LATE_ONE}
    others = OtherBrokers(world.broker)
    return replace(gateway.context, admin=others), others
