"""Records in a topic of the backing cluster, written by a task of its own.

While the cluster does not accept them, records wait, up to a limit; further records are dropped and
counted. No client waits for this task.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from itertools import islice
from typing import Final, TypeVar

from gateway.catalog.log.records import LogError
from gateway.catalog.log.topics import TopicError
from gateway.sinks.record_writer import QUEUE_FULL, STOPPED, TOO_LARGE, RecordSink
from gateway.sinks.topic_partitions import Message, TopicMissing, TopicPartitions

log = logging.getLogger(__name__)

CHUNK: Final = 100
"""Records encoded at a time: a few milliseconds of the event loop."""

LAST_CHUNK: Final = 500
"""Records encoded at a time at the end, when no client is held up."""

_FIRST_BACKOFF: Final = 0.1
_LONGEST_BACKOFF: Final = 5.0

_Record = TypeVar("_Record")


class RecordTopic(RecordSink[_Record]):
    """Writes records to a topic; used by a single event loop.

    ``encode`` makes a message of a record. ``prepare`` creates the topic if it is missing: at the
    start, and if it is deleted later; then its exceptions are only logged.
    """

    name = "topic"

    def __init__(
        self,
        what: str,
        items: str,
        partitions: TopicPartitions,
        max_queued: int,
        prepare: Callable[[], Awaitable[None]],
        encode: Callable[[_Record], Message],
    ) -> None:
        super().__init__(what, items, max_queued)
        self._encode = encode
        self._partitions = partitions
        self._prepare = prepare
        self._waiting: deque[_Record] = deque()
        self._in_hand: list[Message] = []
        self._filled = asyncio.Event()
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        await self._prepare()
        self._task = asyncio.create_task(self._run(), name=self._what)

    def put_all(self, records: Iterable[_Record], count: int) -> None:
        if self._stopping.is_set():
            self._drop(STOPPED, count)
            return
        taken = max(0, min(count, self._max_queued - self.queued))
        self._waiting.extend(islice(records, taken))
        self._drop(QUEUE_FULL, count - taken)
        if taken:
            self._filled.set()

    async def stop(self, seconds: float) -> None:
        self._stopping.set()
        self._filled.set()
        if self._task is not None:
            _, running = await asyncio.wait([self._task], timeout=seconds)
            for task in running:
                task.cancel()
                await asyncio.wait([task])
        if self.queued:
            what, items = self._what, self._items
            log.warning("%s: %d %s were not written in time", what, self.queued, items)
            self._drop(STOPPED, self.queued)
            self._waiting.clear()
            self._in_hand = []
        await self._partitions.close()

    @property
    def queued(self) -> int:
        return len(self._waiting) + len(self._in_hand)

    async def _run(self) -> None:
        failures = 0
        while self.queued or not self._stopping.is_set():
            if not self.queued:
                self._filled.clear()
                await self._filled.wait()
                continue
            try:
                problem = await self._write()
            # Caught: a defect here must not end the writing for good.
            except Exception as error:
                log.exception("writing the %s failed", self._what)
                problem = type(error).__name__
            failures = failures + 1 if problem else 0
            if problem:
                if self._complaint_is_due():
                    log.error("%s: %s wait, writing failed: %s", self._what, self._items, problem)
                await self._back_off(failures)

    async def _write(self) -> str:
        """Write the next records; returns why not all could be written, or an empty text."""
        most = LAST_CHUNK if self._stopping.is_set() else CHUNK
        while self._waiting and len(self._in_hand) < most:
            self._in_hand.append(self._encode(self._waiting.popleft()))
        try:
            done = await self._partitions.write(self._in_hand)
        except TopicMissing as missing:
            try:
                await self._prepare()
            except (TopicError, OSError) as error:
                return str(error)
            return str(missing)
        except LogError as error:
            return str(error)
        self._in_hand = done.left
        self._written += done.written
        self._drop(TOO_LARGE, done.too_large)
        return done.problem

    async def _back_off(self, failures: int) -> None:
        """Wait before the next try, but only briefly once the sink is stopping."""
        longest = min(_FIRST_BACKOFF * 2.0 ** min(failures - 1, 16), _LONGEST_BACKOFF)
        with suppress(TimeoutError):
            async with asyncio.timeout(longest * random.uniform(0.5, 1.0)):  # noqa: S311 - no secret
                await self._stopping.wait()
                await asyncio.sleep(_FIRST_BACKOFF)
