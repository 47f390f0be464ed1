"""Housekeeping: aliases that have expired, entries of topics that were never made, and of those
that were made so long ago that listings tell of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from gateway.catalog.entities import Change, Removal, TopicEntry, key_of
from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.context import Context
from gateway.changes.inheritance.inherited import settled
from gateway.changes.jobs.runner import Task
from gateway.changes.topics.create_plan import is_left_over

ALIASES: Final = "removal of expired aliases"
CREATING: Final = "end of topic creations"

_LOOK_AGAIN: Final = 5_000
"""Milliseconds between two looks through all entries."""


class Housekeeping:
    """The job. ``context`` is the worker's."""

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
        """Do it. Raises OSError when the cluster or the catalog is away."""
        context = self._context
        await context.catalog.refresh()
        if task.kind == ALIASES:
            now = context.clock()
            await context.catalog.change(lambda snapshot: without_expired(snapshot, now))
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


def without_expired(snapshot: Snapshot, now: int) -> list[Change]:
    """The entries that lose aliases; the topic and its own name stay as they are, and an entry
    that says nothing more than its flat name goes."""
    return [
        settled(
            snapshot,
            replace(entry, aliases=tuple(alias for alias in entry.aliases if alias.until > now)),
        )
        for entry in snapshot.topics.values()
        if _has_expired(entry, now)
    ]


def _has_expired(entry: TopicEntry, now: int) -> bool:
    return any(alias.until <= now for alias in entry.aliases)
