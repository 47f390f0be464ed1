"""Following the catalog's log: the newest snapshot, and how old it may be."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from time import monotonic
from typing import Final, TypeVar

from gateway.catalog.log.freshness import Expected, Freshness, SharedRefresh
from gateway.catalog.log.records import (
    Fetched,
    LogError,
    LogLost,
    OffsetOutOfRange,
    Partition,
    UnreadableCatalog,
)
from gateway.catalog.log.replay import BrokenSequence, Replay
from gateway.catalog.log.signatures import KeyFile
from gateway.catalog.log.skipped import Damage, SkipLog, Skipped
from gateway.catalog.log.topics import CatalogTopicError
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import CatalogUnavailable
from gateway.catalog.validity import Validity
from gateway.slices import Slices, Turns, in_slices

T = TypeVar("T")

log = logging.getLogger(__name__)

LONG_POLL_SECONDS: Final = 0.5
REFRESH_SECONDS: Final = 5.0
"""The longest wait of a refresh for the end of the log, in seconds."""

_MIN_REFRESH_INTERVAL: Final = 0.02
_FIRST_BACKOFF: Final = 0.05
_LONGEST_BACKOFF: Final = 2.0
# After so many failures in a row it is no hiccup: callers get the error at once.
_LOST: Final = 3


class Reader:
    """A process's reader. All of it belongs to one event loop.

    ``snapshot`` is replaced as a whole. It stays as it is while the log cannot be read, and while a
    log that turned out to be another log is read from its beginning.
    """

    def __init__(
        self,
        partition: Partition,
        *,
        max_staleness: float,
        check: Callable[[], Awaitable[None]] | None = None,
        refresh_seconds: float = REFRESH_SECONDS,
        keys: KeyFile | None = None,
    ) -> None:
        """Times are seconds. ``check`` is awaited before a log is read from its beginning: it
        raises CatalogTopicError if the topic is not fit for a catalog. ``keys`` verify
        signatures."""
        self._partition = partition
        self._check = check
        self._refresh_seconds = refresh_seconds
        # If a poll finds nothing, the snapshot is known to be the newest.
        self._poll = min(LONG_POLL_SECONDS, max_staleness / 4)
        self._subscribers: list[Callable[[], None]] = []
        self.snapshot = Snapshot()
        """The newest state that was read."""
        self.decision = ""
        """The newest decision in ``snapshot``; empty before the first."""
        self._keys = keys
        self._replay = Replay(keys)
        self._offset: int | None = None
        self.skipped = SkipLog()
        self.damaged = asyncio.Event()
        self._freshness = Freshness(max_staleness, self._expired)
        self._refresh = SharedRefresh(self._read_to_end, _MIN_REFRESH_INTERVAL)
        self._unreadable: UnreadableCatalog | None = None
        self._failure: LogError | CatalogTopicError | None = None
        self._failures = 0
        self._task: asyncio.Task[None] | None = None
        self._moved = asyncio.Event()
        self._expected = Expected()
        self._preparing: list[Callable[[Snapshot], None]] = []
        self._taking = False
        """True while records are taken of which subscribers see nothing yet."""
        self.turns = Turns()
        """The turns of all tasks that read and write the catalog; long work of other parts has its
        own."""

    @property
    def position(self) -> int:
        """The offset of the next record to fetch; all records before it are in ``snapshot``."""
        return self._offset or 0

    @property
    def damage(self) -> Damage:
        """The keys whose newest record is junk; ``damaged`` is set when keys are added."""
        return self._replay.damage if self._replay.at_end else Damage()

    @property
    def fresh(self) -> bool:
        """True if the log was last read to its end less than ``max_staleness`` ago."""
        return bool(self._freshness)

    @property
    def age(self) -> float | None:
        """Seconds since the log was last read to its end; None: it never was."""
        return self._freshness.age

    @property
    def validity(self) -> Validity:
        """The time until which it is ``fresh`` without a further read."""
        return self._freshness.validity

    @property
    def lost(self) -> bool:
        """True while the log is missing or empty, although a catalog was read before."""
        return isinstance(self._failure, LogLost) and self._failures >= _LOST

    def subscribe(self, changed: Callable[[], None]) -> None:
        """Call ``changed`` whenever ``snapshot`` or ``fresh`` has changed."""
        self._subscribers.append(changed)

    def prepare(self, preparing: Callable[[Snapshot], None]) -> None:
        """Call ``preparing``, in slices, with each snapshot before it becomes ``snapshot``; also
        with a snapshot that never becomes it."""
        self._preparing.append(preparing)

    async def start(self, timeout: float) -> None:
        """Read to the end, and follow the log from then on.

        Raises UnreadableCatalog, CatalogTopicError and, if it takes longer than ``timeout``
        seconds, CatalogUnavailable.
        """
        self._task = asyncio.create_task(self._follow(), name="catalog reader")
        try:
            async with asyncio.timeout(timeout):
                await self._until(lambda: self._shows or self._final_failure is not None)
        except TimeoutError:
            failure = self._unavailable()
            await self.stop()
            raise failure from self._failure
        if (error := self._final_failure) is not None:
            await self.stop()
            raise error

    async def stop(self) -> None:
        """Stop following; the snapshot stays, and is not fresh any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._task = None
        await self._refresh.stop()
        self._freshness.end()
        await self._partition.close()

    async def refresh(self) -> None:
        """Return when every record committed before this call is read.

        Callers that come while the end is being looked up share the next look. Raises
        CatalogUnavailable: at once if the log is known to be unreadable, else after
        ``refresh_seconds``.
        """
        if self._is_lost:
            raise self._unavailable()
        await self._refresh.ask()

    def expect(self, decision: str) -> asyncio.Future[Snapshot | None]:
        """A future of the first snapshot that holds this decision, or of None when a record of it
        is skipped. Cancel the future to forget it."""
        return self._expected.add(decision)

    # -- following the log ----------------------------------------------------------------------

    async def _follow(self) -> None:
        while self._final_failure is None:
            try:
                await self._read()
                continue
            except UnreadableCatalog as error:
                self._give_up(error)
                return
            except (OffsetOutOfRange, BrokenSequence) as error:
                self._start_over(error)
                continue
            except (LogError, CatalogTopicError) as error:
                self._set_failure(error)
            # A defect here must not end the reading for good without a log line.
            except Exception as error:
                log.exception("reading the catalog failed")
                self._set_failure(LogError(f"reading it failed ({type(error).__name__})"))
            await asyncio.sleep(self._backoff())

    async def _read(self) -> None:
        """Fetch once, and take the records."""
        began = monotonic()
        if self._offset is None:
            if self._check is not None:
                await self._check()
            self._offset = await self._partition.beginning()
        wait = self._poll if self._replay.at_end else 0.0
        fetched = await self._partition.fetch(self._offset, wait)
        await self._take(began, fetched)
        # A log with many records must not keep other tasks waiting.
        await asyncio.sleep(0)

    async def _take(self, began: float, fetched: Fetched) -> None:
        """Apply the fetched records: the long work in slices, and then everything that subscribers
        see at once."""
        replay, at_end = self._replay, fetched.next >= fetched.end
        skipped: Sequence[Skipped] = ()
        self._taking = True
        try:
            seen = await self._in_slices(partial(replay.take, fetched.records))
            if at_end and self.snapshot.version and not replay.has_records:
                # The topic was created anew, but no operator has requested a new catalog.
                self._replay, self._offset = Replay(self._keys), None
                raise LogLost(f"its topic is empty, and had {self.snapshot.version} versions")
            self._set_failure(None)
            skipped = self._note_skipped()
            if at_end:
                first = not replay.at_end
                seen += await self._in_slices(replay.reach_end)
                if first:
                    self._note_end()
            if replay.at_end and replay.snapshot is not self.snapshot:
                await self._in_slices(partial(self._prepare, replay.snapshot))
        except asyncio.CancelledError:
            # Some of the records are taken, and it is not known which of them.
            self._replay, self._offset = Replay(self._keys), None
            raise
        finally:
            self._taking = False
            self._expected.skip(skipped)
        self._offset = fetched.next
        self._expected.note_read(seen)
        self._show(began, at_end=at_end)

    def _show(self, began: float, *, at_end: bool) -> None:
        """Replace ``snapshot`` by the state that was read, and call the subscribers."""
        replay = self._replay
        self.skipped.lost = replay.missing
        changed = replay.at_end and replay.snapshot is not self.snapshot
        if changed:
            self.snapshot, self.decision = replay.snapshot, replay.decision
        flipped = at_end and self._freshness.note(began)
        if flipped:
            log.info("the catalog is up to date at version %d", self.snapshot.version)
        if replay.at_end:
            self._expected.resolve(self.snapshot)
        if changed or flipped:
            self._announce()
        self._moved.set()

    async def _in_slices(self, work: Callable[[], T]) -> T:
        return await in_slices(self.turns, Slices(work))

    def _prepare(self, snapshot: Snapshot) -> None:
        for preparing in self._preparing:
            try:
                preparing(snapshot)
            except Exception:
                log.exception("preparing for a change of the catalog failed")

    def _note_end(self) -> None:
        replay = self._replay
        log.info("the catalog is read to its end, at version %d", replay.snapshot.version)
        self.skipped.note_lost(replay.missing, replay.damage.unknown(replay.snapshot))
        if replay.damage:
            self.damaged.set()  # from here on it can be mended

    def _note_skipped(self) -> Sequence[Skipped]:
        skipped = self._replay.take_skipped()
        if skipped:
            self.skipped.note(skipped)
        if self._replay.damage:
            self.damaged.set()
        return skipped

    def _start_over(self, reason: Exception) -> None:
        if self._replay.at_end:
            log.warning(
                "the catalog's log is not the one read so far (%s): reading it anew", reason
            )
        damage = None
        if isinstance(reason, OffsetOutOfRange):
            self.skipped.forget()
        elif self._replay.at_end and self._offset is not None:
            damage = Damage(self._replay.damage, self._offset)
        self._replay = Replay(self._keys, damage)
        self._offset = None

    def _give_up(self, error: UnreadableCatalog) -> None:
        log.error("%s", error)
        self._unreadable = error
        if self._freshness.end():
            self._announce()
        self._moved.set()

    @property
    def _final_failure(self) -> UnreadableCatalog | CatalogTopicError | None:
        """A failure that no retry can mend; before the first snapshot also an unfit topic."""
        if self._unreadable is None and isinstance(self._failure, CatalogTopicError):
            return self._failure if self._freshness.read_at == float("-inf") else None
        return self._unreadable

    def _set_failure(self, failure: LogError | CatalogTopicError | None) -> None:
        """Note the outcome of the last fetch; only a change is logged."""
        if failure is not None and not self._failures:
            log.warning("the catalog cannot be read: %s", failure)
        elif failure is None and self._failures:
            log.info("the catalog can be read again")
        was_lost = self.lost
        self._failures = 0 if failure is None else self._failures + 1
        self._failure = failure
        if self.lost and not was_lost and self.snapshot.version:
            log.error(
                "the catalog is lost (%s), and this process has version %d of it in memory: do not"
                " restart it; kafka-gateway catalog export --from-memory writes that to a file,"
                " which kafka-gateway catalog restore brings back",
                failure,
                self.snapshot.version,
            )
        self._moved.set()

    def _backoff(self) -> float:
        exponent = min(self._failures - 1, 16)
        seconds = min(_FIRST_BACKOFF * 2.0**exponent, _LONGEST_BACKOFF)
        return seconds * random.uniform(0.75, 1.25)  # noqa: S311 - nothing secret

    # -- what is known, and when -------------------------------------------------------------------

    def _expired(self) -> None:
        log.warning(
            "the catalog is out of date at version %d: what needs it is refused",
            self.snapshot.version,
        )
        self._announce()

    def _announce(self) -> None:
        for changed in tuple(self._subscribers):
            try:
                changed()
            except Exception:
                log.exception("a subscriber to the catalog failed")

    async def _read_to_end(self) -> None:
        began = monotonic()
        try:
            async with asyncio.timeout(self._refresh_seconds):
                end = await self._ask_end()
                await self._until(lambda: self._has_read(end, began) or self._is_lost)
        except TimeoutError:
            raise self._unavailable() from None
        if self._is_lost:
            raise self._unavailable()
        if self._freshness.note(began):
            self._announce()

    async def _ask_end(self) -> int:
        while True:
            try:
                return await self._partition.end()
            except LogError as error:
                if self._is_lost:
                    raise self._unavailable() from error
                await asyncio.sleep(_FIRST_BACKOFF)

    def _has_read(self, end: int, began: float) -> bool:
        shown = self._shows and not self._replay.holds
        if not shown or self._offset is None or self._offset < end:
            return False
        # If the log ends before this reader's position, it may be another log: the next fetch
        # shows.
        return self._offset == end or self._freshness.read_at >= began

    @property
    def _shows(self) -> bool:
        """Whether ``snapshot`` holds every record that was read."""
        return self._replay.at_end and not self._taking

    @property
    def _is_lost(self) -> bool:
        return self._task is None or self._unreadable is not None or self._failures >= _LOST

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._moved.clear()
            await self._moved.wait()

    def _unavailable(self) -> CatalogUnavailable:
        if self._unreadable is not None:
            return CatalogUnavailable(f"The catalog cannot be read: {self._unreadable}.")
        reason: object = self._failure or "its end is not reached in time"
        if isinstance(self._failure, CatalogTopicError):
            reason = "its topic is not fit for it"  # only the log names it, and the reason
        return CatalogUnavailable(f"The catalog cannot be read now: {reason}. Try again.")
