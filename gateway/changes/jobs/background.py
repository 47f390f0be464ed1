"""The list of all background jobs of a worker, and the small jobs: configs, registration, expiry.

Housekeeping removes expired aliases, entries of topics that were never created, and entries of
topics that were created so long ago that every listing has them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from gateway import version
from gateway.catalog.entities import Change, Removal, TopicEntry, key_of
from gateway.catalog.fleet import Membership
from gateway.catalog.members import register
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import Context
from gateway.changes.base.inherited import settled
from gateway.changes.jobs.end_topic_removal import EndTopicRemoval
from gateway.changes.jobs.group_removal import GroupRemoval
from gateway.changes.jobs.job_runner import Job, JobRunner, Task
from gateway.changes.jobs.namespace_deletion import NamespaceDeletion
from gateway.changes.jobs.thawing import Thawing
from gateway.changes.namespaces.namespace_configs import apply_namespace, apply_topic
from gateway.changes.topics.create_plan import is_left_over

log = logging.getLogger(__name__)

OF_NAMESPACE: Final = "namespace configs"
OF_TOPIC: Final = "topic configs"
ALIASES: Final = "removal of expired aliases"
CREATING: Final = "end of topic creations"
REGISTRATION: Final = "registration of gateway"
LISTING: Final = "listing of gateway among brokers"

_LOOK_AGAIN: Final = 5_000
"""Milliseconds between two checks of all entries."""


def background_jobs(
    context: Context,
    gateway_id: str,
    further: Iterable[Job] = (),
    membership: Membership | None = None,
    groups: GroupRemoval | None = None,
) -> JobRunner:
    """The runner of all jobs, not started yet.

    ``further``: the jobs of a tree's volume. ``groups`` deletes the groups of deleted namespaces.
    """
    jobs: list[Job] = [
        NamespaceDeletion(context, groups),
        EndTopicRemoval(context),
        ApplyJob(context),
        Housekeeping(context),
        Registration(context, gateway_id, version()),
        Thawing(context),
        *further,
    ]
    if membership is not None:
        jobs.append(FleetMembership(context, membership))
    return JobRunner(context, jobs)


@dataclass(frozen=True, slots=True)
class ApplyJob:
    """Applies configs that topics inherit (gateway/changes/namespaces/namespace_configs.py)."""

    context: Context

    def tasks(self, snapshot: Snapshot) -> Iterator[Task]:
        """A task for each namespace, and for each topic, with configs that wait to be applied."""
        for path, namespace in snapshot.namespaces.items():
            if namespace.apply and namespace.deleting is None:
                yield Task(OF_NAMESPACE, path, namespace.apply_since)
        for flat, entry in snapshot.topics.items():
            if entry.apply:
                yield Task(OF_TOPIC, flat, entry.since)

    async def run(self, task: Task) -> None:
        """Apply all of the task's configs. Raises OSError."""
        apply = apply_namespace if task.kind == OF_NAMESPACE else apply_topic
        await apply(self.context, task.about)


class Registration:
    """Registers a running gateway in the catalog whenever its record is missing.

    The gateways' versions limit the format that the catalog may have. So a gateway that runs
    without a record would be ignored when the format is raised. ``software``: the gateway's
    version.
    """

    def __init__(self, context: Context, gateway_id: str, software: str) -> None:
        self._context = context
        self._gateway_id = gateway_id
        self._register = register(gateway_id, software)

    def tasks(self, snapshot: Snapshot) -> Iterator[Task]:
        """A task while the catalog has no record of this gateway."""
        if self._gateway_id not in snapshot.gateways:
            yield Task(REGISTRATION, self._gateway_id, 0)

    async def run(self, task: Task) -> None:
        """Write the record. Raises OSError if the catalog cannot be reached."""
        await self._context.catalog.change(self._register)


@dataclass(frozen=True, slots=True)
class FleetMembership:
    """Makes a running gateway a member of its fleet, which gateways list as a node beside the
    brokers, if the catalog does not have it, as soon as every gateway can read such records.

    A gateway counts as listed with any addresses. So of two gateways with the same id the last to
    start is listed, and they do not overwrite each other's record by turns.
    """

    context: Context
    membership: Membership

    def tasks(self, snapshot: Snapshot) -> Iterator[Task]:
        """A task while the gateway is not listed, should be, and can be."""
        membership = self.membership
        listed = membership.gateway_id in snapshot.members or not membership.addresses
        if not listed and membership.is_possible(snapshot):
            yield Task(LISTING, membership.gateway_id, 0)

    async def run(self, task: Task) -> None:
        """Write the record. Raises OSError if the catalog cannot be reached."""
        for decide in self.membership.decisions:
            await self.context.catalog.change(decide)


class Housekeeping:
    """Removes expired parts of topics' entries. ``context``: the worker's."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._look_at = 0
        self._found: list[Task] = []

    def tasks(self, snapshot: Snapshot) -> Iterator[Task]:
        """At most one task of each kind; all entries are checked every few seconds."""
        now = self._context.clock()
        if now >= self._look_at:
            self._look_at = now + _LOOK_AGAIN
            self._found = []
            if any(_has_expired(entry, now) for entry in snapshot.topics.values()):
                self._found.append(Task(ALIASES, "", 0))
            if any(is_left_over(entry, now) for entry in snapshot.topics.values()):
                self._found.append(Task(CREATING, "", 0))
        yield from self._found

    async def run(self, task: Task) -> None:
        """Execute one of the tasks. Raises OSError if the cluster or the catalog cannot be
        reached."""
        context = self._context
        await context.catalog.refresh()
        if task.kind == ALIASES:
            now = context.clock()
            await context.catalog.change(lambda snapshot: _without_expired(snapshot, now))
        else:
            await self._end_creations()
        self._look_at = 0

    async def _end_creations(self) -> None:
        """Settle entries that are ``creating`` or ``counted`` for too long. If the topic is there,
        every gateway's listing has it by now, so both are cleared. If it is not, and the entry is
        ``creating``, its creation failed or its process died: the entry goes."""
        context = self._context
        now = context.clock()
        entries = context.catalog.snapshot.topics.values()
        overdue = [entry for entry in entries if is_left_over(entry, now)]
        await context.cluster.refresh()
        index = context.cluster.index
        exists = {entry.flat: index.exists(entry.flat.encode()) for entry in overdue}

        def decide(snapshot: Snapshot) -> list[Change]:
            return [
                Removal(key_of(entry))
                if entry.creating and not exists[entry.flat]
                else settled(snapshot, replace(entry, creating=False, counted=0))
                for entry in overdue
                if snapshot.topics.get(entry.flat) == entry
            ]

        await context.catalog.change(decide)


def _without_expired(snapshot: Snapshot, now: int) -> list[Change]:
    """The entries without their expired aliases. The topics and their names stay, and an entry that
    holds only the name in its flat name is removed."""
    return [
        settled(snapshot, replace(entry, aliases=tuple(a for a in entry.aliases if a.until > now)))
        for entry in snapshot.topics.values()
        if _has_expired(entry, now)
    ]


def _has_expired(entry: TopicEntry, now: int) -> bool:
    return any(alias.until <= now for alias in entry.aliases)
