"""Freezes names while their topics or namespaces change, so no request is in progress meanwhile.

``async with context.freezer.hold(names, ...) as hold`` begins when every worker of every gateway
rejects requests for the names and has no request for them in progress. The change is committed
within it, with the changes that ``hold.ended`` adds. The names are thawed at its end in any case.
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
"""Seconds for which a change waits for requests in progress: less than clients wait for a
response."""

LASTS: Final = 60_000
"""Milliseconds after which any worker ends a freeze, whose maker counts as ended. Longer than any
change within a freeze takes."""

FORCED_BY: Final = "gateway.force"
"""The config with which a move proceeds after that time, even while requests are in progress."""

_FIRST_LOOK: Final = 0.002
_LAST_LOOK: Final = 0.05

Here = Callable[[str], Sequence[str] | None]
"""Takes a freeze's id and returns the requests of this process that the freeze waits for; None if
the process has not read the freeze yet."""


class Freezer:
    """Freezes names for the changes of one worker, whose ``run`` the catalog knows. ``silence``:
    milliseconds after which a worker that does not respond counts as ended."""

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

        ``forced``: the change proceeds when the time to wait is over, and does not wait for workers
        that have ended. ``tells``: the error may show the client which gateways and clients the
        freeze waited for. Entering the freeze raises :class:`Rejected` if it waits too long, and
        OSError.
        """
        frozen = tuple(sorted(map(str, names))), tuple(sorted(namespaces))
        return Hold(self, what, frozen, forced=forced, tells=tells)


class Hold:
    """A freeze in progress."""

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
            # If the wait could not end within ``patience``, it would only keep clients from the
            # names.
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
        """Raise :class:`Rejected` if this freeze has ended, or another freeze holds one of
        ``names``.

        Other workers end this freeze if they took this process for gone. ``names`` lead to the
        topics that are changed; the maker of the other freeze decides how these topics change.
        """
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
        """The changes, with the changes that thaw the names that this freeze holds. As
        :meth:`check`."""
        self.check(newest, names)
        return self.thawed(newest, changes)

    def holds(self, names: Iterable[LogicalName], namespaces: Iterable[str] = ()) -> bool:
        """Whether this freeze holds all these names and namespaces, or names cannot be frozen at
        all."""
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
        """As :meth:`ended`, without the check, for a change that is already made at the broker."""
        return [*changes, *(() if self._freeze is None else thaw(newest, self._freeze))]

    async def _wait(self, freezer: Freezer, freeze: Freeze) -> None:
        """Wait until no request for the names is in progress. Raises :class:`Rejected`."""
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
        """The error for a change that waited for these workers and clients in vain; it is
        logged."""
        log.warning("%s is held up by %s", self._what, ", ".join(who))
        where = f" ({', '.join(who)})" if self._tells else ""
        return Rejected(
            REQUEST_TIMED_OUT,
            f"{self._what} was not changed: requests for it may still be under way{where};"
            f" try again. A move with '{FORCED_BY}' does not wait longer.",
            FROZEN,
        )

    async def _thaw(self) -> None:
        """End the freeze, unless the change has ended it."""
        freeze, freezer, unheard = self._freeze, self._freezer, self._unheard
        if freeze is None or freezer is None:
            return

        def end(newest: Snapshot) -> list[Change]:
            return thaw(newest, freeze, unheard, freeze.until - LASTS)

        try:
            # Also if it is unknown whether the freeze began.
            if end(freezer.catalog.snapshot):
                await freezer.catalog.change(end)
        except CatalogUnavailable as error:
            log.warning("names stay frozen for a while: %s", error)


def _shown(worker: Worker) -> str:
    ended = " that has ended" if worker.gone else ""
    return f"a worker {worker.number}{ended} of gateway '{worker.gateway_id}'"


class NoFreezer(Freezer):
    """Freezes nothing, for tools without clients."""

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
