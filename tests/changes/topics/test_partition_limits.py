"""Requests that add partitions are decided one after the other, and count from then on."""

from __future__ import annotations

import logging

import pytest

from gateway.catalog.entities import TopicEntry
from gateway.changes.jobs.background import Housekeeping
from gateway.changes.topics.create_partitions import Growth, over_limits, reserve, roll_back
from gateway.changes.topics.create_plan import CREATION_TIME
from gateway.names import LogicalName
from tests.changes.fakes import FakeGateway, World, once
from tests.changes.judges import judge

A = Growth("org..a", LogicalName("org", "a"), 4)
B = Growth("org..b", LogicalName("org", "b"), 3)


def world() -> World:
    made = World(["org", "free"])
    made.broker.make("org..a", "org..b")
    return made


def limited(one: World, most: int = 6) -> FakeGateway:
    return one.gateway(judge(namespaces={"org": {"max_partitions": most}}))


async def test_one_after_the_other() -> None:
    one = world()
    gateway = limited(one)
    _, rejected = await reserve(gateway.context, [A, B], "User:alice", one.clock())
    assert list(rejected) == ["org..b"]
    assert "would have 7 partitions" in rejected["org..b"].message
    assert {flat: entry.counted for flat, entry in one.snapshot.topics.items()} == {"org..a": 4}
    # The result is the same without a decision.
    again = over_limits(gateway.context, one.snapshot, [B], "User:alice", one.clock())
    assert list(again) == ["org..b"]
    assert await reserve(gateway.context, [], "User:alice", one.clock()) == ({}, {})


async def test_the_same_once_more_adds_nothing() -> None:
    one = world()
    gateway = limited(one, 5)
    for _ in range(2):
        assert (await reserve(gateway.context, [A], "User:alice", one.clock()))[1] == {}
    first, second = (decision[0] for decision in one.log.decisions)
    assert isinstance(first, TopicEntry)
    assert isinstance(second, TopicEntry)
    assert first.since < second.since, "two states of an entry are never equal"


async def test_two_gateways_at_once() -> None:
    one = world()
    first, second = limited(one), limited(one)

    async def other() -> None:
        assert (await reserve(second.context, [B], "User:bob", one.clock()))[1] == {}

    one.step = once("change", other)
    _, rejected = await reserve(first.context, [A], "User:alice", one.clock())
    assert list(rejected) == ["org..a"]


async def test_an_entry_keeps_what_it_says() -> None:
    one = world()
    held = TopicEntry("org..a", LogicalName("org", "a"), own_configs=("x",), since=9, counted=2)
    one.log.append([held])
    gateway = limited(one)
    reserved, _ = await reserve(gateway.context, [A], "User:alice", one.clock())
    entry = one.snapshot.topics["org..a"]
    assert (entry.own_configs, entry.counted) == (("x",), 4)
    await roll_back(gateway.context, reserved)
    entry = one.snapshot.topics["org..a"]
    assert (entry.own_configs, entry.counted) == (("x",), 2)


async def test_taking_back() -> None:
    one = world()
    gateway = limited(one)
    reserved, _ = await reserve(gateway.context, [A], "User:alice", one.clock())
    await roll_back(gateway.context, reserved)
    assert one.snapshot.topics == {}
    decisions = len(one.log.decisions)
    await roll_back(gateway.context, reserved)
    assert len(one.log.decisions) == decisions


@pytest.mark.parametrize("first_fails", [True, False])
async def test_another_growth_of_the_topic_counts_on(first_fails: bool) -> None:
    one = world()
    gateway = limited(one)
    first, _ = await reserve(gateway.context, [A], "User:alice", one.clock())
    second, _ = await reserve(gateway.context, [A], "User:bob", one.clock())
    await roll_back(gateway.context, first if first_fails else second)
    assert one.snapshot.topics["org..a"].counted == 4


async def test_what_cannot_be_taken_back_counts_for_a_while(
    caplog: pytest.LogCaptureFixture,
) -> None:
    one = world()
    gateway = limited(one)
    reserved, _ = await reserve(gateway.context, [A], "User:alice", one.clock())
    gateway.catalog.down = True
    with caplog.at_level(logging.WARNING):
        await roll_back(gateway.context, reserved)
    assert "count for a while" in caplog.text
    gateway.catalog.down = False
    one.clock.forward(seconds=CREATION_TIME / 1000 + 1)
    housekeeping = Housekeeping(gateway.context)
    for task in list(housekeeping.tasks(gateway.catalog.snapshot)):
        await housekeeping.run(task)
    assert one.snapshot.topics == {}


async def test_a_topic_of_mirrormakers_own_counts_once_it_is_larger_than_mirrormaker_makes_it() -> (
    None
):
    one = World(["org"])
    one.broker.make("org..mm2-offsets.A.internal")
    gateway = one.gateway(judge(namespaces={"org": {"max_partitions": 30, "max_topics": 1}}))
    name = LogicalName("org", "mm2-offsets.A.internal")
    for total, rejected in ((25, []), (30, []), (31, ["org..mm2-offsets.A.internal"])):
        growth = Growth("org..mm2-offsets.A.internal", name, total)
        found = over_limits(gateway.context, one.snapshot, [growth], "User:alice", one.clock())
        assert list(found) == rejected
