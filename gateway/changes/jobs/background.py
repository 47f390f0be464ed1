"""The background jobs that every worker has, and those of them that are small."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gateway import version
from gateway.catalog.members import register
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import Context
from gateway.changes.inheritance.apply import apply_namespace, apply_topic
from gateway.changes.jobs.deletion_job import NamespaceDeletion
from gateway.changes.jobs.housekeeping import Housekeeping
from gateway.changes.jobs.runner import JobRunner, Task

OF_NAMESPACE: Final = "namespace configs"
OF_TOPIC: Final = "topic configs"
REGISTRATION: Final = "registration of gateway"


class ApplyJob:
    """Applies configs that topics inherit (gateway/changes/inheritance/apply.py)."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def tasks(self, snapshot: Snapshot) -> Iterator[Task]:
        """One a namespace, and one a topic, with configs that wait to be applied."""
        for path, namespace in snapshot.namespaces.items():
            if namespace.apply and namespace.deleting is None:
                yield Task(OF_NAMESPACE, path, namespace.apply_since)
        for flat, entry in snapshot.topics.items():
            if entry.apply:
                yield Task(OF_TOPIC, flat, entry.since)

    async def run(self, task: Task) -> float | None:
        """All of it. Raises OSError."""
        if task.kind == OF_NAMESPACE:
            await apply_namespace(self._context, task.about)
        else:
            await apply_topic(self._context, task.about)
        return None


class Registration:
    """Registers a running gateway in the catalog, whoever took it out.

    What it can read decides which format the catalog may have, so one that runs and is not
    registered would be forgotten when the format is raised. ``software`` is its version.
    """

    def __init__(self, context: Context, gateway_id: str, software: str) -> None:
        self._context = context
        self._gateway_id = gateway_id
        self._register = register(gateway_id, software)

    def tasks(self, snapshot: Snapshot) -> Iterator[Task]:
        """One while the catalog does not know this gateway."""
        if self._gateway_id not in snapshot.gateways:
            yield Task(REGISTRATION, self._gateway_id, 0)

    async def run(self, task: Task) -> None:
        """Do it. Raises OSError when the catalog is away."""
        await self._context.catalog.change(self._register)


def background_jobs(context: Context, gateway_id: str) -> JobRunner:
    """All of them, not started yet."""
    jobs = (
        NamespaceDeletion(context),
        ApplyJob(context),
        Housekeeping(context),
        Registration(context, gateway_id, version()),
    )
    return JobRunner(context, jobs)
