"""A running gateway registers itself again."""

from __future__ import annotations

from gateway.catalog.entities import Gateway, Removal
from gateway.catalog.log.records import FORMAT
from gateway.changes.jobs.background import REGISTRATION as KIND
from gateway.changes.jobs.background import Registration
from gateway.changes.jobs.job_runner import Task
from tests.changes.fakes import World


async def test_one_that_was_forgotten_registers_again() -> None:
    world = World()
    gateway = world.gateway()
    job = Registration(gateway.context, "g-1", "0.1")
    task = Task(KIND, "g-1", 0)
    assert list(job.tasks(world.snapshot)) == [task]
    await job.run(task)
    assert list(job.tasks(world.snapshot)) == []
    assert world.snapshot.gateways == {"g-1": Gateway("g-1", FORMAT, "0.1")}
    world.log.append([Removal(("gateway", "g-1"))])
    assert list(job.tasks(world.snapshot)) == [task]
