"""The interface of sinks for records, and the sink that writes files on a thread of its own.

The event loop only queues records. If the writer falls behind, records are dropped and counted, so
that a slow disk never slows a client.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from gateway.counts import Row
from gateway.sinks.rolling_files import RollingFiles

log = logging.getLogger(__name__)

CHUNK = 50
"""Records written at a time; between chunks the event loop gets the interpreter."""

PAUSE_SECONDS = 0.001
CLOSE_SECONDS = 5.0
RETRY_SECONDS = 1.0
"""Seconds for which records are dropped after a failed write, before the next write is tried."""

QUEUE_FULL = "queue full"
WRITE_FAILED = "write failed"
TOO_LARGE = "too large"
STOPPED = "stopped"
"""Reasons why a record was dropped: label values of a metric. ``TOO_LARGE`` is for brokers'
``max.message.bytes``."""

_COMPLAINT_SECONDS = 60.0

_Record = TypeVar("_Record")


class SinkError(Exception):
    """Records cannot be written to a configured sink; the text says why, and the next step."""


class RecordSink(Generic[_Record]):
    """A destination of records, with a queue of its own, so that a slow or broken sink holds up
    neither another sink nor any client. ``name`` is its label in metrics.

    ``what`` and ``items`` are the log's words for the sink and for its records.
    """

    name: str

    def __init__(self, what: str, items: str, max_queued: int) -> None:
        self._what = what
        self._items = items
        self._max_queued = max_queued
        self._written = 0
        self._dropped: dict[str, int] = {}
        self._complained_at: float | None = None

    async def start(self) -> None:
        """Begin to write. Raises SinkError, and OSError when the cluster does not respond."""
        raise NotImplementedError

    def put(self, record: _Record) -> None:
        """Queue a record, or drop and count it. Does not wait."""
        self.put_all((record,), 1)

    def put_all(self, records: Iterable[_Record], count: int) -> None:
        """Queue ``count`` records; if there is no room, the rest are dropped, counted and not
        made."""
        raise NotImplementedError

    async def stop(self, seconds: float) -> None:
        """Write the queued records, for at most ``seconds``; the rest are dropped and counted."""
        raise NotImplementedError

    @property
    def queued(self) -> int:
        """Records that wait to be written."""
        raise NotImplementedError

    def take_counts(self) -> tuple[int, Mapping[str, int]]:
        """The numbers of records written and, by reason, dropped since the last call."""
        written, self._written = self._written, 0
        dropped, self._dropped = self._dropped, {}
        return written, dropped

    def take_rows(self, written_family: str, dropped_family: str) -> list[Row]:
        """The counts of :meth:`take_counts` as rows of the metrics."""
        written, dropped = self.take_counts()
        return [
            (written_family, (self.name,), written),
            *((dropped_family, (self.name, reason), count) for reason, count in dropped.items()),
        ]

    def _drop(self, reason: str, count: int) -> None:
        if count:
            self._dropped[reason] = self._dropped.get(reason, 0) + count

    def _complaint_is_due(self) -> bool:
        """Whether an error should be logged, which is at most once a minute."""
        now = time.monotonic()
        due = self._complained_at is None or now - self._complained_at >= _COMPLAINT_SECONDS
        if due:
            self._complained_at = now
        return due


@dataclass(slots=True)
class _Batch:
    """Records that are made only when they are written, and their number."""

    records: Iterator[Any]
    left: int


class RecordWriter(RecordSink[_Record]):
    """Writes records to files, on a thread. ``encode`` makes a line of a record, on the thread."""

    name = "file"

    def __init__(
        self, what: str, files: RollingFiles, max_queued: int, encode: Callable[[_Record], bytes]
    ) -> None:
        super().__init__(what, "records", max_queued)
        self._files = files
        self._encode = encode
        self._batches: deque[_Batch] = deque()
        self._queued = 0
        self._changed = threading.Condition()
        self._closing = threading.Event()
        # A daemon thread: a disk that hangs must not keep the process.
        self._thread = threading.Thread(target=self._run, name=what, daemon=True)
        self._failed_at: float | None = None

    async def start(self) -> None:
        self.open()

    def open(self) -> None:
        """Make the first file and start writing. Raises SinkError if the file cannot be made."""
        try:
            self._files.prepare()
        except OSError as error:
            raise SinkError(f"the {self._what} cannot be written: {error}") from error
        self._thread.start()

    async def stop(self, seconds: float) -> None:
        # Waiting for the thread must not keep the topic's writer from writing meanwhile.
        await asyncio.to_thread(self.close, seconds)

    @property
    def queued(self) -> int:
        return self._queued

    def put_all(self, records: Iterable[_Record], count: int) -> None:
        if not count:
            return
        with self._changed:
            if self._closing.is_set():
                self._drop(STOPPED, count)
                return
            room = max(0, self._max_queued - self._queued)
            taken = min(count, room)
            if taken:
                self._batches.append(_Batch(islice(iter(records), taken), taken))
                self._queued += taken
                self._changed.notify()
            self._drop(QUEUE_FULL, count - taken)

    def take_counts(self) -> tuple[int, Mapping[str, int]]:
        with self._changed:
            return super().take_counts()

    def close(self, seconds: float = CLOSE_SECONDS) -> bool:
        """Write the queued records, for at most ``seconds``; returns whether all were written."""
        with self._changed:
            self._closing.set()
            self._changed.notify()
        if self._thread.ident is not None:
            self._thread.join(seconds)
        with self._changed:
            left = self._queued
            self._drop(STOPPED, left)
        if left:
            log.warning("%s: %d records were not written in time", self._what, left)
        return not left

    def _run(self) -> None:
        try:
            self._files.tidy()
        except OSError as error:
            self._report(error)
        while (records := self._take()) is not None:
            self._write(records)
            self._closing.wait(PAUSE_SECONDS)
        self._files.close()

    def _take(self) -> list[_Record] | None:
        """The next records, or None when the queue is empty and no more will come."""
        with self._changed:
            while not self._batches:
                if self._closing.is_set():
                    return None
                self._changed.wait()
        records: list[_Record] = []
        # Without the lock, because only this thread removes batches. The records are made here.
        while len(records) < CHUNK and self._batches:
            batch = self._batches[0]
            more = list(islice(batch.records, CHUNK - len(records)))
            records += more
            batch.left -= len(more)
            if batch.left <= 0:
                with self._changed:
                    self._batches.popleft()
        return records

    def _write(self, records: list[_Record]) -> None:
        failed = False
        try:
            if self._failed_at is not None and time.monotonic() < self._failed_at + RETRY_SECONDS:
                failed = True
            else:
                self._files.write(b"".join(map(self._encode, records)))
                self._failed_at = None
        except OSError as error:
            failed = True
            self._failed_at = time.monotonic()
            self._report(error)
        with self._changed:
            self._queued -= len(records)
            if failed:
                self._drop(WRITE_FAILED, len(records))
            else:
                self._written += len(records)

    def _report(self, error: OSError) -> None:
        if self._complaint_is_due():
            log.error("%s: records are dropped, writing failed: %s", self._what, error)
