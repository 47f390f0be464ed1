"""The age of a reader's snapshot, decisions that wait to be read, and shared refreshes."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable
from time import monotonic

from gateway.catalog.log.skipped import Skipped
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import CatalogUnavailable
from gateway.catalog.validity import Validity


class Freshness:
    """Fresh for ``max_staleness`` seconds after the beginning of each read that came to the end.

    All of it belongs to one event loop. ``expired`` is called when that time is over. Times are
    ``monotonic``'s, because the loop's own time may be that of its last round.
    """

    def __init__(self, max_staleness: float, expired: Callable[[], None]) -> None:
        self._max_staleness = max_staleness
        self._expired = expired
        self._timer: asyncio.TimerHandle | None = None
        self.validity = Validity(self._end_of_time)
        self.read_at = -math.inf
        """When the last read that came to the end began."""

    def __bool__(self) -> bool:
        return self._timer is not None and monotonic() - self.read_at <= self._max_staleness

    @property
    def age(self) -> float | None:
        """Seconds since ``read_at``; None before the first read."""
        return None if self.read_at == -math.inf else monotonic() - self.read_at

    def note(self, began: float) -> bool:
        """Note that the log as of ``began`` is read; returns True after a time without
        freshness."""
        was_fresh = bool(self)
        self.read_at = max(self.read_at, began)
        self.end()
        self.validity.until = self.read_at + self._max_staleness
        left = max(self.validity.until - monotonic(), 0.0)
        self._timer = asyncio.get_running_loop().call_later(left, self._end_of_time)
        return not was_fresh

    def end(self) -> bool:
        """End the freshness without calling ``expired``; returns True if the snapshot was fresh."""
        was_fresh = bool(self)
        self.validity.until = math.inf
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        return was_fresh

    def _end_of_time(self) -> None:
        self.end()
        self._expired()


class Expected:
    """Futures of decisions that are to be read back. All of it belongs to one event loop."""

    def __init__(self) -> None:
        self._futures: dict[str, asyncio.Future[Snapshot | None]] = {}
        self._seen: list[str] = []

    def add(self, decision: str) -> asyncio.Future[Snapshot | None]:
        """A future of the first snapshot that holds this decision, or of None when a record of it
        is skipped. Cancel the future to forget it."""
        future: asyncio.Future[Snapshot | None] = asyncio.get_running_loop().create_future()
        self._futures[decision] = future
        future.add_done_callback(lambda _: self._futures.pop(decision, None))
        return future

    def skip(self, records: Iterable[Skipped]) -> None:
        """Resolve the futures of decisions of which a record was skipped."""
        for one in records:
            future = self._futures.get(one.decision)
            if future is not None and not future.done():
                future.set_result(None)

    def note_read(self, decisions: Iterable[str]) -> None:
        """Note that these decisions are read; the next snapshot holds them."""
        self._seen += [decision for decision in decisions if decision in self._futures]

    def resolve(self, snapshot: Snapshot) -> None:
        """Resolve, with this snapshot, the futures of the decisions noted as read."""
        for decision in self._seen:
            future = self._futures.get(decision)
            if future is not None and not future.done():
                future.set_result(snapshot)
        self._seen = []


class SharedRefresh:
    """Batches and rate-limits looks at the log's end. All of it belongs to one event loop."""

    def __init__(self, look: Callable[[], Awaitable[None]], interval: float) -> None:
        """``look`` raises CatalogUnavailable; two looks begin at least ``interval`` seconds
        apart."""
        self._look = look
        self._interval = interval
        self._waiting: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None
        self._not_before = 0.0

    async def ask(self) -> None:
        """Return when a look that began after this call has succeeded.

        A look in progress does not count; all callers meanwhile share the next look. Raises
        CatalogUnavailable.
        """
        if self._waiting is None:
            self._waiting = asyncio.get_running_loop().create_future()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="catalog refresh")
        # A caller that is cancelled must not cancel the future of the other callers.
        await asyncio.shield(self._waiting)

    async def stop(self) -> None:
        """End the look in progress; waiting callers get CatalogUnavailable."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        _answer(self._take_waiting(), _STOPPED)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting is not None:
            await asyncio.sleep(self._not_before - loop.time())
            # A caller from here on wants the next look, not this one.
            waiting = self._take_waiting()
            self._not_before = loop.time() + self._interval
            try:
                await self._look()
            except asyncio.CancelledError:
                _answer(waiting, _STOPPED)
                raise
            except CatalogUnavailable as failure:
                _answer(waiting, failure)
            else:
                _answer(waiting, None)

    def _take_waiting(self) -> asyncio.Future[None] | None:
        waiting, self._waiting = self._waiting, None
        return waiting


_STOPPED = CatalogUnavailable("The catalog cannot be read any more: the gateway stops.")


def _answer(waiting: asyncio.Future[None] | None, failure: CatalogUnavailable | None) -> None:
    if waiting is None:
        return
    if failure is None:
        waiting.set_result(None)
    else:
        waiting.set_exception(failure)
        waiting.exception()  # mark it retrieved: the callers may have stopped waiting
