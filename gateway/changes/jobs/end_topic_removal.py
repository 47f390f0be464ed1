"""Removal of end topics that were left over (``end_topic``) when a process ended before the last
step of a deletion, or when a broker created an end topic late."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic
from typing import Final

from gateway.catalog.snapshot import Snapshot
from gateway.changes.base.broker import delete_at_broker
from gateway.changes.base.context import Context
from gateway.changes.jobs.end_topic import end_topic
from gateway.changes.jobs.job_runner import Task
from gateway.changes.jobs.namespace_deletion import deletion_task, log_stays
from gateway.names import END_TOPIC, is_end_topic

END_TOPICS: Final = "removal of end topics"

LOOK_AGAIN: Final = 60.0
"""Seconds between two checks of all topics."""

_END_MARK: Final = END_TOPIC.encode()


class EndTopicRemoval:
    """Removes end topics of deletions that are over. ``context``: the worker's."""

    def __init__(self, context: Context, clock: Callable[[], float] = monotonic) -> None:
        """``clock`` returns seconds from any fixed point."""
        self._context = context
        self._clock = clock
        self._look_at = clock()
        self._found = False
        self._logged: set[str] = set()

    def tasks(self, snapshot: Snapshot) -> Iterator[Task]:
        """One task while there are such topics; all topics are checked once in LOOK_AGAIN
        seconds."""
        now = self._clock()
        if now >= self._look_at:
            self._look_at = now + LOOK_AGAIN
            self._found = bool(self._listed().keys() - _current_ends(snapshot))
        if self._found:
            yield Task(END_TOPICS, "", 0)

    async def run(self, task: Task) -> None:
        """Delete the topics. Raises OSError if the cluster or the catalog cannot be reached."""
        context = self._context
        self._found = False
        listed = self._listed()
        # Refreshed after the listing, so the catalog has the mark of every deletion whose end topic
        # is listed.
        await context.catalog.refresh()
        current = _current_ends(context.catalog.snapshot)
        over = {flat: topic_id for flat, topic_id in listed.items() if flat not in current}
        for flat, outcome in (await delete_at_broker(context, over)).items():
            if not outcome.gone and flat not in self._logged:
                self._logged.add(flat)
                log_stays(flat, outcome)

    def _listed(self) -> dict[str, bytes | None]:
        index = self._context.cluster.index
        listed = [flat for flat in list(index.names()) if _END_MARK in flat]
        return {flat.decode(): index.id_of(flat) for flat in listed if is_end_topic(flat.decode())}


def _current_ends(snapshot: Snapshot) -> set[str | None]:
    tasks = (deletion_task(snapshot, path) for path in snapshot.deleting)
    return {end_topic(task.about, task.since) for task in tasks if task is not None}
