"""Deletion of a marked namespace (KIP-37: Delete): its topics first, then everything below and it.

Any process does it, several at once if need be, from whatever state a crash has left. Topics are
deleted by id where the broker has ids: a process that is late cannot hit a topic that was made
anew. The namespace goes when a listing shows it empty that began at least SETTLE_TIME after this
process had seen the mark: whoever had begun to make a topic in it by then has noticed and taken it
back (gateway/changes/topics/create_topics.py).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from gateway.catalog.entities import Change, Removal, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.acls.acl_moves import inside
from gateway.changes.base.broker import delete_at_broker
from gateway.changes.base.context import Context
from gateway.changes.inheritance.inherited import topics_in
from gateway.changes.jobs.runner import Task
from gateway.views.spelling import below

log = logging.getLogger(__name__)

KIND: Final = "deletion of namespace"

SETTLE_TIME: Final = 2000
"""Milliseconds from seeing the mark to the listing that counts."""

BATCH: Final = 100
"""Topics in one DeleteTopics request."""

ACLS_AT_ONCE: Final = 5_000
"""Patterns of ACLs in one transaction besides the last one; what is marked they cannot open."""

_REFUSED_AGAIN: Final = 5.0


def task_of(snapshot: Snapshot, path: str) -> Task | None:
    """The task of deleting this namespace; None unless it is marked."""
    found = snapshot.namespaces.get(path)
    return None if found is None or found.deleting is None else Task(KIND, path, found.deleting)


class NamespaceDeletion:
    """The job. ``context`` is the worker's."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._seen: dict[Task, int] = {}

    def tasks(self, snapshot: Snapshot) -> Iterator[Task]:
        """One for each marked namespace."""
        for path in sorted(snapshot.deleting):
            task = task_of(snapshot, path)
            if task is not None:
                yield task

    async def run(self, task: Task) -> float | None:
        """Delete topics; remove the namespace as soon as it is known to be empty.

        Raises OSError when the cluster or the catalog is away.
        """
        context = self._context
        await context.catalog.refresh()
        if task_of(context.catalog.snapshot, task.about) != task:
            self._seen.pop(task, None)
            return None
        seen = self._seen.setdefault(task, context.clock())
        begun = context.clock()
        await context.cluster.refresh()
        names = list(context.cluster.index.names())
        flats = topics_in(context.catalog.snapshot, names, task.about)
        for start in range(0, len(flats), BATCH):
            refused = await self._delete(task, flats[start : start + BATCH])
            if refused:
                return _REFUSED_AGAIN
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
        """Delete topics and their entries; whether the broker refused any of them."""
        index = self._context.cluster.index
        ids = {flat: index.id_of(flat.encode()) for flat in flats}
        outcomes = await delete_at_broker(self._context, ids)
        gone = [flat for flat, outcome in outcomes.items() if outcome.gone]
        if any(flat in self._context.catalog.snapshot.topics for flat in gone):
            await self._context.catalog.change(lambda newest: _without(newest, task, gone))
        refused = {flat: outcome for flat, outcome in outcomes.items() if not outcome.gone}
        for flat, outcome in refused.items():
            log.warning("topic %r stays: error %d, %s", flat, outcome.code, outcome.message)
        return bool(refused)


def removals(snapshot: Snapshot, task: Task) -> list[Change]:
    """What ends the deletion: the namespace goes with all below it, with every entry of a topic
    in it (the topics are gone), every alias in it of a topic elsewhere, and its ACLs."""
    if not _marked(snapshot, task):
        return []
    path = task.about
    changes: list[Change] = []
    for entry in snapshot.topics.values():
        if below(entry.name.namespace, path) is not None:
            changes.append(Removal(key_of(entry)))
        elif any(below(alias.name.namespace, path) is not None for alias in entry.aliases):
            kept = tuple(a for a in entry.aliases if below(a.name.namespace, path) is None)
            changes.append(replace(entry, aliases=kept))
    changes += inside(snapshot, path)
    paths = [*reversed(snapshot.below(path)), path]
    return [*changes, *(Removal(("namespace", each)) for each in paths)]


def some_acls(snapshot: Snapshot, task: Task) -> list[Change]:
    """The removal of as many ACLs in a marked namespace as one transaction takes well."""
    return (
        list(islice(inside(snapshot, task.about), ACLS_AT_ONCE)) if _marked(snapshot, task) else []
    )


def _marked(snapshot: Snapshot, task: Task) -> bool:
    return task_of(snapshot, task.about) == task


def _without(snapshot: Snapshot, task: Task, gone: Sequence[str]) -> list[Change]:
    """The entries of topics of the namespace that are gone, removed."""
    if not _marked(snapshot, task):
        return []
    entries = (snapshot.topics[flat] for flat in gone if flat in snapshot.topics)
    return [Removal(key_of(e)) for e in entries if below(e.name.namespace, task.about) is not None]
