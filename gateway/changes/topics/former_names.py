"""The names from which topics were moved since a worker started, found in slices."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from gateway.catalog.entities import TopicEntry
from gateway.catalog.snapshot import Snapshot, differing
from gateway.catalog.source import Catalog
from gateway.names import LogicalName
from gateway.slices import Turns, sliced
from protocol.pausing import eased

MAX_NAMES: Final = 10_000
"""Names that are remembered; if there are more, the oldest are forgotten."""

FEW_TOPICS: Final = 1_000
"""Entries of topics that are compared at once, which takes up to 4 ms if all of them were moved."""


class FormerNames:
    """The names from which topics were moved since this worker started. A topic's first name need
    not be remembered: the topic is stored under it, and so holds it in the catalog.

    A change of a catalog with more than ``FEW_TOPICS`` entries is looked through in slices, by a
    task of ``spawn``. Until it has ended every name is among these names, because a topic that is
    created under a former name by mistake would stay.
    """

    def __init__(
        self,
        catalog: Catalog,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
        turns: Turns | None = None,
    ) -> None:
        self._catalog = catalog
        self._spawn = spawn
        self._turns = turns
        self._seen = catalog.snapshot
        self._names: dict[LogicalName, None] = {}
        # Changes that are not looked through yet. Each counts: a topic may have been moved twice.
        self._waiting: deque[tuple[Snapshot, Snapshot]] = deque()
        self._is_behind = False
        catalog.subscribe(self._catalog_changed)

    def __contains__(self, name: LogicalName) -> bool:
        return self._is_behind or name in self._names

    def _catalog_changed(self) -> None:
        before, now = self._seen, self._catalog.snapshot
        self._seen = now
        if before.topics is now.topics:
            return
        if not self._is_behind and max(len(before.topics), len(now.topics)) <= FEW_TOPICS:
            self._fill(before, now)
            return
        self._waiting.append((before, now))
        if not self._is_behind:
            self._is_behind = True
            self._spawn(self._fill_in_slices())

    async def _fill_in_slices(self) -> None:
        try:
            while self._waiting:
                before, now = self._waiting.popleft()
                await sliced(self._turns, partial(self._fill, before, now))
        finally:
            self._is_behind = False

    def _fill(self, before: Snapshot, now: Snapshot) -> None:
        for flat in eased(differing(before.topics, now.topics)):
            for name in _names_left(before, now, flat):
                self._names.pop(name, None)
                self._names[name] = None
                if len(self._names) > MAX_NAMES:
                    del self._names[next(iter(self._names))]


def _names_left(before: Snapshot, now: Snapshot, flat: str) -> set[LogicalName]:
    """The names that led to a topic and no longer do. If its entry was removed, the topic was
    deleted, or it has the name in its flat name again, without its aliases."""
    held = before.topics.get(flat)
    entry = now.topics.get(flat) or TopicEntry(flat, now.owner(flat))
    if held is not None and held.creating:
        return set()
    former = {before.owner(flat)} if held is None else set(held.names)
    if flat not in now.topics and entry.name not in former:
        return set()
    return former.difference(entry.names)
