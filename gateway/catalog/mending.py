"""Writing again what junk has replaced in the catalog's topic, while somebody still has it.

Compaction keeps the newest record of a key. Where that is junk, a reader that begins later does
not find the entity; so whoever has read it writes it again behind the junk.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from typing import Final, Protocol

from gateway.catalog.entities import Change, Signing
from gateway.catalog.members import signed
from gateway.catalog.skipped import Damage
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import CatalogUnavailable, Decide

log = logging.getLogger(__name__)

BATCH: Final = 500
"""Entities that are written together."""

_SECONDS: Final = 1.0


class DamagedReader(Protocol):
    """What is needed of the reader (gateway/catalog/log.py)."""

    damaged: asyncio.Event

    @property
    def damage(self) -> Damage:
        """The keys whose newest record is junk."""
        ...


class Mender:
    """One process's. All of it belongs to one event loop.

    Every process of every gateway waits a little, each for another time; the first one writes, and
    the others find nothing left to write.
    """

    def __init__(
        self,
        reader: DamagedReader,
        change: Callable[[Decide], Awaitable[Snapshot]],
        seconds: float = _SECONDS,
    ) -> None:
        """``change`` commits a decision; about ``seconds`` pass between two."""
        self._reader = reader
        self._change = change
        self._seconds = seconds
        self._task: asyncio.Task[None] | None = None
        self.mended = 0
        """Records written again by this process."""

    def start(self) -> None:
        """Mend from now on."""
        self._task = asyncio.create_task(self._run(), name="catalog mender")

    async def stop(self) -> None:
        """Mend no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def _run(self) -> None:
        while True:
            await self._reader.damaged.wait()
            await asyncio.sleep(self._seconds * random.uniform(0.1, 1.0))  # noqa: S311 - no secret
            self._reader.damaged.clear()
            try:
                await self._mend()
            except CatalogUnavailable as error:
                log.warning("what junk has replaced in the catalog is not written yet: %s", error)
                self._reader.damaged.set()
                await asyncio.sleep(5 * self._seconds)
            # A defect here must not end the mending for good.
            except Exception:
                log.exception("mending the catalog failed")
                await asyncio.sleep(5 * self._seconds)

    async def _mend(self) -> None:
        written: Sequence[Change] = ()

        def decide(snapshot: Snapshot) -> Sequence[Change]:
            nonlocal written
            written = mending(self._reader.damage, snapshot)
            return written

        while True:
            await self._change(decide)
            if not written:
                return
            self.mended += len(written)
            log.warning("%d records that junk had replaced in the catalog are mended", len(written))
            if len(written) < BATCH:
                return


def mending(damage: Damage, snapshot: Snapshot, *, everything: bool = False) -> list[Change]:
    """The next records to write so that a later reader finds what is in ``snapshot``.

    ``everything``: also where it is not known whether another gateway has what junk stands for.
    """
    changes = list(islice(damage.changes(snapshot, everything=everything), BATCH))
    if any(isinstance(change, Signing) and change.key for change in changes):
        # That the catalog is signed is said by a decision that holds all of it.
        return signed(snapshot, snapshot.signing)
    return changes
