"""Ends freezes whose makers have ended; without this their names would stay frozen."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gateway.catalog.freezes import expired, freezes_in, thaw
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import Context
from gateway.changes.jobs.job_runner import Task

log = logging.getLogger(__name__)

THAWING: Final = "end of freeze"


@dataclass(frozen=True, slots=True)
class Thawing:
    """Ends freezes that have lasted longer than any change takes. ``context``: the worker's."""

    context: Context

    def tasks(self, snapshot: Snapshot) -> Iterator[Task]:
        """A task for each freeze that has expired."""
        for freeze in expired(snapshot, self.context.clock()):
            yield Task(THAWING, freeze.freeze_id, freeze.until)

    async def run(self, task: Task) -> None:
        """End the freeze; its change is not made any more. Raises OSError if the catalog cannot be
        reached."""
        context = self.context
        await context.catalog.refresh()
        freeze = freezes_in(context.catalog.snapshot).get(task.about)
        if freeze is not None:
            await context.catalog.change(lambda snapshot: thaw(snapshot, freeze))
            log.warning("names that were frozen for a change are free again: its maker is gone")
