"""Deletion of a marked namespace (KIP-37: Delete): its topics first, then the namespaces below it
and the namespace itself.

Any process does this, several at once if need be, from any state that a crash has left. A late
process must not delete a topic that was created anew, in a namespace that was created anew. So a
listing counts only if the catalog, read again after the listing, still has the same mark; and
topics are deleted by the ids in that listing, if the broker has ids. Groups with the namespace's
prefix are deleted as well (``group_removal``). Views deny them from the mark on, so their members
leave.

The namespace is removed when a listing shows no topic in it except the end topic (``end_topic``),
because a topic that a late broker left out of a listing would belong to the default namespace from
then on. The end topic is created SETTLE_TIME after this process has seen the mark. A process that
had begun to create a topic in the namespace has noticed the mark by then, and rolled back
(gateway/changes/topics/create_topics.py).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from gateway.catalog.entities import Change, Removal, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import Outcome, batches, delete_at_broker
from gateway.changes.base.context import Context
from gateway.changes.base.inherited import removed_topic, topics_in
from gateway.changes.jobs.end_topic import end_topic, why_not_deletable, why_not_made
from gateway.changes.jobs.group_removal import GroupRemoval
from gateway.changes.jobs.job_runner import Task
from gateway.names import below, parents

log = logging.getLogger(__name__)

DELETION: Final = "deletion of namespace"

SETTLE_TIME: Final = 2000
"""Milliseconds from seeing the mark of a namespace to creating the end topic."""

LIST_AGAIN: Final = 0.1
"""Seconds until the broker is queried again for the end topic."""

_DELETE_AGAIN: Final = 5.0
"""Seconds until the broker is requested again to delete topics or groups that it did not delete."""


def deletion_task(snapshot: Snapshot, path: str) -> Task | None:
    """The task of deleting this namespace. None for a namespace that is not marked, and for a
    namespace below a marked namespace, whose task deletes it too."""
    found = snapshot.namespaces.get(path)
    if found is None or found.deleting is None:
        return None
    if not snapshot.deleting.isdisjoint(parents(path)[:-1]):
        return None
    return Task(DELETION, path, found.deleting)


@dataclass(slots=True)
class _Progress:
    """The state of one deletion in this process."""

    seen: int
    """When this process saw the mark, in milliseconds."""
    deletable: bool = False
    """Whether the broker would delete the end topic."""
    without_end: bool = False
    """Whether the broker rejects the creation of the end topic."""


class NamespaceDeletion:
    """Deletes namespaces that are marked. ``context``: the worker's. ``groups`` deletes their
    groups."""

    def __init__(self, context: Context, groups: GroupRemoval | None = None) -> None:
        self._context = context
        self._groups = groups
        self._progress: dict[Task, _Progress] = {}

    def tasks(self, snapshot: Snapshot) -> Iterator[Task]:
        """A task for each marked namespace."""
        found = [deletion_task(snapshot, path) for path in sorted(snapshot.deleting)]
        tasks = [task for task in found if task is not None]
        for over in self._progress.keys() - set(tasks):
            del self._progress[over]
        yield from tasks

    async def run(self, task: Task) -> float | None:
        """Delete topics; remove the namespace as soon as it is known to be empty.

        Raises OSError if the cluster or the catalog cannot be reached.
        """
        context = self._context
        if not await self._is_current(task):
            return None
        begun = context.clock()
        progress = self._progress.setdefault(task, _Progress(begun))
        progress.seen = min(progress.seen, begun)  # a clock that goes back must not hold it up
        end = end_topic(task.about, task.since)
        await context.cluster.refresh()
        # The topics learnt since the listing do not count: they may be the end topic alone.
        ended = end is not None and end.encode() in context.cluster.index.partitions
        ids = self._topics(task, end)
        if not await self._is_current(task):
            return None
        # On the catalog as it is now, because another process may have removed a moved topic's
        # entry.
        listed = [flat.encode() for flat in ids]
        flats = topics_in(context.catalog.snapshot, listed, task.about)
        for batch in batches(flats):
            if not await self._delete(task, {flat: ids[flat] for flat in batch}):
                return _DELETE_AGAIN
        if flats:
            return 0.0
        wait = progress.seen + SETTLE_TIME - begun
        if wait > 0:
            return wait / 1000
        if end is not None and not ended and await self._make_end(task, progress, end):
            return LIST_AGAIN
        return await self._remove(task, end)

    async def _is_current(self, task: Task) -> bool:
        """Whether the namespace still has the same mark in the newest catalog."""
        await self._context.catalog.refresh()
        return deletion_task(self._context.catalog.snapshot, task.about) == task

    def _topics(self, task: Task, end: str | None) -> dict[str, bytes | None]:
        """The listed topics of the namespace, without its end topic, with their ids."""
        index = self._context.cluster.index
        found = topics_in(self._context.catalog.snapshot, list(index.names()), task.about)
        return {flat: index.id_of(flat.encode()) for flat in found if flat != end}

    async def _make_end(self, task: Task, progress: _Progress, end: str) -> bool:
        """Create the end topic. False: the broker rejects it, and the listing is trusted as it
        is."""
        context = self._context
        if progress.without_end:
            return False
        why = None if progress.deletable else await why_not_deletable(context, end)
        if why is None:
            progress.deletable = True
            why = await why_not_made(context, end)
        if why is None:
            if not await self._is_current(task):
                # Another process has removed the namespace, and does not know of this end topic.
                await delete_at_broker(context, {end: None})
            return True
        progress.without_end = True
        log.warning(
            "namespace %r is deleted by a listing that may be late, as topic %r cannot be made and"
            " deleted again: error %d, %s",
            task.about,
            end,
            why.code,
            why.message,
        )
        return False

    async def _remove(self, task: Task, end: str | None) -> float | None:
        """Remove a namespace that has no topics any more: its groups, its end topic and its
        entries."""
        context = self._context
        snapshot = context.catalog.snapshot
        if self._groups is not None:
            still = partial(self._is_current, task)
            if not await self._groups.remove(snapshot, task.about, still):
                return _DELETE_AGAIN
        if end is not None:
            await delete_at_broker(context, {end: None})
        await context.catalog.change(lambda snapshot: removals(snapshot, task))
        if end is not None:
            # Another process may have created the end topic again before it could see the removal.
            # EndTopicRemoval deletes an end topic that is left nevertheless.
            await delete_at_broker(context, {end: None})
        return None

    async def _delete(self, task: Task, ids: Mapping[str, bytes | None]) -> bool:
        """Delete topics and their entries; returns whether the broker deleted all of them."""
        context = self._context
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
                log_stays(flat, outcome)
        return len(gone) == len(outcomes)


def log_stays(flat: str, outcome: Outcome) -> None:
    """Log that the broker does not delete a topic."""
    log.warning("topic %r stays: error %d, %s", flat, outcome.code, outcome.message)


def removals(snapshot: Snapshot, task: Task) -> list[Change]:
    """The changes that end the deletion. The namespace is removed with all namespaces below it, the
    entries of topics in it (the topics are deleted by then), the aliases and links in it of topics
    elsewhere, and its subscriptions of client metrics. Its ACLs were removed when it was marked
    (``namespaces/delete_namespaces.py``)."""
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
    changes += [
        Removal(key_of(one))
        for one in snapshot.client_metrics.values()
        if below(one.namespace, path) is not None
    ]
    paths = [*reversed(snapshot.below(path)), path]
    return [*changes, *(Removal(("namespace", each)) for each in paths)]
