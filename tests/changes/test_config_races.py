"""Two changes at once, the second whole between any two steps of the first; and crashes.

Every test tries every step there is.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace

import pytest

from gateway.catalog.entities import Namespace, TopicEntry
from gateway.changes.configs import alter_topics
from gateway.changes.jobs.background import ApplyJob
from gateway.names import LogicalName
from tests.changes.config_requests import (
    RELEASING,
    Change,
    alter,
    deleting,
    moving,
    setting,
)
from tests.changes.fake_broker import FakeTopic, no_step
from tests.changes.fakes import Crash, FakeGateway, World, crash_at

KEY = "retention.ms"
NONE_LEFT = 200


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the other change, because here it goes on only afterwards."""
    monkeypatch.setattr(alter_topics, "JOB_PATIENCE", 0.0)


Other = Callable[[FakeGateway], Awaitable[object]]
Answer = tuple[int, str | None]


def new_world() -> World:
    world = World(["org:apache", "team"])
    world.log.append([Namespace("org", {KEY: "1"}), Namespace("team", {KEY: "2"})])
    world.broker.make("org..x", "org.apache..y", retention_ms="1")
    world.broker.make("team..z", retention_ms="2")
    world.broker.make("orders", segment_bytes="7")
    return world


@dataclass
class Meeting:
    """A way in which ``other`` met the request: the responses that both got."""

    world: World
    at: str
    first: Answer
    second: Answer


async def meetings(name: str, changes: list[Change], other: Other) -> AsyncIterator[Meeting]:
    """The request with ``other``, made by another gateway, before each of its steps in turn.

    Afterwards the background jobs have run, and the invariants are checked.
    """
    for number in range(NONE_LEFT):
        world = new_world()
        one, two = world.gateway(), world.gateway()
        seen: list[str] = []
        second: list[object] = []

        async def step(at: str) -> None:
            seen.append(at)  # noqa: B023
            if len(seen) == number + 1:  # noqa: B023
                world.step = no_step  # noqa: B023
                second.append(await other(two))  # noqa: B023

        world.step = step
        first = await alter(one, name, changes)
        if not second:
            return
        await run_jobs(world)
        check(world)
        answer = second[0] if isinstance(second[0], tuple) else (0, None)
        yield Meeting(world, seen[-1], first, answer)
    pytest.fail("there is no end to it")


async def run_jobs(world: World) -> None:
    """Run the jobs until nothing is left to do."""
    world.step = no_step
    gateway = world.gateway()
    job = ApplyJob(gateway.context)
    for _ in range(10):
        tasks = list(job.tasks(world.snapshot))
        if not tasks:
            return
        for task in tasks:
            await job.run(task)
    pytest.fail("the jobs do not come to an end")


def check(world: World) -> None:
    """Assert that every topic has a single name, which reaches it, and the configs that it inherits
    unless it has its own."""
    snapshot = world.snapshot
    names = [snapshot.owner(flat) for flat in world.broker.topics]
    assert len(set(names)) == len(names)
    for flat, topic in world.broker.topics.items():
        owner = snapshot.owner(flat)
        assert snapshot.flat_of(owner) == flat
        entry = snapshot.topics.get(flat)
        own = set() if entry is None else set(entry.own_configs)
        inherited = snapshot.effective_configs(owner.namespace)
        for key, (value, _) in inherited.items():
            assert key in own or topic.configs.get(key) == value, (flat, key)
        if owner.namespace:
            assert topic.configs.keys() <= own | inherited.keys(), flat


def asking(name: str, changes: list[Change]) -> Other:
    async def other(gateway: FakeGateway) -> Answer:
        return await alter(gateway, name, changes)

    return other


def configs(world: World, flat: str) -> dict[str, str]:
    return world.broker.topics[flat].configs


# -- moves -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["org:x", "orders"])
async def test_two_moves_of_one_topic(name: str) -> None:
    flat = {"org:x": "org..x"}.get(name, name)
    ways = set()
    async for met in meetings(name, moving("team"), asking(name, moving("org:apache"))):
        at_last = met.world.snapshot.owner(flat).namespace
        codes = (met.first[0], met.second[0])
        ways.add((*codes, at_last))
        assert met.first[0] == 0 or at_last == "org:apache"
    # By its former name it is not found once it is gone, so both never succeed.
    assert ways == {(3, 0, "org:apache"), (0, 3, "team")}


async def test_the_same_adoption_twice_at_once() -> None:
    async for met in meetings("orders", moving("team"), asking("orders", moving("team"))):
        assert (met.first, met.second) == ((0, None), (0, None))
        moves = [d for d in met.world.log.decisions for c in d if getattr(c, "apply", False)]
        assert len(moves) == 1


async def test_two_topics_to_one_name() -> None:
    ways = set()
    async for met in meetings("org:x", moving("team", "q"), asking("orders", moving("team", "q"))):
        ways.add((met.first[0], met.second[0]))
        assert met.world.snapshot.flat_of(LogicalName("team", "q")) in ("org..x", "orders")
    assert ways == {(36, 0), (0, 36)}


async def test_into_a_namespace_that_is_marked_for_deletion() -> None:
    async def mark(gateway: FakeGateway) -> None:
        world.log.append([replace(world.snapshot.namespaces["team"], deleting=1)])

    rejected = done = 0
    for number in range(NONE_LEFT):
        world = new_world()
        gateway = world.gateway()
        reached = 0

        async def step(_: str) -> None:
            nonlocal reached
            reached += 1
            if reached == number + 1:  # noqa: B023
                await mark(gateway)  # noqa: B023

        world.step = step
        code, message = await alter(gateway, "orders", moving("team"))
        if reached <= number:
            break
        entry = world.snapshot.topics.get("orders")
        if code:
            rejected += 1
            assert code == 17
            assert message is not None
            assert message.startswith("InvalidNamespaceException: namespace 'team' is being")
            assert entry is None
        else:
            done += 1  # it is deleted with the namespace, like the topics in it before
            assert entry is not None
    assert rejected
    assert done


async def test_a_topic_of_the_new_name_is_made_meanwhile() -> None:
    """The client that makes it read the catalog before the move was there, so the move fails."""

    async def make(gateway: FakeGateway) -> None:
        if gateway.catalog.snapshot.flat_of(LogicalName("team", "x")) == "team..x":
            gateway.broker.topics["team..x"] = FakeTopic(b"t" * 16, {KEY: "2"})

    ways = set()
    async for met in meetings("org:x", moving("team"), make):
        made = "team..x" in met.world.broker.topics
        ways.add((met.first[0], made))
        stored = met.world.snapshot.owner("org..x")
        assert stored == (LogicalName("org", "x") if made else LogicalName("team", "x"))
        if made:
            assert met.first == (36, "Topic 'team:x' already exists.")
            assert met.world.snapshot.topics == {}
    assert ways == {(36, True), (0, False)}


async def test_a_release_and_a_move() -> None:
    async def moved_back(gateway: FakeGateway) -> Answer:
        return await alter(gateway, "org:orders", moving("team"))

    for number in range(NONE_LEFT):
        world = new_world()
        one, two = world.gateway(), world.gateway()
        await alter(one, "orders", moving("org"))
        reached = 0
        second: Answer | None = None

        async def step(_: str) -> None:
            nonlocal reached, second
            reached += 1
            if reached == number + 1:  # noqa: B023
                world.step = no_step  # noqa: B023
                second = await moved_back(two)  # noqa: B023

        world.step = step
        code, _ = await alter(one, "org:orders", RELEASING)
        if second is None:
            return
        await run_jobs(world)
        check(world)
        assert sorted((code, second[0])) == [0, 3]
        assert configs(world, "orders")["segment.bytes"] == "7"
        assert (KEY in configs(world, "orders")) == (second[0] == 0)
    pytest.fail("there is no end to it")


# -- configs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("changed", ["org:", "team:"])
async def test_a_namespace_s_configs_change_during_a_move(changed: str) -> None:
    change = [*setting(retention_ms="9", max_message_bytes="5")]
    async for met in meetings("org:x", moving("team"), asking(changed, change)):
        assert (met.first, met.second) == ((0, None), (0, None))
        expected = {KEY: "2"} if changed == "org:" else {KEY: "9", "max.message.bytes": "5"}
        assert configs(met.world, "org..x") == expected
        assert met.world.snapshot.topics["org..x"].own_configs == ()


@pytest.mark.parametrize("name", ["org:x", "orders"])
async def test_a_move_during_a_change_of_a_namespace_s_configs(name: str) -> None:
    flat = {"org:x": "org..x"}.get(name, name)
    change = setting(retention_ms="9", segment_bytes="8")
    for namespace in ("org:apache", "team"):
        async for met in meetings("org:", change, asking(name, moving(namespace))):
            assert (met.first, met.second) == ((0, None), (0, None))
            held = configs(met.world, flat)
            assert held[KEY] == ("9" if namespace == "org:apache" else "2")
            own = met.world.snapshot.topics[flat].own_configs
            assert own == (("segment.bytes",) if name == "orders" else ())
            assert held.get("segment.bytes") == (
                "7" if name == "orders" else "8" if namespace == "org:apache" else None
            )


@pytest.mark.parametrize("namespace", ["org:", "org:apache:"])
async def test_two_changes_of_configs(namespace: str) -> None:
    other = asking(namespace, setting(retention_ms="5", max_message_bytes="6"))
    async for met in meetings("org:", setting(retention_ms="9", segment_bytes="8"), other):
        assert (met.first, met.second) == ((0, None), (0, None))
        held = met.world.snapshot.effective_configs("org:apache")
        assert held.keys() == {KEY, "segment.bytes", "max.message.bytes"}


async def test_a_topic_s_own_config_is_never_lost_to_a_namespace() -> None:
    ways = set()
    other = asking("org:x", setting(retention_ms="77"))
    async for met in meetings("org:", setting(retention_ms="9"), other):
        ways.add(met.second[0])
        assert met.first == (0, None)
        if met.second[0] == 0:
            assert configs(met.world, "org..x") == {KEY: "77"}, met.at
            assert met.world.snapshot.topics["org..x"].own_configs == (KEY,)
        else:
            assert configs(met.world, "org..x") == {KEY: "9"}
    assert ways == {0, 7}  # while the other change is being applied and does not end
    other = asking("org:", setting(retention_ms="9"))
    async for met in meetings("org:x", setting(retention_ms="77"), other):
        assert (met.first, met.second) == ((0, None), (0, None))
        assert configs(met.world, "org..x") == {KEY: "77"}


async def test_a_topic_s_own_config_is_never_lost_to_a_move() -> None:
    for name, flat in (("org:x", "org..x"), ("orders", "orders")):
        set_one = setting(max_message_bytes="77")
        async for met in meetings(name, set_one, asking(name, moving("team"))):
            assert met.second == (0, None)
            held = configs(met.world, flat).get("max.message.bytes")
            own = met.world.snapshot.topics[flat].own_configs
            if met.first[0] == 0:
                assert (held, "max.message.bytes" in own) == ("77", True), met.at
            else:
                assert (met.first[0], held) == (3, None)


async def test_a_key_that_is_set_no_more_follows_the_namespace_again() -> None:
    async def set_and_change(gateway: FakeGateway) -> Answer:
        return await alter(gateway, "org:", setting(retention_ms="9"))

    for number in range(NONE_LEFT):
        world = new_world()
        one, two = world.gateway(), world.gateway()
        await alter(one, "org:x", setting(retention_ms="77"))
        reached = 0

        async def step(_: str) -> None:
            nonlocal reached
            reached += 1
            if reached == number + 1:  # noqa: B023
                world.step = no_step  # noqa: B023
                assert await set_and_change(two) == (0, None)  # noqa: B023

        world.step = step
        assert await alter(one, "org:x", deleting(KEY)) == (0, None)
        if reached <= number:
            return
        await run_jobs(world)
        check(world)
        assert configs(world, "org..x") == {KEY: "9"}
        assert world.snapshot.topics == {}
    pytest.fail("there is no end to it")


# -- crashes ---------------------------------------------------------------------------------------

ENTRY = TopicEntry("orders", LogicalName("org", "orders"), topic_id=b"i" * 16)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("org:x", moving("team")),
        ("org:x", moving("team", "q", "2030-01-01")),
        ("team:z", moving("")),
        ("org:", setting(retention_ms="9", segment_bytes="8")),
        ("org:", deleting(KEY)),
        ("org:x", setting(retention_ms="9")),
        ("org:x", setting(max_message_bytes="9")),
        ("org:orders", RELEASING),
        ("org:orders", deleting("segment.bytes")),
    ],
)
async def test_a_crash_at_any_step(name: str, changes: list[Change]) -> None:
    for number in range(NONE_LEFT):
        world = new_world()
        own = ("segment.bytes",)
        world.log.append([replace(ENTRY, own_configs=own)])
        configs(world, "orders")[KEY] = "1"
        before = {flat: world.snapshot.owner(flat) for flat in world.broker.topics}
        world.step = crash_at(number)
        try:
            await alter(world.gateway(), name, changes)
        except Crash:
            await run_jobs(world)
            check(world)
            moved = [f for f, was in before.items() if world.snapshot.owner(f) != was]
            assert len(moved) <= 1
            # A change that came through is whole: requested once more, it succeeds or had
            # succeeded.
            code, _ = await alter(world.gateway(), name, changes)
            assert code in (0, 3)
            await run_jobs(world)
            check(world)
        else:
            return
    pytest.fail("there is no end to it")
