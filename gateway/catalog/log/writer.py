"""Changing the catalog: the only writer of the process, with a queue.

It takes the catalog's transactional id, which fences every other writer, reads to the end, decides
all waiting changes, commits them in a single transaction, and answers when it has read them back.
While its epoch holds, it need not take the id again: if another writer wrote meanwhile, that writer
has fenced it, and its next commit fails.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from gateway.catalog.log.batch import Batch, Waiting
from gateway.catalog.log.reader import Reader
from gateway.catalog.log.records import (
    Denied,
    Fenced,
    LogError,
    OutcomeUnknown,
    Overtaken,
    Transactions,
)
from gateway.catalog.log.signatures import KeyFile
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import ACTOR, CatalogUnavailable, Decide, Observer
from gateway.slices import Slices, in_slices
from protocol.pausing import paced

log = logging.getLogger(__name__)

CHANGE_SECONDS: Final = 15.0
"""Seconds after which a change that could not be written is given up."""

IDLE_SECONDS: Final = 1.0
"""Seconds after which a writer without work releases the id and closes its connections."""

_READ_BACK_SECONDS: Final = 5.0
_STOP_SECONDS: Final = 3.0
_WORK_SECONDS: Final = 0.01
_FIRST_BACKOFF: Final = 0.03
_LONGEST_BACKOFF: Final = 1.0

_NOT_WRITTEN = "The catalog cannot be written now: {}; nothing was changed, try again.".format
_DENIED = (
    "The catalog cannot be written: {}; nothing was changed. Who runs the gateway has to allow its"
    " user what docs/brokers.md says."
).format
_UNKNOWN = (
    "The catalog cannot be written now: {}; it is not known whether the change was made, look"
    " before you try again.".format
)


class Writer:
    """The process's writer. All of it belongs to one event loop."""

    def __init__(
        self,
        reader: Reader,
        transactions: Transactions,
        *,
        change_seconds: float = CHANGE_SECONDS,
        idle_seconds: float = IDLE_SECONDS,
        observer: Observer | None = None,
        keys: KeyFile | None = None,
    ) -> None:
        """``observer`` is called with every change that this process commits. ``keys`` are the keys
        with which records are signed, if the catalog requires it."""
        self._reader = reader
        self._observer = observer
        self._keys = keys
        self._transactions = transactions
        self._change_seconds = change_seconds
        self._idle_seconds = idle_seconds
        self._queue: list[Waiting] = []
        self._turns = reader.turns.apart("decisions")
        self._asked = asyncio.Event()
        self._holds = False
        self._newest = ""
        self._idle = True
        self._stopping = False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Write from now on."""
        self._task = asyncio.create_task(self._run(), name="catalog writer")

    async def stop(self) -> None:
        """Finish the transaction in progress, reject the other changes, and close the
        connections."""
        self._stopping = True
        self._asked.set()
        if self._task is not None:
            _, running = await asyncio.wait([self._task], timeout=_STOP_SECONDS)
            for task in running:
                task.cancel()
                await asyncio.wait([task])
            self._task = None
        for waiting in self._queue:
            waiting.reason = "the gateway stops"
            _reject(waiting)
        self._queue.clear()
        await self._transactions.close()

    async def change(self, decide: Decide) -> Snapshot:
        """See gateway.catalog.source.Catalog.change."""
        if self._stopping or self._task is None:
            raise CatalogUnavailable(_NOT_WRITTEN("this gateway does not write it"))
        loop = asyncio.get_running_loop()
        waiting = Waiting(decide, loop.create_future(), loop.time() + self._change_seconds)
        waiting.actor = ACTOR.get()
        self._queue.append(waiting)
        self._asked.set()
        timer = loop.call_at(waiting.deadline, _expire, waiting)
        try:
            return await waiting.answer
        finally:
            timer.cancel()

    # -- the queue --------------------------------------------------------------------------------

    async def _run(self) -> None:
        failures = 0
        while not self._stopping:
            self._drop_answered()
            if not self._queue:
                await self._rest()
                continue
            try:
                await self._write(list(self._queue))
                failures = 0
                continue
            except (LogError, CatalogUnavailable) as error:
                self._holds = False
                self._note(error)
            # A defect here must not end the writing for good, with callers still waiting.
            except Exception as error:
                log.exception("writing the catalog failed")
                self._holds = False
                self._note(LogError(f"writing it failed ({type(error).__name__})"))
            failures += 1
            await self._back_off(failures)

    async def _rest(self) -> None:
        """Wait for work; release the id after a while."""
        self._asked.clear()
        try:
            async with asyncio.timeout(None if self._idle else self._idle_seconds):
                await self._asked.wait()
        except TimeoutError:
            self._holds, self._idle = False, True
            await self._transactions.close()

    async def _back_off(self, failures: int) -> None:
        """Sleep longer after each failure, with jitter, because without jitter writers fence each
        other for ever."""
        longest = min(_FIRST_BACKOFF * 2.0 ** min(failures, 16), _LONGEST_BACKOFF)
        await asyncio.sleep(longest * random.uniform(0.1, 1.0))  # noqa: S311 - nothing secret

    def _drop_answered(self) -> None:
        """Reject changes that brokers deny, or whose time is over, and drop changes that were
        answered or cancelled."""
        for waiting in self._queue:
            if waiting.denied or _now() >= waiting.deadline:
                _reject(waiting)
        self._queue = [waiting for waiting in self._queue if not waiting.answer.done()]

    def _note(self, error: Exception) -> None:
        """Keep the reason why the last transaction failed, for the changes that are rejected after
        it."""
        fenced = isinstance(error, Fenced)
        for waiting in self._queue:
            waiting.reason = "other gateways are writing it" if fenced else _reason(error)
            waiting.denied = isinstance(error, Denied)
        if not fenced:
            log.debug("the catalog could not be written: %s", error)

    # -- one transaction --------------------------------------------------------------------------

    async def _write(self, queue: Sequence[Waiting]) -> None:
        """Decide and commit the changes. Raises LogError or CatalogUnavailable if nothing was
        written."""
        self._idle = False
        if self._holds:
            await self._reader.refresh()
            # If another writer was at work, it has fenced this writer.
            self._holds = self._reader.decision == self._newest
        if not self._holds:
            await self._transactions.take()
            self._holds = True
            await self._reader.refresh()
            self._newest = self._reader.decision
        reader = self._reader
        batch = Batch(reader.snapshot, reader.decision, reader.position, self._keys)
        await self._decide(batch, queue)
        if not batch.records:
            batch.settle(batch.draft)
            return
        expected = [self._reader.expect(decision) for _, decision in batch.decisions]
        try:
            await self._commit(batch, expected)
        finally:
            for future in expected:
                future.cancel()
            await self._notify_observer(batch)

    async def _decide(self, batch: Batch, queue: Sequence[Waiting]) -> None:
        """Decide all changes, and let the event loop do other work now and then."""
        began = _now()
        for waiting in queue:
            if not waiting.answer.done():
                waiting.in_transaction = True  # its time may be over before it is decided
                try:
                    await in_slices(self._turns, Slices(partial(batch.decide, waiting)))
                finally:
                    waiting.in_transaction = batch.holds(waiting)
            if _now() - began > _WORK_SECONDS:
                await asyncio.sleep(0)
                began = _now()

    async def _commit(
        self, batch: Batch, expected: Sequence[asyncio.Future[Snapshot | None]]
    ) -> None:
        try:
            await self._transactions.commit(batch.records)
        except OutcomeUnknown as error:
            if not await self._find_out(batch, expected[-1], error):
                raise
        except LogError:
            batch.mark_unwritten()
            raise
        batch.written = True
        self._newest = batch.after
        # The changes are committed, so they are answered with success even if they cannot be read
        # back.
        done, _ = await asyncio.wait([expected[-1]], timeout=_READ_BACK_SECONDS)
        if not done:
            log.warning("version %d of the catalog is not read back", batch.draft.version)
            batch.settle(batch.draft)
        elif (snapshot := expected[-1].result()) is not None:
            batch.settle(snapshot)
        else:
            batch.skipped([_result(future) for future in expected])
            raise Overtaken("something else than gateways writes to its topic")

    async def _notify_observer(self, batch: Batch) -> None:
        """Report to the observer the changes that were, or may have been, committed: in slices, or
        the rest at once if this task is cancelled."""
        if self._observer is None or batch.written is False:
            return
        telling = Slices(partial(_tell, self._observer, batch))
        cancelled: asyncio.CancelledError | None = None
        while not telling.step():
            if cancelled is None:
                try:
                    await self._turns.next()
                except asyncio.CancelledError as error:
                    cancelled = error
        if cancelled is not None:
            raise cancelled

    async def _find_out(
        self, batch: Batch, expected: asyncio.Future[Snapshot | None], error: OutcomeUnknown
    ) -> bool:
        """True if the transaction was committed after all.

        The id is taken again, after which no record of the transaction can appear any more, and the
        log is read to its end.
        """
        log.warning("the outcome of a change of the catalog is not known yet: %s", error)
        self._note(error)
        failures = 0
        while not self._stopping:
            self._drop_answered()
            if not self._queue:
                break
            try:
                await self._transactions.take()
                await self._reader.refresh()
            except (LogError, CatalogUnavailable):
                failures += 1
                await self._back_off(failures)
                continue
            if not expected.done():
                batch.mark_unwritten()
            # If the decision was skipped, the caller handles that.
            return expected.done()
        return False


def _tell(observer: Observer, batch: Batch) -> None:
    certain = batch.written is True
    try:
        observer([replace(one, certain=certain) for one in paced(batch.committed)])
    # The changes stay committed, even if the observer fails.
    except Exception:
        log.exception("telling of a change of the catalog failed")


def _result(future: asyncio.Future[Snapshot | None]) -> Snapshot | None:
    """The snapshot that holds a decision, or None if it was skipped, or is not read yet."""
    return future.result() if future.done() else None


def _expire(waiting: Waiting) -> None:
    """Reject a change whose time is over; a change being committed is answered when the outcome is
    known."""
    if not waiting.in_transaction:
        _reject(waiting)


def _reject(waiting: Waiting) -> None:
    said = _UNKNOWN if waiting.in_transaction else _DENIED if waiting.denied else _NOT_WRITTEN
    waiting.settle(CatalogUnavailable(said(waiting.reason)))


def _reason(error: Exception) -> str:
    text = str(error).removeprefix("The catalog cannot be read now: ")
    return text.removesuffix(" Try again.").removesuffix(".")


def _now() -> float:
    return asyncio.get_running_loop().time()
