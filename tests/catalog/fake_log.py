"""A broker's partition and transaction coordinator in memory, with the failures that can happen
there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

from gateway.catalog.entities import Change
from gateway.catalog.log.records import (
    Denied,
    Fenced,
    Fetched,
    LogError,
    OffsetOutOfRange,
    OutcomeUnknown,
    Record,
    encode,
)
from gateway.catalog.log.signatures import Place


@dataclass(frozen=True)
class Entry:
    """The record at an offset; a marker of a transaction's end has no record."""

    offset: int
    record: Record | None


class FakeLog:
    """A partition. ``fetch_limit`` is the most offsets that one fetch covers.

    While ``down`` it does not respond. ``before_commit`` is awaited when a transaction is about to
    be committed. If it ``denies``, no writer may take the id. ``lost_answers`` is the number of
    future commits that are done without a response, ``lost_commits`` the number that are neither
    done nor answered.
    """

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.start = 0
        self.next = 0
        self.epoch = 0
        self.takes = 0
        self.commits = 0
        self.end_questions = 0
        self.fetch_limit = 1000
        self.down = False
        self.lost_answers = 0
        self.denies = False
        self.lost_commits = 0
        self.before_commit: Callable[[], Awaitable[None]] | None = None
        self.grown = asyncio.Event()

    def append(self, records: Iterable[Record]) -> None:
        """Append a committed transaction."""
        for record in (*records, None):
            self.entries.append(Entry(self.next, record))
            self.next += 1
        grown, self.grown = self.grown, asyncio.Event()
        grown.set()

    def write(self, *changes: Change, seq: int, decision: str, after: str = "") -> None:
        """Append a committed decision whose first record has number ``seq``."""
        last = seq + len(changes) - 1
        self.append(
            encode(change, Place(number, last, decision, decision if number > seq else after))
            for number, change in enumerate(changes, seq)
        )

    def compact(self) -> None:
        """Keep the newest record of each key, as the broker's cleaner does."""
        newest = {entry.record.key: entry for entry in self.entries if entry.record is not None}
        self.entries = [entry for entry in self.entries if entry in newest.values()]

    def delete_records(self) -> None:
        """Delete every record so far; offsets go on."""
        self.entries.clear()
        self.start = self.next

    def recreate(self) -> None:
        """Delete the topic and create it anew."""
        self.entries.clear()
        self.start = self.next = 0

    def check_up(self) -> None:
        """Raises LogError while it is down."""
        if self.down:
            raise LogError("a broker does not answer")


class FakePartition:
    """A reader's partition (gateway/catalog/log/records.py)."""

    def __init__(self, log: FakeLog) -> None:
        self.log = log
        self.closed = 0

    async def fetch(self, offset: int, wait: float) -> Fetched:
        """Fetch as a broker does, waiting included."""
        await asyncio.sleep(0)
        self.log.check_up()
        self._check_range(offset)
        if offset == self.log.next and wait:
            try:
                async with asyncio.timeout(wait):
                    await self.log.grown.wait()
            except TimeoutError:
                pass
            self.log.check_up()
            self._check_range(offset)
        until = min(offset + self.log.fetch_limit, self.log.next)
        found = [entry for entry in self.log.entries if offset <= entry.offset < until]
        records = [
            entry.record._replace(offset=entry.offset)
            for entry in found
            if entry.record is not None
        ]
        return Fetched(records, until, self.log.next)

    async def beginning(self) -> int:
        """The first offset."""
        await asyncio.sleep(0)
        self.log.check_up()
        return self.log.start

    async def end(self) -> int:
        """The offset after the last."""
        await asyncio.sleep(0)
        self.log.check_up()
        self.log.end_questions += 1
        return self.log.next

    async def close(self) -> None:
        """Count the close."""
        self.closed += 1

    def _check_range(self, offset: int) -> None:
        if not self.log.start <= offset <= self.log.next:
            raise OffsetOutOfRange("the offset is out of range")


class FakeTransactions:
    """A writer's transactions (gateway/catalog/log/records.py)."""

    def __init__(self, log: FakeLog) -> None:
        self.log = log
        self.closed = 0
        self._epoch = -1

    async def take(self) -> None:
        """Take the id, which fences other writers."""
        await asyncio.sleep(0)
        self.log.check_up()
        if self.log.denies:
            raise Denied("taking the id is refused (TRANSACTIONAL_ID_AUTHORIZATION_FAILED)")
        self.log.takes += 1
        self.log.epoch += 1
        self._epoch = self.log.epoch

    async def commit(self, records: Sequence[Record]) -> None:
        """Commit all records or none, as the log is set."""
        await asyncio.sleep(0)
        self.log.check_up()
        if self.log.before_commit is not None:
            await self.log.before_commit()
        if self._epoch != self.log.epoch:
            raise Fenced("writing is refused (InvalidProducerEpoch)")
        if self.log.lost_commits:
            self.log.lost_commits -= 1
            raise OutcomeUnknown("a broker does not answer")
        self.log.commits += 1
        self.log.append(records)
        if self.log.lost_answers:
            self.log.lost_answers -= 1
            raise OutcomeUnknown("a broker does not answer")

    async def close(self) -> None:
        """Release the id."""
        self.closed += 1
        self._epoch = -1
