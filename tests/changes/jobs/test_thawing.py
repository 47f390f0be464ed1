"""If the process that made a freeze is gone, any other process ends the freeze."""

from __future__ import annotations

from gateway.catalog.entities import CatalogFormat, Freeze
from gateway.catalog.freezes import freezes_in
from gateway.catalog.schema.table import FREEZE_FORMAT
from gateway.changes.jobs.thawing import Thawing
from tests.changes.fakes import START, World


async def test_a_freeze_ends_when_its_time_is_over() -> None:
    world = World(["org"])
    world.log.append([CatalogFormat(FREEZE_FORMAT), Freeze("f", "gone", START + 1_000, ("org:x",))])
    job = Thawing(world.gateway().context)
    assert list(job.tasks(world.snapshot)) == []
    world.clock.forward(seconds=1)
    (task,) = job.tasks(world.snapshot)
    await job.run(task)
    assert not freezes_in(world.snapshot)
    await job.run(task)
    assert list(job.tasks(world.snapshot)) == []
