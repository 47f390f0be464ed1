"""Registration: a running gateway stands in the catalog, whoever took it out.

What it can read decides which format the catalog may have, so one that runs and is not registered
would be forgotten when the format is raised.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gateway.catalog.members import register
from gateway.catalog.snapshot import Snapshot
from gateway.changes.context import Context
from gateway.changes.jobs import Task

KIND: Final = "registration of gateway"


class Registration:
    """The job. ``software`` is this gateway's version."""

    def __init__(self, context: Context, gateway_id: str, software: str) -> None:
        self._context = context
        self._gateway_id = gateway_id
        self._register = register(gateway_id, software)

    def tasks(self, snapshot: Snapshot) -> Iterator[Task]:
        """One while the catalog does not know this gateway."""
        if self._gateway_id not in snapshot.gateways:
            yield Task(KIND, self._gateway_id, 0)

    async def run(self, task: Task) -> None:
        """Do it. Raises OSError when the catalog is away."""
        await self._context.catalog.change(self._register)
