"""Topics that Metadata requests and the gateway creates: which, how often, and with what result."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from gateway.catalog.entities import Namespace
from gateway.catalog.source import ACTOR, Actor
from gateway.changes.base.virtual_configs import AUTO_CREATE, NUM_PARTITIONS
from gateway.changes.topics.auto_creation import (
    AT_ONCE,
    BROKERS_KEY,
    BROKERS_SETTING_HOLDS,
    FAILURE_HOLDS,
    MAX_UNDER_WAY,
    AutoCreation,
)
from gateway.cluster.link import ClusterUnreachable
from gateway.names import LogicalName
from gateway.policies.instance import PolicyError
from tests.changes.fakes import FakeGateway, World, allowed

ALICE = Actor("User:alice", api="Metadata")
ORDERS = LogicalName("org", "orders")


@dataclass
class Sides:
    """A gateway whose brokers respond as the test says; ``waiting`` is the work to be run."""

    gateway: FakeGateway
    brokers: Mapping[str, str | None] | Exception = field(default_factory=dict)
    waiting: list[Coroutine[Any, Any, None]] = field(default_factory=list)
    now: float = 100.0

    def __post_init__(self) -> None:
        self.asked = 0
        self.creation = AutoCreation(
            self.gateway.context, self.configs, self.waiting.append, clock=lambda: self.now
        )

    async def configs(self) -> Mapping[str, str | None]:
        self.asked += 1
        if isinstance(self.brokers, Exception):
            raise self.brokers
        return self.brokers

    async def run(self) -> None:
        while self.waiting:
            await self.waiting.pop(0)

    def begin(self, *names: LogicalName) -> int:
        """Begin to create topics; returns how many requests are under way then."""
        spelled = {name: str(name) for name in names}
        self.creation.begin(allowed(self.gateway), ALICE, spelled)
        return len(self.waiting)

    @property
    def created(self) -> list[list[str]]:
        """The topics of each CreateTopics request."""
        requests = self.gateway.broker.requests("CreateTopicsRequest")
        return [[topic.name for topic in request.topics] for request in requests]


def sides(settings: Mapping[str, str] | None = None, **more: Any) -> Sides:
    world = World(["org:inner"])
    world.log.append([replace(world.snapshot.namespaces["org"], settings=settings or {})])
    return Sides(world.gateway(), **more)


@pytest.mark.parametrize(
    ("settings", "brokers", "expected"),
    [
        ({}, "true", True),
        ({}, "false", False),
        ({AUTO_CREATE: "true"}, "false", True),
        ({AUTO_CREATE: "false"}, "true", False),
    ],
)
@pytest.mark.parametrize("namespace", ["org", "org:inner"])
async def test_the_namespace_says_so_or_the_brokers(
    namespace: str, settings: Mapping[str, str], brokers: str, expected: bool
) -> None:
    one = sides(settings, brokers={BROKERS_KEY: brokers})
    one.creation.start()
    await one.run()
    assert one.creation.allows(LogicalName(namespace, "new")) is expected
    assert one.creation.allows(LogicalName("", "a..b")) is (brokers == "true")


async def test_nothing_is_created_before_the_brokers_have_said_so() -> None:
    one = sides(brokers={BROKERS_KEY: "true"})
    assert not one.creation.allows(ORDERS)
    await one.run()
    assert one.creation.allows(ORDERS)


async def test_the_brokers_are_asked_again_now_and_then() -> None:
    one = sides(brokers={BROKERS_KEY: "true"})
    for _ in range(10):
        one.creation.allows(ORDERS)
        await one.run()
    assert one.asked == 1
    one.brokers = {BROKERS_KEY: "false"}
    one.now += BROKERS_SETTING_HOLDS
    assert one.creation.allows(ORDERS), "what is known holds until the answer is there"
    await one.run()
    assert not one.creation.allows(ORDERS)


@pytest.mark.parametrize(
    "failure", [PolicyError("not allowed"), ClusterUnreachable("main", {("b", 9092): "gone"})]
)
async def test_brokers_that_do_not_tell_create_nothing(failure: Exception) -> None:
    one = sides(brokers=failure)
    one.creation.start()
    await one.run()
    assert not one.creation.allows(ORDERS)
    one.brokers = {BROKERS_KEY: "true"}
    one.now += BROKERS_SETTING_HOLDS
    one.creation.allows(ORDERS)
    await one.run()
    assert one.creation.allows(ORDERS)


async def test_a_topic_gets_what_its_namespace_says() -> None:
    one = sides({NUM_PARTITIONS: "3"})
    one.gateway.catalog.log.append([Namespace("cfg", {"retention.ms": "5"})])
    one.begin(LogicalName("org:inner", "a"), LogicalName("cfg", "b"))
    await one.run()
    topics = one.gateway.broker.topics
    assert (topics["org.inner..a"].partitions, topics["cfg..b"].configs) == (
        3,
        {"retention.ms": "5"},
    )
    (request,) = one.gateway.broker.requests("CreateTopicsRequest")
    assert [(t.num_partitions, t.replication_factor) for t in request.topics] == [(3, -1), (-1, -1)]
    assert not request.validate_only


async def test_many_clients_ask_for_one_topic_and_it_is_created_once() -> None:
    one = sides()
    assert [one.begin(ORDERS) for _ in range(100)] == [1] * 100
    await one.run()
    assert one.created == [["org..orders"]]
    assert one.begin(ORDERS) == 1, "it could have been deleted since"
    await one.run()


async def test_what_failed_is_left_alone_for_a_moment(caplog: pytest.LogCaptureFixture) -> None:
    one = sides()
    gone = LogicalName("gone", "orders")
    one.begin(gone, ORDERS)
    await one.run()
    assert one.created == [["org..orders"]]
    (line,) = [record.getMessage() for record in caplog.records]
    assert "'gone:orders'" in line
    assert "namespace 'gone' does not exist" in line
    assert one.begin(gone) == 0
    one.now += FAILURE_HOLDS
    assert one.begin(gone) == 1
    await one.run()


async def test_one_that_exists_by_now_has_not_failed(caplog: pytest.LogCaptureFixture) -> None:
    one = sides()
    one.gateway.broker.make("org..orders")
    one.begin(ORDERS)
    await one.run()
    assert not caplog.records
    assert one.begin(ORDERS) == 1
    await one.run()


async def test_there_are_bounds() -> None:
    one = sides()
    names = [LogicalName("org", f"t{number}") for number in range(MAX_UNDER_WAY + 50)]
    assert one.begin(*names) == 1
    assert one.begin(*names[-50:]) == 1
    await one.run()
    assert len(one.gateway.broker.topics) == MAX_UNDER_WAY
    assert {len(created) for created in one.created} == {AT_ONCE}
    assert one.begin(*names[-50:]) == 1
    await one.run()
    assert len(one.gateway.broker.topics) == len(names)


async def test_a_catalog_that_is_away_is_no_end() -> None:
    one = sides()
    one.gateway.catalog.down = True
    one.begin(ORDERS)
    await one.run()
    one.gateway.catalog.down = False
    one.now += FAILURE_HOLDS
    one.begin(ORDERS)
    await one.run()
    assert one.created == [["org..orders"]]


async def test_it_is_told_who_asked_for_it() -> None:
    one = sides()
    seen: list[Actor] = []
    ask = one.gateway.broker.ask

    async def noted(*args: Any, **more: Any) -> Any:
        seen.append(ACTOR.get())
        return await ask(*args, **more)

    one.gateway.broker.ask = noted  # type: ignore[method-assign]
    one.begin(ORDERS)
    await one.run()
    assert seen == [ALICE]
