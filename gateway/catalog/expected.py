"""Decisions that somebody waits to see read back."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from gateway.catalog.damage import Skipped
from gateway.catalog.snapshot import Snapshot


class Expected:
    """Futures of decisions. All of it belongs to one event loop."""

    def __init__(self) -> None:
        self._futures: dict[str, asyncio.Future[Snapshot | None]] = {}
        self._seen: list[str] = []

    def add(self, decision: str) -> asyncio.Future[Snapshot | None]:
        """The first snapshot that holds this decision; None: a record of it was skipped. Cancel it
        to forget it."""
        future: asyncio.Future[Snapshot | None] = asyncio.get_running_loop().create_future()
        self._futures[decision] = future
        future.add_done_callback(lambda _: self._futures.pop(decision, None))
        return future

    def skip(self, records: Iterable[Skipped]) -> None:
        """These records are not believed."""
        for one in records:
            future = self._futures.get(one.decision)
            if future is not None and not future.done():
                future.set_result(None)

    def see(self, decisions: Iterable[str]) -> None:
        """These are read, and shown with the next snapshot."""
        self._seen += [decision for decision in decisions if decision in self._futures]

    def tell(self, snapshot: Snapshot) -> None:
        """This snapshot holds all that was seen."""
        for decision in self._seen:
            future = self._futures.get(decision)
            if future is not None and not future.done():
                future.set_result(snapshot)
        self._seen = []
