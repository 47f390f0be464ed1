"""If a topic of the default namespace, and the namespace that its name reads as, are created at the
same moment, one of the two is rejected, whatever comes between any two steps."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from gateway.changes.base.usage import LISTING_HOLDS
from gateway.changes.jobs.background import Housekeeping
from gateway.changes.topics.create_plan import CREATION_TIME
from gateway.error_codes import REQUEST_TIMED_OUT, TOPIC_ALREADY_EXISTS
from gateway.names import LogicalName
from tests.catalog.skipped_time import skipping
from tests.changes.admin_requests import Told, create, delete
from tests.changes.fake_broker import Step
from tests.changes.fakes import FakeGateway, World, once

PLANTED = "org__orders"
STEPS = 12
"""More steps than either of the two takes."""


def at(number: int, do: Callable[[], Awaitable[object]]) -> Step:
    """A step hook that calls ``do`` once, before the numbered step (0: the first)."""
    seen = -1

    async def step(_: str) -> None:
        nonlocal seen
        seen += 1
        if seen == number:
            await do()

    return step


async def told(gateway: FakeGateway, name: str, answers: dict[str, Told], **more: str) -> None:
    (answers[name],) = await create(gateway, name, configs=dict(more))


def check(world: World, answers: dict[str, Told]) -> None:
    """Assert that no client has a topic in another's namespace, and that the responses are true."""
    assert answers.keys() == {PLANTED, "org:"}
    is_there = {"org:": "org" in world.snapshot.namespaces, PLANTED: PLANTED in world.broker.topics}
    assert {name: answer.code == 0 for name, answer in answers.items()} == is_there
    assert not all(is_there.values())


@pytest.mark.parametrize("apart", [True, False], ids=["two gateways", "one gateway"])
@pytest.mark.parametrize("number", range(STEPS))
@pytest.mark.parametrize("first", [PLANTED, "org:"])
@skipping
async def test_the_other_one_comes_in_between(first: str, number: int, apart: bool) -> None:
    world = World()
    one = world.gateway()
    other = world.gateway() if apart else one
    second = "org:" if first == PLANTED else PLANTED
    answers: dict[str, Told] = {}
    world.step = at(number, lambda: told(other, second, answers))
    await told(one, first, answers)
    if second not in answers:  # the first request has fewer steps
        await told(other, second, answers)
    check(world, answers)


@pytest.mark.parametrize("number", range(STEPS))
@skipping
async def test_its_listing_lags_behind(number: int) -> None:
    """The gateway that creates the namespace has a broker that does not list the topic yet."""
    world = World()
    one, other = world.gateway(), world.gateway()
    other.cluster.lagging = {}
    answers: dict[str, Told] = {}
    world.step = at(number, lambda: told(other, "org:", answers))
    await told(one, PLANTED, answers)
    if "org:" not in answers:
        await told(other, "org:", answers)
    check(world, answers)
    assert answers[PLANTED].code == 0 or answers["org:"].code == 0


async def test_a_listing_is_of_use_for_a_while() -> None:
    """After some minutes the new topic's entry is gone, and with it the topics that a listing
    lacks."""
    world = World()
    gateway = world.gateway()

    async def late() -> None:
        world.clock.forward(seconds=LISTING_HOLDS / 1000 + 1)

    world.step = once("change", late)
    answers: dict[str, Told] = {}
    await told(gateway, "org:", answers)
    assert (answers["org:"].code, world.snapshot.namespaces) == (REQUEST_TIMED_OUT, {})


async def test_it_stands_in_the_way_until_every_listing_has_it() -> None:
    world = World()
    gateway = world.gateway()
    await create(gateway, PLANTED)
    entry = world.snapshot.topics[PLANTED]
    assert (entry.name, entry.creating) == (LogicalName("", PLANTED), False)
    world.clock.forward(seconds=CREATION_TIME / 1000 + 6)
    job = Housekeeping(gateway.context)
    for task in job.tasks(world.snapshot):
        await job.run(task)
    assert not world.snapshot.topics
    (rejected,) = await create(gateway, "org:")
    assert rejected.code != 0
    assert f"'{PLANTED}'" in rejected.message


async def test_a_new_topic_is_adopted_like_an_old_one() -> None:
    world = World()
    gateway = world.gateway()
    await create(gateway, PLANTED, "org..plain")
    (made,) = await create(gateway, "org:", configs={"gateway.adopt": "true"})
    assert made.code == 0, made.message
    assert world.snapshot.owner(PLANTED) == LogicalName("org", "orders")
    assert world.snapshot.owner("org..plain") == LogicalName("org", "plain")


async def test_a_second_try_leaves_the_entry_of_the_first() -> None:
    """Otherwise a namespace that was listed before the topic came would take it after all."""
    world = World()
    gateway = world.gateway()
    await create(gateway, PLANTED)
    entry = world.snapshot.topics[PLANTED]
    (again,) = await create(gateway, PLANTED)
    assert again.code == TOPIC_ALREADY_EXISTS
    assert world.snapshot.topics[PLANTED] == entry


async def test_a_deleted_one_stands_in_nobody_s_way() -> None:
    world = World()
    gateway = world.gateway()
    await create(gateway, PLANTED)
    (gone,) = await delete(gateway, PLANTED)
    assert gone.code == 0
    (made,) = await create(gateway, "org:")
    assert made.code == 0, made.message


async def test_other_names_pay_nothing_for_it() -> None:
    world = World()
    gateway = world.gateway()
    await create(gateway, "orders", "my-orders.v1", "_x", "__y")
    assert not world.log.decisions
    assert not world.snapshot.topics
