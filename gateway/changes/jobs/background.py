"""The background jobs that every worker has.

Deletion of a marked namespace (KIP-37: Delete): its topics first, then everything below and it. Any
process does it, several at once if need be, from whatever state a crash has left. Topics are
deleted by id where the broker has ids: a process that is late cannot hit a topic that was made
anew. The namespace goes when a listing shows it empty that began at least SETTLE_TIME after this
process had seen the mark: a process that had begun to make a topic in it has noticed by then, and
rolled back (gateway/changes/topics/create_topics.py).

Housekeeping: aliases that have expired, entries of topics that were never made, and of those that
were made so long ago that listings have them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from gateway import version
from gateway.catalog.entities import Change, Removal, TopicEntry, key_of
from gateway.catalog.fleet import Membership
from gateway.catalog.members import register
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acls.acl_moves import inside
from gateway.changes.base.broker import batches, delete_at_broker
from gateway.changes.base.context import Context
from gateway.changes.base.inherited import removed_topic, settled, topics_in
from gateway.changes.jobs.runner import Job, JobRunner, Task
from gateway.changes.jobs.shadow_removal import ShadowRemoval
from gateway.changes.namespaces.namespace_configs import apply_namespace, apply_topic
from gateway.changes.topics.create_plan import is_left_over
from gateway.names import below

log = logging.getLogger(__name__)

DELETION: Final = "deletion of namespace"
OF_NAMESPACE: Final = "namespace configs"
OF_TOPIC: Final = "topic configs"
ALIASES: Final = "removal of expired aliases"
CREATING: Final = "end of topic creations"
REGISTRATION: Final = "registration of gateway"
LISTING: Final = "listing of gateway among brokers"

SETTLE_TIME: Final = 2000
"""Milliseconds from seeing the mark of a namespace to the listing that counts."""

ACLS_AT_ONCE: Final = 5_000
"""Patterns of ACLs in one transaction besides the last one; what is marked they cannot open."""

_DELETE_AGAIN: Final = 5.0
"""Seconds until topics that the broker did not delete are tried again."""

_LOOK_AGAIN: Final = 5_000
"""Milliseconds between two looks through all entries."""


def background_jobs(
    context: Context,
    gateway_id: str,
    volumes: Mapping[int, Context] | None = None,
    membership: Membership | None = None,
) -> JobRunner:
    """The runner of all jobs, not started yet. ``volumes`` are those of the tree, by number; None:
    there is no tree."""
    jobs: list[Job] = [
        NamespaceDeletion(context),
        ApplyJob(context),
        Housekeeping(context),
        Registration(context, gateway_id, version()),
    ]
    if volumes is not None:
        jobs.append(ShadowRemoval(context, volumes))
    if membership is not None:
        jobs.append(Listing(context, membership))
    return JobRunner(context, jobs)


# -- deletion of namespaces ------------------------------------------------------------------------


def deletion_task(snapshot: Snapshot, path: str) -> Task | None:
    """The task of deleting this namespace; None unless it is marked."""
    found = snapshot.namespaces.get(path)
    if found is None or found.deleting is None:
        return None
    return Task(DELETION, path, found.deleting)


class NamespaceDeletion:
    """Deletes namespaces that are marked. ``context`` is the worker's."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._seen: dict[Task, int] = {}

    def tasks(self, snapshot: Snapshot) -> Iterator[Task]:
        """One for each marked namespace."""
        for path in sorted(snapshot.deleting):
            task = deletion_task(snapshot, path)
            if task is not None:
                yield task

    async def run(self, task: Task) -> float | None:
        """Delete topics; remove the namespace as soon as it is known to be empty.

        Raises OSError when the cluster or the catalog is away.
        """
        context = self._context
        await context.catalog.refresh()
        if deletion_task(context.catalog.snapshot, task.about) != task:
            self._seen.pop(task, None)
            return None
        seen = self._seen.setdefault(task, context.clock())
        begun = context.clock()
        await context.cluster.refresh()
        names = list(context.cluster.index.names())
        flats = topics_in(context.catalog.snapshot, names, task.about)
        for batch in batches(flats):
            if not await self._delete(task, batch):
                return _DELETE_AGAIN
        if flats:
            return 0.0
        wait = seen + SETTLE_TIME - begun
        if wait > 0:
            return wait / 1000
        while len(some_acls(context.catalog.snapshot, task)) == ACLS_AT_ONCE:
            await context.catalog.change(lambda snapshot: some_acls(snapshot, task))
        await context.catalog.change(lambda snapshot: removals(snapshot, task))
        self._seen.pop(task, None)
        return None

    async def _delete(self, task: Task, flats: Sequence[str]) -> bool:
        """Delete topics and their entries; whether the broker deleted all of them."""
        context = self._context
        ids = {flat: context.cluster.index.id_of(flat.encode()) for flat in flats}
        outcomes = await delete_at_broker(context, ids)
        gone = [flat for flat, outcome in outcomes.items() if outcome.gone]

        def without(snapshot: Snapshot) -> list[Change]:
            if deletion_task(snapshot, task.about) != task:
                return []
            entries = (snapshot.topics[flat] for flat in gone if flat in snapshot.topics)
            ours = (e for e in entries if below(e.name.namespace, task.about) is not None)
            return [change for entry in ours for change in removed_topic(snapshot, entry)]

        if any(flat in context.catalog.snapshot.topics for flat in gone):
            await context.catalog.change(without)
        for flat, outcome in outcomes.items():
            if not outcome.gone:
                log.warning("topic %r stays: error %d, %s", flat, outcome.code, outcome.message)
        return len(gone) == len(outcomes)


def removals(snapshot: Snapshot, task: Task) -> list[Change]:
    """The changes that end the deletion: the namespace goes with all below it, with every entry of
    a topic in it (the topics are gone), every alias and link in it of a topic elsewhere, and its
    ACLs."""
    path = task.about
    if deletion_task(snapshot, path) != task:
        return []
    changes: list[Change] = []
    for entry in snapshot.topics.values():
        if below(entry.name.namespace, path) is not None:
            changes += removed_topic(snapshot, entry)
        elif any(below(alias.name.namespace, path) is not None for alias in entry.aliases):
            kept = tuple(a for a in entry.aliases if below(a.name.namespace, path) is None)
            changes.append(replace(entry, aliases=kept))
    changes += [
        Removal(key_of(link))
        for link in snapshot.links.values()
        if below(link.name.namespace, path) is not None
    ]
    changes += inside(snapshot, path)
    paths = [*reversed(snapshot.below(path)), path]
    return [*changes, *(Removal(("namespace", each)) for each in paths)]


def some_acls(snapshot: Snapshot, task: Task) -> list[Change]:
    """The removal of as many ACLs in a marked namespace as one transaction takes well."""
    if deletion_task(snapshot, task.about) != task:
        return []
    return list(islice(inside(snapshot, task.about), ACLS_AT_ONCE))


# -- the others ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ApplyJob:
    """Applies configs that topics inherit (gateway/changes/namespaces/namespace_configs.py)."""

    context: Context

    def tasks(self, snapshot: Snapshot) -> Iterator[Task]:
        """One a namespace, and one a topic, with configs that wait to be applied."""
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
        """Write the record. Raises OSError when the catalog is away."""
        await self._context.catalog.change(self._register)


@dataclass(frozen=True, slots=True)
class Listing:
    """Lists a running gateway among the brokers whenever the catalog does not, and as soon as every
    gateway can read that.

    Under whatever addresses: of two gateways with one id the one that started last is listed, and
    they do not write by turns.
    """

    context: Context
    membership: Membership

    def tasks(self, snapshot: Snapshot) -> Iterator[Task]:
        """One task while the gateway is not listed, should be, and can be."""
        membership = self.membership
        listed = membership.gateway_id in snapshot.members or not membership.addresses
        if not listed and membership.is_possible(snapshot):
            yield Task(LISTING, membership.gateway_id, 0)

    async def run(self, task: Task) -> None:
        """Write the record. Raises OSError when the catalog is away."""
        for decide in self.membership.decisions:
            await self.context.catalog.change(decide)


class Housekeeping:
    """Removes what entries of topics need no more. ``context`` is the worker's."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._look_at = 0
        self._found: list[Task] = []

    def tasks(self, snapshot: Snapshot) -> Iterator[Task]:
        """At most one of each kind; a look through all entries is taken every few seconds."""
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
        """Do one of the tasks. Raises OSError when the cluster or the catalog is away."""
        context = self._context
        await context.catalog.refresh()
        if task.kind == ALIASES:
            now = context.clock()
            await context.catalog.change(lambda snapshot: _without_expired(snapshot, now))
        else:
            await self._end_creations()
        self._look_at = 0

    async def _end_creations(self) -> None:
        """A topic that exists was made, and every listing has it; the entry of one that does not
        goes."""
        context = self._context
        now = context.clock()
        entries = context.catalog.snapshot.topics.values()
        left = [entry for entry in entries if is_left_over(entry, now)]
        await context.cluster.refresh()
        index = context.cluster.index
        exists = {entry.flat: index.exists(entry.flat.encode()) for entry in left}

        def decide(snapshot: Snapshot) -> list[Change]:
            return [
                Removal(key_of(entry))
                if entry.creating and not exists[entry.flat]
                else settled(snapshot, replace(entry, creating=False, counted=0))
                for entry in left
                if snapshot.topics.get(entry.flat) == entry
            ]

        await context.catalog.change(decide)


def _without_expired(snapshot: Snapshot, now: int) -> list[Change]:
    """The entries that lose aliases; the topic and its own name stay as they are, and an entry
    that says nothing more than its flat name goes."""
    return [
        settled(snapshot, replace(entry, aliases=tuple(a for a in entry.aliases if a.until > now)))
        for entry in snapshot.topics.values()
        if _has_expired(entry, now)
    ]


def _has_expired(entry: TopicEntry, now: int) -> bool:
    return any(alias.until <= now for alias in entry.aliases)
