"""Names are frozen while what they lead to changes: nothing under way survives the change.

``async with context.freezer.hold(names, ...) as hold`` begins when every worker of every gateway
denies the names and has nothing under way under them; the change is committed within it, with what
``hold.ended`` adds. Whatever happens, the names are thawed then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Final
from uuid import uuid4

from gateway.catalog.entities import Change, Freeze, Worker
from gateway.catalog.freezes import (
    FROZEN,
    Frozen,
    can_freeze,
    ended_lately,
    forgotten,
    freezes_in,
    frozen_by_others,
    thaw,
    waited_for,
    workers_in,
)
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Catalog, CatalogUnavailable
from gateway.changes.base.rejected import Rejected
from gateway.error_codes import REQUEST_TIMED_OUT
from gateway.names import LogicalName

log = logging.getLogger(__name__)

PATIENCE: Final = 10.0
"""Seconds for which a change waits for what is under way: less than clients wait for an answer."""

LASTS: Final = 60_000
"""Milliseconds after which a freeze is ended by any worker: its maker is gone. Longer than all that
is done during one."""

FORCED_BY: Final = "gateway.force"
"""The config by which a move goes ahead after that time whatever is under way."""

_FIRST_LOOK: Final = 0.002
_LAST_LOOK: Final = 0.05

Here = Callable[[str], Sequence[str] | None]
"""What holds up a freeze, by its id, in this process, or None if the process has not read it
yet."""


class Freezer:
    """Freezes names for the changes of one worker, whose ``run`` the catalog knows. ``silence`` is
    after how many milliseconds a worker that does not answer counts as ended."""

    def __init__(
        self,
        catalog: Catalog,
        run: str,
        here: Here,
        *,
        clock: Callable[[], int],
        silence: int,
        patience: float = PATIENCE,
    ) -> None:
        self.catalog = catalog
        self.run = run
        self.here = here
        self.clock = clock
        self.silence = silence
        self.patience = patience

    def hold(
        self,
        what: str,
        names: Iterable[LogicalName] = (),
        namespaces: Iterable[str] = (),
        *,
        forced: bool = False,
        tells: bool = False,
    ) -> Hold:
        """A freeze of these names for a change of ``what``, such as ``Topic 'org:x'``.

        ``forced``: the change goes ahead after the time for which it waits, and does not wait for
        workers that have ended. ``tells``: the client
        may know which gateways and clients hold it up. Entering it raises :class:`Rejected` where
        they do for too long, and OSError.
        """
        frozen = tuple(sorted(map(str, names))), tuple(sorted(namespaces))
        return Hold(self, what, frozen, forced=forced, tells=tells)


class Hold:
    """A freeze under way."""

    def __init__(
        self,
        freezer: Freezer | None,
        what: str = "",
        frozen: tuple[tuple[str, ...], tuple[str, ...]] = ((), ()),
        *,
        forced: bool = False,
        tells: bool = False,
    ) -> None:
        self._freezer = freezer
        self._what = what
        self._frozen = frozen
        self._forced = forced
        self._tells = tells
        self._freeze: Freeze | None = None
        self._unheard: Sequence[Worker] = ()

    async def __aenter__(self) -> Hold:
        freezer = self._freezer
        if freezer is None or not any(self._frozen) or not can_freeze(freezer.catalog.snapshot):
            return self
        now = freezer.clock()
        names, namespaces = self._frozen
        freeze = Freeze(uuid4().hex[:16], freezer.run, now + LASTS, names, namespaces)
        self._freeze = freeze

        def begin(newest: Snapshot) -> list[Change]:
            if freezer.run not in workers_in(newest):
                text = f"{self._what} was not changed: this worker has yet to register; try again."
                raise Rejected(REQUEST_TIMED_OUT, text, FROZEN)
            self._check_others(newest, names, namespaces)
            # Waiting for what lasts longer would only keep the names from their clients.
            ended = ended_lately(newest, now, int(freezer.patience * 1000))
            if ended and not self._forced:
                raise self._given_up([*map(_shown, ended)])
            return [*forgotten(newest, now, freezer.silence), freeze]

        try:
            await freezer.catalog.change(begin)
            await self._wait(freezer, freeze)
        except BaseException:
            await self._thaw()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._thaw()

    def check(self, newest: Snapshot, names: Iterable[LogicalName] = ()) -> None:
        """Raise :class:`Rejected` where others have thawed what this holds, since this process was
        taken for gone; or where another freeze holds one of these ``names``, which lead to what is
        changed: its maker decides what becomes of that."""
        freeze = self._freeze
        if freeze is not None and freeze.freeze_id not in freezes_in(newest):
            raise Rejected(
                REQUEST_TIMED_OUT, f"{self._what} was not changed: it took too long; try again."
            )
        if self._freezer is not None:
            self._check_others(newest, map(str, names))

    def ended(
        self, newest: Snapshot, changes: Sequence[Change], names: Iterable[LogicalName] = ()
    ) -> list[Change]:
        """The changes, and that what this holds is thawed with them. As :meth:`check`."""
        self.check(newest, names)
        return self.thawed(newest, changes)

    def holds(self, names: Iterable[LogicalName], namespaces: Iterable[str] = ()) -> bool:
        """Whether it is a freeze of all these, or nothing can be frozen."""
        if self._freezer is None or not can_freeze(self._freezer.catalog.snapshot):
            return True
        frozen = Frozen(frozenset(self._frozen[0]), self._frozen[1])
        return all(map(frozen.holds_name, names)) and all(
            frozen.holds(path, "") for path in namespaces
        )

    def _check_others(
        self, newest: Snapshot, names: Iterable[str], namespaces: Iterable[str] = ()
    ) -> None:
        freeze_id = None if self._freeze is None else self._freeze.freeze_id
        if frozen_by_others(newest, names, namespaces, freeze_id):
            text = f"{self._what} was not changed: another change of it is under way; try again."
            raise Rejected(REQUEST_TIMED_OUT, text, FROZEN)

    def thawed(self, newest: Snapshot, changes: Sequence[Change]) -> list[Change]:
        """The same for what is done already, and cannot be given up any more."""
        return [*changes, *(() if self._freeze is None else thaw(newest, self._freeze))]

    async def _wait(self, freezer: Freezer, freeze: Freeze) -> None:
        """Wait until nothing is under way. Raises :class:`Rejected`."""
        time = asyncio.get_running_loop().time
        deadline, look = time() + freezer.patience, _FIRST_LOOK
        while True:
            here = freezer.here(freeze.freeze_id)
            snapshot = freezer.catalog.snapshot
            others = waited_for(snapshot, freeze, freezer.clock(), freezer.silence)
            if self._forced:
                others = [one for one in others if not one.gone]
            if here is not None and not here and not others:
                return
            if time() >= deadline:
                break
            await asyncio.sleep(look)
            look = min(look * 1.5, _LAST_LOOK)
        who = [*(["this worker"] if here is None else here), *map(_shown, others)]
        self._unheard = others
        error = self._given_up(who)
        if not self._forced:
            raise error

    def _given_up(self, who: Sequence[str]) -> Rejected:
        """The error for a change that these hold up, which is logged."""
        log.warning("%s is held up by %s", self._what, ", ".join(who))
        where = f" ({', '.join(who)})" if self._tells else ""
        return Rejected(
            REQUEST_TIMED_OUT,
            f"{self._what} was not changed: requests for it may still be under way{where};"
            f" try again. A move with '{FORCED_BY}' does not wait longer.",
            FROZEN,
        )

    async def _thaw(self) -> None:
        """End the freeze, unless the change has."""
        freeze, freezer, unheard = self._freeze, self._freezer, self._unheard
        if freeze is None or freezer is None:
            return

        def end(newest: Snapshot) -> list[Change]:
            return thaw(newest, freeze, unheard, freeze.until - LASTS)

        try:
            # Also where it is not known whether it began.
            if end(freezer.catalog.snapshot):
                await freezer.catalog.change(end)
        except CatalogUnavailable as error:
            log.warning("names stay frozen for a while: %s", error)


def _shown(worker: Worker) -> str:
    ended = " that has ended" if worker.gone else ""
    return f"a worker {worker.number}{ended} of gateway '{worker.gateway_id}'"


class NoFreezer(Freezer):
    """Freezes nothing: for what has no clients."""

    def __init__(self) -> None:
        pass

    def hold(
        self,
        what: str,
        names: Iterable[LogicalName] = (),
        namespaces: Iterable[str] = (),
        *,
        forced: bool = False,
        tells: bool = False,
    ) -> Hold:
        return Hold(None)


NO_FREEZER: Final = NoFreezer()
