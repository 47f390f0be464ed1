"""A catalog whose changes share transactions with changes of others, as in the writer's queue."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial

from gateway.catalog.entities import Change, Freeze, key_of
from gateway.catalog.log.batch import Batch, Waiting
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Decide
from tests.changes.fakes import FakeCatalog, Log


class Transactions:
    """Takes the place of a catalog's ``change``: each call is a transaction of the product's
    writer, in which the decisions of ``before`` come first, and those of ``after`` last, by the
    number of the call. ``lasting`` are the calls that have changed more than freezes."""

    def __init__(self, catalog: FakeCatalog, log: Log) -> None:
        self.before: dict[int, Decide] = {}
        self.after: dict[int, Decide] = {}
        self.calls = 0
        self.lasting: list[int] = []
        self._catalog = catalog
        self._log = log
        catalog.change = self.change  # type: ignore[method-assign]

    async def change(self, decide: Decide) -> Snapshot:
        """See gateway.catalog.source.Catalog.change."""
        number, loop = self.calls, asyncio.get_running_loop()
        self.calls += 1
        batch, changes = Batch(self._log.newest, "", 0), list[Change]()
        mine = Waiting(decide, loop.create_future(), 0.0)
        asked = [
            mine if one is decide else Waiting(one, loop.create_future(), 0.0)
            for one in (self.before.get(number), decide, self.after.get(number))
            if one is not None
        ]
        for waiting in asked:
            made: list[Change] = []
            waiting.decide = partial(_noted, waiting.decide, made)
            batch.decide(waiting)
            changes += made
            if waiting is mine and any(key_of(one)[0] != Freeze.KIND for one in made):
                self.lasting.append(number)
        if changes:
            self._log.decisions.append(tuple(changes))
            self._log.newest = batch.draft
            for reader in self._log.readers:
                reader.read()
        batch.settle(self._catalog.snapshot)
        for waiting in asked:
            if waiting is not mine:
                await waiting.answer
        return await mine.answer


def _noted(decide: Decide, made: list[Change], newest: Snapshot) -> Sequence[Change]:
    made[:] = decide(newest)
    return made
