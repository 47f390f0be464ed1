"""Shadow topics are created and grown, by several workers at once."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest

from gateway.tree.shadow_topics import (
    ENSURE_SECONDS,
    FAILURE_HOLDS,
    KNOWN_SECONDS,
    SETTLED_SECONDS,
    ShadowTopics,
)
from protocol.messages import Request
from tests.changes.fake_broker import FakeBroker, Rejected
from tests.changes.fakes import FakeGateway, World

FIRST, SECOND = b"__kafka_gateway_far.2.first", b"__kafka_gateway_far.2.second"


def shadows_of(gateway: FakeGateway) -> ShadowTopics:
    return ShadowTopics(gateway.context, lambda: gateway.context.clock() / 1000)


def made(world: World) -> dict[bytes, int]:
    return {name.encode(): topic.partitions for name, topic in world.broker.topics.items()}


async def test_they_are_made_with_one_replica_and_grow() -> None:
    world = World([])
    shadows = shadows_of(world.gateway())
    assert not shadows.has(FIRST)
    await shadows.ensure({FIRST: 3, SECOND: 1})
    assert made(world) == {FIRST: 3, SECOND: 1}
    assert (shadows.has(FIRST, 3), shadows.has(FIRST, 4)) == (True, False)
    await shadows.ensure({FIRST: 5, SECOND: 1})
    assert made(world) == {FIRST: 5, SECOND: 1}
    (request,) = world.broker.requests("CreateTopicsRequest")
    assert {topic.replication_factor for topic in request.topics} == {1}
    configs = {(each.name, each.value) for topic in request.topics for each in topic.configs}
    assert configs == {("cleanup.policy", "delete")}


async def test_workers_do_it_at_once() -> None:
    world = World([])
    all_shadows = [shadows_of(world.gateway()) for _ in range(3)]
    wanted = ({FIRST: 2}, {FIRST: 3, SECOND: 1}, {SECOND: 4})
    await asyncio.gather(
        *(each.ensure(counts) for each, counts in zip(all_shadows, wanted, strict=True))
    )
    for each, counts in zip(all_shadows, wanted, strict=True):
        for name, count in counts.items():
            assert each.has(name, count)
    assert made(world) == {FIRST: 3, SECOND: 4}


async def test_requests_of_one_worker_share_the_work() -> None:
    world = World([])
    shadows = shadows_of(world.gateway())
    await asyncio.gather(*(shadows.ensure({FIRST: 2}) for _ in range(5)))
    assert len(world.broker.requests("CreateTopicsRequest")) == 1


async def test_a_cluster_that_wants_more_replicas() -> None:
    """A broker with create.topic.policy.class.name may reject a single replica."""
    world = World([])
    create = world.broker._create

    def picky(topic: Any, validate_only: bool, cls: type) -> dict[str, object]:
        if topic.replication_factor == 1:
            raise Rejected(44, "at least three replicas")
        return create(topic, validate_only, cls)

    world.broker._create = picky  # type: ignore[method-assign]
    shadows = shadows_of(world.gateway())
    await shadows.ensure({FIRST: 2})
    assert shadows.has(FIRST, 2)


async def test_what_failed_is_left_alone_for_a_while() -> None:
    world = World([])
    shadows = shadows_of(world.gateway())
    world.broker.down = True
    await shadows.ensure({FIRST: 2})
    assert (shadows.has(FIRST), shadows.due(FIRST), shadows.due(SECOND)) == (False, False, True)
    world.broker.down = False
    world.clock.forward(seconds=FAILURE_HOLDS)
    assert shadows.due(FIRST)
    await shadows.ensure({FIRST: 2})
    assert shadows.has(FIRST, 2)


async def test_a_doubted_shadow_was_deleted() -> None:
    world = World([])
    shadows = shadows_of(world.gateway())
    await shadows.ensure({FIRST: 2})
    world.clock.forward(seconds=5)
    del world.broker.topics[FIRST.decode()]
    assert shadows.has(FIRST, 2), "it is not known yet"
    assert shadows.doubt(FIRST)
    assert not shadows.has(FIRST)
    await shadows.ensure({FIRST: 2})
    assert made(world) == {FIRST: 2}
    assert shadows.has(FIRST, 2)
    assert not shadows.doubt(FIRST), "it was looked at just now"
    world.clock.forward(seconds=SETTLED_SECONDS)
    assert shadows.doubt(FIRST)


async def test_a_broker_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.tree.shadow_topics.ENSURE_SECONDS", 0.01)
    world = World([])

    async def hang(step: str) -> None:
        await asyncio.sleep(ENSURE_SECONDS)

    shadows = shadows_of(world.gateway())
    world.broker.step = hang
    await shadows.ensure({FIRST: 2})
    assert not shadows.has(FIRST)
    assert not shadows.due(FIRST)


class TwoBrokers:
    """A cluster in which one of two brokers never responds."""

    def __init__(self, broker: FakeBroker) -> None:
        self._broker = broker

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        return await self._broker.ask(request, changes=changes)

    async def ask_at(
        self, address: tuple[str, int], request: Request, *, within: float | None = None
    ) -> Any:
        await asyncio.Event().wait()


@pytest.mark.alone
async def test_a_silent_broker_holds_up_no_other_group() -> None:
    """Each group waits at most as long as a single group would, and no shadow counts as failed."""
    world = World([])
    gateway = world.gateway()
    gateway.cluster.brokers = {1: ("broker", 9092), 2: ("broker", 9093)}
    gateway.context = replace(gateway.context, admin=TwoBrokers(world.broker))
    shadows = shadows_of(gateway)
    names = [b"__kafka_gateway_far.2.%d" % number for number in range(8)]
    began = time.monotonic()
    await asyncio.gather(*(shadows.ensure({name: 1}) for name in names))
    assert time.monotonic() - began < 3 * KNOWN_SECONDS
    for name in names:
        assert shadows.has(name)
        assert shadows.due(name)
