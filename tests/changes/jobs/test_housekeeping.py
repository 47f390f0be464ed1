"""Expired aliases, and reservations that were abandoned."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.catalog.entities import Alias, TopicEntry
from gateway.changes.jobs.background import ALIASES, CREATING, Housekeeping
from gateway.changes.topics.create_plan import CREATION_TIME
from gateway.cluster.link import ClusterUnreachable
from gateway.names import LogicalName
from tests.changes.fakes import START, FakeGateway, World, once

SOON = Alias(LogicalName("", "soon"), START + 1000)
LATE = Alias(LogicalName("", "late"), START + 100_000)
MOVED = TopicEntry("flat", LogicalName("org", "x"), b"v" * 16, (SOON, LATE))
MADE = TopicEntry("org..y.1", LogicalName("org", "y"), creating=True, since=START)
NOT_MADE = TopicEntry("org..z.1", LogicalName("org", "z"), creating=True, since=START)
YOUNG = TopicEntry("org..u.1", LogicalName("org", "u"), creating=True, since=START + 5)


async def run_all(gateway: FakeGateway) -> list[str]:
    job = Housekeeping(gateway.context)
    tasks = list(job.tasks(gateway.catalog.snapshot))
    for task in tasks:
        await job.run(task)
    assert not list(job.tasks(gateway.catalog.snapshot))
    return [task.kind for task in tasks]


async def test_an_alias_goes_when_it_expires_and_no_earlier() -> None:
    world = World(["org"], [MOVED])
    gateway = world.gateway()
    world.clock.now = START + 999
    assert await run_all(gateway) == []
    world.clock.now = START + 1000
    assert await run_all(gateway) == [ALIASES]
    assert world.snapshot.topics == {"flat": replace(MOVED, aliases=(LATE,))}
    assert world.snapshot.entry_of(SOON.name) is None


async def test_the_end_of_creations() -> None:
    world = World(["org"], [MADE, NOT_MADE, YOUNG])
    world.broker.make("org..y.1")
    gateway = world.gateway()
    world.clock.now = START + CREATION_TIME - 1
    assert await run_all(gateway) == []
    world.clock.now = START + CREATION_TIME
    assert await run_all(gateway) == [CREATING]
    assert world.snapshot.topics == {
        "org..y.1": replace(MADE, creating=False),
        "org..u.1": YOUNG,
    }


async def test_who_comes_back_late_is_not_overruled() -> None:
    world = World(["org"], [NOT_MADE])
    gateway = world.gateway()
    world.clock.now = START + CREATION_TIME
    settled = replace(NOT_MADE, creating=False)
    world.step = once("change", lambda: world.log.append([settled]))
    await run_all(gateway)
    assert world.snapshot.topics == {"org..z.1": settled}


async def test_without_a_listing_nothing_is_removed() -> None:
    world = World(["org"], [NOT_MADE])
    gateway = world.gateway()
    world.clock.now = START + CREATION_TIME
    world.broker.down = True
    with pytest.raises(ClusterUnreachable):
        await run_all(gateway)
    assert world.snapshot.topics


async def test_the_entries_are_looked_through_now_and_then() -> None:
    world = World(["org"])
    gateway = world.gateway()
    job = Housekeeping(gateway.context)
    world.clock.now = START + CREATION_TIME
    assert not list(job.tasks(world.snapshot))
    world.log.append([NOT_MADE])
    assert not list(job.tasks(world.snapshot))
    world.clock.forward(seconds=5)
    assert [task.kind for task in job.tasks(world.snapshot)] == [CREATING]
