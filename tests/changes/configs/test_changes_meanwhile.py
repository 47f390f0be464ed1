"""Two changes at the same time, each of which policies allow: the later change sees the earlier."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gateway.catalog.entities import Namespace, TopicEntry
from gateway.changes.jobs.background import ApplyJob
from gateway.names import LogicalName
from tests.changes.admin_requests import codes, create, create_shaped
from tests.changes.config_requests import alter, deleting, moving, setting
from tests.changes.fake_broker import no_step
from tests.changes.fakes import FakeGateway, World, once
from tests.changes.judges import judge
from tests.changes.topics.test_create_partitions import grow

MOST = 604_800_000
TOO_LONG = setting(retention_ms=str(MOST + 1000))
STRICT = {"retention.ms": {"max": MOST}}
TIMED_OUT = 7


async def finish(gateway: FakeGateway) -> None:
    """Run the work that is left to background jobs."""
    job = ApplyJob(gateway.context)
    for task in list(job.tasks(gateway.context.catalog.snapshot)):
        await job.run(task)


class Meanwhile:
    """Calls ``do`` once, at a step in the middle of another change."""

    def __init__(self, world: World, do: Callable[[], Awaitable[Any]], at: int) -> None:
        self._world = world
        self._do = do
        self._left = at
        self.told: Any = None
        self.reached = False
        world.step = self

    async def __call__(self, name: str) -> None:
        self._left -= 1
        if self._left < 0 and not self.reached:
            self.reached = True
            self._world.step = no_step
            self.told = await self._do()


async def at_every_step(scenario: Callable[[int], Awaitable[bool]]) -> None:
    """Play a scenario with the other change at its first step, then at its second, and so on; it
    returns whether there was such a step."""
    steps = 0
    while await scenario(steps):
        steps += 1
    assert steps > 3


def retention(world: World, flat: str) -> int:
    return int(world.broker.topics[flat].configs.get("retention.ms") or 0)


async def test_a_topic_is_made_while_the_namespace_above_changes() -> None:
    async def scenario(at: int) -> bool:
        world = World(["org:apache"])
        one, two = (world.gateway(judge(namespaces={"org:apache": STRICT})) for _ in range(2))
        meanwhile = Meanwhile(world, lambda: alter(two, "org:", TOO_LONG), at)
        told = codes(await create(one, "org:apache:x"))
        await finish(one)
        is_made = "org.apache..x" in world.broker.topics
        assert is_made == (told == [0])
        assert not is_made or retention(world, "org.apache..x") <= MOST, (at, meanwhile.told)
        return meanwhile.reached

    await at_every_step(scenario)


async def test_two_namespaces_change() -> None:
    async def scenario(at: int) -> bool:
        world = World(["org:apache"])
        world.log.append([Namespace("org:apache", {"retention.ms": "1000"})])
        world.broker.make("org.apache..x", retention_ms="1000")
        one, two = (world.gateway(judge(namespaces={"org:apache": STRICT})) for _ in range(2))

        async def other() -> object:
            told = await alter(two, "org:apache:", deleting("retention.ms"))
            await finish(two)
            return told

        meanwhile = Meanwhile(world, other, at)
        told = await alter(one, "org:", TOO_LONG)
        await finish(one)
        assert retention(world, "org.apache..x") <= MOST, (at, told, meanwhile.told)
        assert (0, None) in (told, meanwhile.told), "one of the two is done"
        return meanwhile.reached

    await at_every_step(scenario)


@pytest.mark.parametrize("topic_first", [True, False])
async def test_a_topic_drops_its_own_while_the_namespace_changes(topic_first: bool) -> None:
    steps = [("org:apache:x", deleting("retention.ms")), ("org:", TOO_LONG)]
    outer, inner = steps if topic_first else reversed(steps)

    async def scenario(at: int) -> bool:
        name = LogicalName("org:apache", "x")
        entry = TopicEntry("org.apache..x", name, own_configs=("retention.ms",))
        world = World(["org:apache"], entries=[entry])
        world.broker.make("org.apache..x", retention_ms="1000")
        one, two = (world.gateway(judge(namespaces={"org:apache": STRICT})) for _ in range(2))

        async def other() -> object:
            told = await alter(two, *inner)
            await finish(two)
            return told

        meanwhile = Meanwhile(world, other, at)
        told = await alter(one, *outer)
        await finish(one)
        assert retention(world, "org.apache..x") <= MOST, (at, told, meanwhile.told)
        assert (0, None) in (told, meanwhile.told), "one of the two is done"
        return meanwhile.reached

    await at_every_step(scenario)


@pytest.mark.parametrize("name", ["free:x", "plain"])
@pytest.mark.parametrize("move_first", [True, False])
async def test_a_topic_is_altered_while_it_is_moved(name: str, move_first: bool) -> None:
    outer, inner = (moving("org"), TOO_LONG) if move_first else (TOO_LONG, moving("org"))
    flat = name.replace(":", "..")

    async def scenario(at: int) -> bool:
        world = World(["free", "org"])
        world.broker.make("free..x", "plain")
        one, two = (world.gateway(judge(namespaces={"org": STRICT})) for _ in range(2))
        meanwhile = Meanwhile(world, lambda: alter(two, name, inner), at)
        told = await alter(one, name, outer)
        await finish(one)
        is_strict = world.snapshot.owner(flat).namespace == "org"
        assert not (is_strict and retention(world, flat) > MOST), (at, told, meanwhile.told)
        assert (0, None) in (told, meanwhile.told), "one of the two is done"
        return meanwhile.reached

    await at_every_step(scenario)


async def test_what_was_set_is_put_back() -> None:
    """The move comes after the last look, when the change is on its way to the broker."""
    world = World(["free", "org"])
    world.broker.make("plain", retention_ms="5", max_message_bytes="9")
    one, two = (world.gateway(judge(namespaces={"org": STRICT})) for _ in range(2))
    told: list[object] = []

    async def other() -> None:
        told.append(await alter(two, "plain", moving("org")))

    world.broker.sent = once("sent IncrementalAlterConfigsRequest", other)
    changes = [*TOO_LONG, *setting(cleanup_policy="compact"), *deleting("max.message.bytes")]
    code, _ = await alter(one, "plain", changes)
    assert (code, told) == (TIMED_OUT, [(0, None)])
    held = world.broker.topics["plain"].configs
    assert held == {"retention.ms": "5", "max.message.bytes": "9"}


@pytest.mark.parametrize("limit", [{"partitions": {"max": 3}}, {"max_partitions": 3}])
@pytest.mark.parametrize("source", [{}, {"partitions": {"max": 100}}, {"max_partitions": 100}])
@pytest.mark.parametrize("move_first", [True, False])
async def test_a_topic_grows_while_it_is_moved(limit: Any, source: Any, move_first: bool) -> None:
    async def scenario(at: int) -> bool:
        world = World(["free", "org"])
        world.broker.make("free..x")
        one, two = (world.gateway(judge(namespaces={"org": limit, "free": source})) for _ in "12")
        moved, grown = (one, two) if move_first else (two, one)

        def move() -> Awaitable[Any]:
            return alter(moved, "free:x", moving("org"))

        def growing() -> Awaitable[Any]:
            return grow(grown, ("free:x", 50))

        meanwhile = Meanwhile(world, growing if move_first else move, at)
        told = await (move() if move_first else growing())
        is_strict = world.snapshot.owner("free..x").namespace == "org"
        partitions = world.broker.topics["free..x"].partitions
        assert not (is_strict and partitions > 3), (at, told, meanwhile.told)
        return meanwhile.reached

    await at_every_step(scenario)


async def test_what_grows_counts_wherever_it_is() -> None:
    async def scenario(at: int) -> bool:
        world = World(["org:a", "org:b"])
        world.broker.make("org.a..x")
        blocks = {"org:a": {"max_partitions": 1000}, "org:b": {"max_partitions": 60}}
        one, two, three = (world.gateway(judge(namespaces=blocks)) for _ in range(3))

        async def others() -> object:
            await alter(two, "org:a:x", moving("org:b"))
            return codes(await create_shaped(three, "org:b:y", partitions=50))

        meanwhile = Meanwhile(world, others, at)
        await grow(one, ("org:a:x", 50))
        topics = world.broker.topics
        inside = [flat for flat in topics if world.snapshot.owner(flat).namespace == "org:b"]
        assert sum(topics[flat].partitions for flat in inside) <= 60, (at, meanwhile.told)
        return meanwhile.reached

    await at_every_step(scenario)


async def test_it_counts_on_after_a_move_to_where_nothing_is_limited() -> None:
    world = World(["org", "free", "strict"])
    world.broker.make("org..x")
    blocks = {"org": {"max_partitions": 100}, "strict": {"max_partitions": 9}}
    one, two = (world.gateway(judge(namespaces=blocks)) for _ in range(2))
    told: list[tuple[int, str | None]] = []

    async def others() -> None:
        told.append(await alter(two, "org:x", moving("free")))
        assert world.snapshot.topics["org..x"].counted == 50
        told.append(await alter(two, "free:x", moving("strict")))

    world.step = once("ask CreatePartitionsRequest", others, nth=2)
    await grow(one, ("org:x", 50))
    (first, _), (second, text) = told
    assert (first, second) == (0, TIMED_OUT)
    assert "Partitions are just being added" in (text or "")
