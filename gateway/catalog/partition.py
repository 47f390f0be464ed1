"""The catalog's partition, as its reader and writer use it (gateway/catalog/kafka_partition.py)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from gateway.catalog.records import Record
from gateway.catalog.snapshot import Snapshot


class LogError(Exception):
    """The partition could not be asked, and nothing was written. The text names no address."""


class OffsetOutOfRange(LogError):
    """There is no such offset: the log was truncated, or is another one."""


class Fenced(LogError):
    """Another writer has taken the transactional id: nothing of the transaction is written."""


class OutcomeUnknown(LogError):
    """Whether the transaction was committed is not known until the id has been taken again."""


class Overtaken(LogError):
    """Something else was written where the records were to stand: readers skip them."""


class Fetched(NamedTuple):
    """Committed records in order, the offset to go on at, and the end of what is committed."""

    records: Sequence[Record]
    next: int
    end: int


class Partition(Protocol):
    """Reads what is committed. Every method raises LogError."""

    async def fetch(self, offset: int, wait: float) -> Fetched:
        """Records from ``offset`` on; where there are none yet, ``wait`` so many seconds.

        Raises OffsetOutOfRange. One caller at a time; the other methods do not wait for it.
        """
        ...

    async def beginning(self) -> int:
        """The first offset that there is."""
        ...

    async def end(self) -> int:
        """The offset after all that is committed."""
        ...

    async def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        ...


class Transactions(Protocol):
    """Writes, as the one holder of a transactional id."""

    async def take(self) -> None:
        """Take the id: every other holder is fenced, and what it had begun is ended.

        After that no record of an earlier holder can appear. Raises LogError.
        """
        ...

    async def commit(self, records: Sequence[Record]) -> None:
        """Write all of the records, or none, in one transaction of the id taken before.

        Raises Fenced, OutcomeUnknown and, with nothing written, any other LogError; the id is
        to be taken again then.
        """
        ...

    async def close(self) -> None:
        """Let go of the id, and close the connections."""
        ...


class LogReader(Protocol):
    """What the writer needs of the reader (gateway/catalog/log.py)."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest state that was read."""
        ...

    @property
    def decision(self) -> str:
        """The newest decision in it."""
        ...

    @property
    def position(self) -> int:
        """The offset of the next record."""
        ...

    async def refresh(self) -> None:
        """Read to the end; raises CatalogUnavailable."""
        ...

    def expect(self, decision: str) -> asyncio.Future[Snapshot | None]:
        """The snapshot that holds the decision, once it is read; None if it was skipped."""
        ...
