"""Applying the configs that topics inherit: whole, after a crash anywhere, and by two at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

import pytest

from gateway.catalog.entities import Change, Namespace, TopicEntry
from gateway.changes.base.resources import DELETE, SET, Operation
from gateway.changes.jobs.background import ApplyJob
from gateway.changes.jobs.job_runner import Task
from gateway.changes.namespaces.namespace_configs import (
    NotApplied,
    applied,
    apply_namespace,
    apply_topic,
    operations,
    within_patience,
)
from gateway.names import LogicalName
from tests.changes.fake_broker import FakeTopic, Rejected
from tests.changes.fakes import Crash, World, crash_at, once

KEY = "retention.ms"
ORG_X = LogicalName("org", "x")


def late(value: str | None, since: int = 1, **more: str) -> Namespace:
    """A namespace ``org`` whose latest change has yet to be applied."""
    configs = {KEY: value} if value is not None else {}
    more = {key.replace("_", "."): text for key, text in more.items()}
    return Namespace("org", configs | more, apply=(KEY, *more), apply_since=since)


def world_with(*changes: Change) -> World:
    world = World(["org:apache", "team"])
    world.broker.make("org..x", "org.apache..y", "team..x", "orders")
    world.log.append(changes)
    return world


def configs(world: World, flat: str) -> dict[str, str]:
    return world.broker.topics[flat].configs


async def run_all(world: World) -> None:
    """Run the tasks that the runner of some worker runs sooner or later."""
    gateway = world.gateway()
    job = ApplyJob(gateway.context)
    for task in list(job.tasks(world.snapshot)):
        await job.run(task)


def test_tasks() -> None:
    entry = TopicEntry("orders", ORG_X, apply=True, since=7)
    quiet = TopicEntry("team..x", LogicalName("team", "x"), own_configs=(KEY,))
    deleting = Namespace("team", {KEY: "1"}, deleting=1, apply=(KEY,))
    world = world_with(late("1", 5), entry, quiet, deleting)
    job = ApplyJob(world.gateway().context)
    assert list(job.tasks(world.snapshot)) == [
        Task("namespace configs", "org", 5),
        Task("topic configs", "orders", 7),
    ]


async def test_both_kinds_are_done_and_the_catalog_says_so() -> None:
    entry = TopicEntry("orders", ORG_X, topic_id=b"i" * 16, own_configs=("segment.bytes",))
    world = world_with(late("1"), replace(entry, apply=True))
    configs(world, "orders").update({"segment.bytes": "9", "max.message.bytes": "8"})
    await run_all(world)
    assert configs(world, "org..x") == configs(world, "org.apache..y") == {KEY: "1"}
    assert configs(world, "orders") == {KEY: "1", "segment.bytes": "9"}
    assert configs(world, "team..x") == {}
    assert world.snapshot.namespaces["org"] == Namespace("org", {KEY: "1"}, apply_since=1)
    assert world.snapshot.topics["orders"] == entry
    asked = len(world.broker.asked)
    await run_all(world)
    assert len(world.broker.asked) == asked


async def test_what_is_there_already_is_not_written() -> None:
    world = world_with(late("1"))
    configs(world, "org..x")[KEY] = configs(world, "org.apache..y")[KEY] = "1"
    await run_all(world)
    assert world.broker.requests("IncrementalAlterConfigsRequest") == []
    assert world.snapshot.namespaces["org"].apply == ()


async def test_a_crash_at_any_step_is_made_good() -> None:
    for step in range(100):
        entry = TopicEntry("orders", LogicalName("", "orders"), apply=True)
        world = world_with(late("1"), entry)
        configs(world, "orders")[KEY] = "7"
        world.step = crash_at(step)
        try:
            await run_all(world)
        except Crash:
            crashed = True
        else:
            crashed = False
        world.step = crash_at(-2)
        await run_all(world)
        assert configs(world, "org..x") == configs(world, "org.apache..y") == {KEY: "1"}
        assert configs(world, "orders") == {}
        assert world.snapshot.topics == {}
        assert world.snapshot.namespaces["org"].apply == ()
        if not crashed:
            return
    pytest.fail("a hundred steps were not enough")


STEPS = [
    ("list", 1),
    ("ask DescribeConfigsRequest", 1),
    ("asked DescribeConfigsRequest", 1),
    ("ask IncrementalAlterConfigsRequest", 1),
    ("asked IncrementalAlterConfigsRequest", 1),
    ("refresh", 1),
    ("change", 1),
    ("changed", 1),
]


@pytest.mark.parametrize(("at", "nth"), STEPS)
async def test_configs_that_change_meanwhile(at: str, nth: int) -> None:
    """The slower job does not have the last word."""
    world = world_with(late("1"))
    gateway = world.gateway()

    async def change() -> None:
        world.step = crash_at(-2)
        world.log.append([late("2", since=2)])
        await apply_namespace(world.gateway().context, "org")

    world.step = once(at, change, nth=nth)
    await apply_namespace(gateway.context, "org")
    assert configs(world, "org..x") == configs(world, "org.apache..y") == {KEY: "2"}
    assert world.snapshot.namespaces["org"] == Namespace("org", {KEY: "2"}, apply_since=2)


@pytest.mark.parametrize(("at", "nth"), STEPS)
async def test_a_topic_that_moves_meanwhile(at: str, nth: int) -> None:
    world = world_with(late("1"), Namespace("team", {KEY: "3"}))
    gateway = world.gateway()

    async def move() -> None:
        world.step = crash_at(-2)
        entry = TopicEntry("org..x", LogicalName("team", "z"), apply=True, since=2)
        world.log.append([entry])
        await apply_topic(world.gateway().context, "org..x")

    world.step = once(at, move, nth=nth)
    await apply_namespace(gateway.context, "org")
    await run_all(world)
    assert configs(world, "org..x") == {KEY: "3"}
    assert configs(world, "org.apache..y") == {KEY: "1"}
    assert not world.snapshot.topics["org..x"].apply


@pytest.mark.parametrize(("at", "nth"), STEPS)
async def test_a_moved_topic_that_moves_on(at: str, nth: int) -> None:
    first = TopicEntry("orders", LogicalName("org", "z"), apply=True, since=1)
    world = world_with(Namespace("org", {KEY: "1"}), Namespace("team", {KEY: "3"}), first)
    gateway = world.gateway()

    async def move() -> None:
        world.step = crash_at(-2)
        world.log.append(
            [TopicEntry("orders", LogicalName("team", "z"), topic_id=b"2" * 16, apply=True)]
        )

    if at == "list":
        at = "ask DescribeConfigsRequest"  # a single topic needs no listing
    world.step = once(at, move, nth=nth)
    await apply_topic(gateway.context, "orders")
    await run_all(world)
    assert configs(world, "orders") == {KEY: "3"}
    assert world.snapshot.topics["orders"].name == LogicalName("team", "z")


async def test_two_at_once() -> None:
    world = world_with(late("1"), TopicEntry("orders", ORG_X, apply=True))
    one, two = world.gateway(), world.gateway()

    async def breathe(_: str) -> None:
        await asyncio.sleep(0)

    world.step = breathe
    await asyncio.gather(
        apply_namespace(one.context, "org"),
        apply_namespace(two.context, "org"),
        apply_topic(one.context, "orders"),
        apply_topic(two.context, "orders"),
    )
    assert configs(world, "org..x") == configs(world, "orders") == {KEY: "1"}
    assert len(world.log.decisions) == 3  # the test's own, and a decision for each that is done


async def test_a_topic_that_is_deleted_meanwhile() -> None:
    world = world_with(late("1"), TopicEntry("orders", ORG_X, apply=True, topic_id=b"i" * 16))

    def delete() -> None:
        del world.broker.topics["org..x"], world.broker.topics["orders"]

    gateway = world.gateway()
    world.step = once("ask IncrementalAlterConfigsRequest", delete)
    await apply_namespace(gateway.context, "org")
    await apply_topic(gateway.context, "orders")
    assert configs(world, "org.apache..y") == {KEY: "1"}
    assert world.snapshot.namespaces["org"].apply == ()
    assert not world.snapshot.topics["orders"].apply


async def test_a_topic_that_does_not_take_them_is_told_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = world_with(late("soon"))
    with caplog.at_level(logging.WARNING):
        await run_all(world)
    assert "'org..x' does not take the configs" in caplog.text
    assert "Invalid value soon" in caplog.text
    assert world.snapshot.namespaces["org"].apply == ()


async def test_what_may_go_better_later_stays_to_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    world = world_with(late("1"))

    def not_now(*_: object) -> None:
        raise Rejected(41, "This is not the correct controller for this cluster.")

    with monkeypatch.context() as patched:
        patched.setattr(world.broker, "_alter", not_now)
        with pytest.raises(NotApplied):
            await run_all(world)
    assert world.snapshot.namespaces["org"].apply == (KEY,)
    await run_all(world)
    assert configs(world, "org..x") == {KEY: "1"}


@pytest.mark.parametrize("what", ["broker", "catalog"])
async def test_while_something_is_away_it_stays_to_be_done(what: str) -> None:
    world = world_with(late("1"))
    gateway = world.gateway()
    world.broker.down = what == "broker"
    gateway.catalog.down = what == "catalog"
    with pytest.raises(OSError, match=r"again|reachable"):
        await apply_namespace(gateway.context, "org")
    assert world.snapshot.namespaces["org"].apply == (KEY,)


async def test_more_topics_than_one_question_holds() -> None:
    world = world_with(late("1"))
    for number in range(250):
        world.broker.topics[f"org..t{number}"] = FakeTopic(number.to_bytes(16, "big"), {})
    await run_all(world)
    assert {configs(world, flat).get(KEY) for flat in world.broker.topics if "org" in flat} == {"1"}
    assert len(world.broker.requests("IncrementalAlterConfigsRequest")) == 3


# -- the plan --------------------------------------------------------------------------------------


def test_operations() -> None:
    entry = TopicEntry("org..x", ORG_X, own_configs=("own",))
    world = world_with(Namespace("org", {"own": "1", "same": "2", "new": "3"}), entry)
    dynamic = {"own": "9", "same": "2", "more": "4"}

    def planned(keys: tuple[str, ...] | None) -> list[Operation]:
        return operations(applied(world.snapshot, "org..x", dynamic, keys), dynamic)

    assert planned(None) == [Operation("more", DELETE), Operation("new", SET, "3")]
    assert planned(("own", "new", "gone")) == [Operation("new", SET, "3")]
    assert planned(("more",)) == [Operation("more", DELETE)]


# -- waiting ---------------------------------------------------------------------------------------


async def test_who_waits_too_long_goes_on_and_so_does_the_job() -> None:
    go, done = asyncio.Event(), asyncio.Event()

    async def job() -> None:
        await go.wait()
        done.set()

    await within_patience(job(), 0.01)
    assert not done.is_set()
    go.set()
    await asyncio.wait_for(done.wait(), 120)


async def test_who_is_cancelled_does_not_end_the_job() -> None:
    go, done = asyncio.Event(), asyncio.Event()

    async def job() -> None:
        await go.wait()
        done.set()

    waiting = asyncio.create_task(within_patience(job()))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait([waiting])
    go.set()
    await asyncio.wait_for(done.wait(), 120)


@pytest.mark.parametrize("error", [NotApplied, ConnectionError])
async def test_what_cannot_be_done_now_is_left(error: Callable[[str], OSError]) -> None:
    async def job() -> None:
        raise error("away")

    await within_patience(job())


async def test_a_defect_is_not_hidden() -> None:
    async def job() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await within_patience(job())
