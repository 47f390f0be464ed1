"""A running gateway is listed among the brokers, again or for the first time."""

from __future__ import annotations

from gateway.catalog.entities import CatalogFormat, Gateway, Member, Removal
from gateway.catalog.fleet import Membership
from gateway.changes.jobs.background import LISTING, FleetMembership
from gateway.changes.jobs.job_runner import Task
from tests.changes.fakes import World

AT = {"all": "gw.example:9201"}
TASK = Task(LISTING, "gw-a", 0)


async def test_one_that_was_forgotten_is_listed_again() -> None:
    world = World()
    job = FleetMembership(world.gateway().context, Membership("gw-a", AT))
    assert list(job.tasks(world.snapshot)) == [TASK]
    await job.run(TASK)
    assert list(job.tasks(world.snapshot)) == []
    assert world.snapshot.members == {"gw-a": Member("gw-a", 1, AT)}
    world.log.append([Member("gw-a", 1, {"all": "other.example:9201"})])
    assert list(job.tasks(world.snapshot)) == [], "another gateway has the same id"
    world.log.append([Removal(("member", "gw-a"))])
    assert list(job.tasks(world.snapshot)) == [TASK]


def test_one_without_addresses_is_not_listed() -> None:
    world = World()
    job = FleetMembership(world.gateway().context, Membership("gw-a", {}))
    assert list(job.tasks(world.snapshot)) == []


async def test_it_waits_until_every_gateway_can_read_it() -> None:
    world = World()
    world.log.append([CatalogFormat(3), Gateway("old", 3, "0.1")])
    job = FleetMembership(world.gateway().context, Membership("gw-a", AT))
    assert list(job.tasks(world.snapshot)) == []
    world.log.append([Gateway("old", 4, "0.2")])
    assert list(job.tasks(world.snapshot)) == [TASK]
    await job.run(TASK)
    assert (world.snapshot.format, list(world.snapshot.members)) == (4, ["gw-a"])
