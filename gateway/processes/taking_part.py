"""One worker's part in the freezes of a cluster's catalog: it acknowledges a freeze once none of
its requests under way concerns a frozen name."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final
from uuid import uuid4

from gateway.catalog.entities import Change, Freeze, Worker
from gateway.catalog.freezes import (
    Frozen,
    acknowledge,
    arrive,
    can_freeze,
    freezes_in,
    is_doubted,
    leave,
    workers_in,
)
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Catalog, CatalogUnavailable
from gateway.changes.base.at_work import AtWork
from gateway.changes.base.context import now_ms
from gateway.connections.under_way import UnderWay, Watch
from gateway.exchanges.worker_state import WorkerState
from gateway.rules.rename import OF_ID
from gateway.session.naming import ID_SIZE, Concerns

log = logging.getLogger(__name__)

LEAVE_SECONDS: Final = 2.0
"""Seconds for which a worker that ends tries to write its leave to the catalog."""

_STAGGER: Final = 0.03
"""Seconds between the acknowledgements of two workers, because writers of the catalog that begin
together fence each other."""

_FIRST_LOOK: Final = 0.002
_LAST_LOOK: Final = 0.05
_RETRY: Final = 0.5


class TakingPart:
    """Acknowledges freezes for a worker; used by its event loop alone. ``workers`` is the number of
    the gateway's workers."""

    def __init__(
        self,
        catalog: Catalog,
        gateway_id: str,
        number: int,
        workers: int,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._catalog = catalog
        self._worker = Worker(uuid4().hex[:16], gateway_id, number)
        self._workers = workers
        self._clock = clock
        self._watches: dict[str, tuple[Watch, Concerns]] = {}
        self.at_work = AtWork()
        self._under_way: UnderWay | None = None
        self._state: WorkerState | None = None
        self._awake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    @property
    def run(self) -> str:
        """The id of this worker's run in the catalog."""
        return self._worker.run

    @property
    def is_listed(self) -> bool:
        """Whether freezes wait for this worker, or the catalog's format has no freezes; if not, the
        worker must not decide any request."""
        snapshot = self._catalog.snapshot
        return not can_freeze(snapshot) or self.run in workers_in(snapshot)

    def watch(self, under_way: UnderWay, state: WorkerState) -> None:
        """From now on, compare freezes with the requests that these clients have under way."""
        self._under_way, self._state = under_way, state

    def arrive(self, snapshot: Snapshot) -> Sequence[Change]:
        """The changes by which this worker takes part, as a decision of the catalog."""
        return arrive(snapshot, self._worker, self._workers, self._clock())

    def start(self) -> None:
        """Acknowledge freezes from now on."""
        if not can_freeze(self._catalog.snapshot):
            log.info(
                "moves and deletions do not wait for requests under way: raise the catalog's format"
                " once all gateways read it (kafka-gateway catalog upgrade --format 5)"
            )
        self._task = asyncio.create_task(self._run(), name="freezes")

    async def stop(self) -> None:
        """Stop acknowledging, and write to the catalog that this worker leaves."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.wait([self._task])
        under_way, state = self._under_way, self._state
        unsure = self.at_work.concerns(lambda flat: True) or (
            under_way is not None and state is not None and under_way.is_unsure(state)
        )

        def decide(newest: Snapshot) -> list[Change]:
            return leave(newest, self.run, unsure=unsure, now=self._clock())

        with suppress(CatalogUnavailable, TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                if decide(self._catalog.snapshot):
                    await self._catalog.change(decide)

    def changed(self) -> None:
        """The catalog has changed, and all clients go on with it: requests that are under way now
        were decided before the change."""
        snapshot = self._catalog.snapshot
        freezes = freezes_in(snapshot)
        if freezes or self._watches:
            watches = {one: watch for one, watch in self._watches.items() if one in freezes}
            new = {one: freeze for one, freeze in freezes.items() if one not in watches}
            self._watches = {**watches, **self._watch(snapshot, new)} if new else watches
        self._awake.set()

    def here(self, freeze_id: str) -> Sequence[str] | None:
        """The requests and changes of this process that a freeze waits for, or None if the process
        has not read the freeze, or does not yet know the requests that were under way then."""
        found = self._watches.get(freeze_id)
        if found is None:
            return None
        watch, concerns = found
        if not watch.is_ready:
            return None
        holders = watch.holders()
        if self.at_work.concerns(concerns):
            return [*holders, "a change that a broker has not answered"]
        return holders

    def _watch(
        self, snapshot: Snapshot, freezes: Mapping[str, Freeze]
    ) -> dict[str, tuple[Watch, Concerns]]:
        """A watch for each freeze, by its id; all share one pass over the connections."""
        under_way, state = self._under_way, self._state
        if under_way is None or state is None:
            return {}
        concerns = [_concerns(snapshot, freeze, state) for freeze in freezes.values()]
        watches = under_way.watch_each(state, concerns)
        return dict(zip(freezes, zip(watches, concerns, strict=True), strict=True))

    # -- acknowledging -----------------------------------------------------------------------------

    async def _run(self) -> None:
        look = _FIRST_LOOK
        while True:
            self._awake.clear()
            try:
                waits = await self._say()
            except CatalogUnavailable as error:
                log.debug("the catalog does not know what this worker has read: %s", error)
                await asyncio.sleep(_RETRY)
                continue
            # Caught: a defect here would hold up every change for good.
            except Exception:
                log.exception("answering freezes failed")
                await asyncio.sleep(_RETRY)
                continue
            if not waits:
                look = _FIRST_LOOK
                await self._awake.wait()
            else:
                await asyncio.sleep(look)
                look = min(look * 1.5, _LAST_LOOK)

    async def _say(self) -> bool:
        """Acknowledge the freezes that are quiet here; returns whether others still wait for
        requests."""
        snapshot = self._catalog.snapshot
        if not can_freeze(snapshot):
            return False
        if not self.is_listed:
            await self._catalog.change(self.arrive)
            return True
        mine = workers_in(snapshot)[self.run]
        others = {
            one.freeze_id: one
            for one in freezes_in(snapshot).values()
            if one.run != self.run and one.freeze_id not in mine.has_read
        }
        quiet = [one for one in others if self.here(one) == []]
        if quiet or is_doubted(mine):
            makers = {others[one].run for one in quiet}
            waiting = sorted(workers_in(snapshot).keys() - makers)
            rank = waiting.index(self.run) if self.run in waiting else 0
            await asyncio.sleep(rank * _STAGGER)
            await self._catalog.change(lambda newest: acknowledge(newest, self.run, quiet))
        return len(quiet) < len(others)


def _concerns(snapshot: Snapshot, freeze: Freeze, state: WorkerState) -> Concerns:
    """A test whether the freeze holds a topic or an id (see ``Concerns``)."""
    frozen, index = Frozen.of([freeze]), state.cluster.index
    known: dict[bytes, bool] = {}

    def concerns(name: bytes) -> bool:
        found = known.get(name)
        if found is None and name.startswith(OF_ID):
            # An id is frozen if its namespace is; freezes name no ids.
            owner = snapshot.owner(name.removeprefix(OF_ID).decode(errors="replace"))
            found = known[name] = frozen.holds(owner.namespace, "")
        if found is None:
            found = frozen.concerns(snapshot, name.decode(errors="replace"))
            if not found and len(name) == ID_SIZE and (flat := index.name_of(name)) is not None:
                found = frozen.concerns(snapshot, flat.decode())
            known[name] = found
        return found

    return concerns
