"""Readers of a log in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from gateway.catalog.log.reader import Reader
from tests.catalog.fake_log import FakeLog, FakePartition


@asynccontextmanager
async def reading(
    log: FakeLog,
    *,
    max_staleness: float = 30.0,
    check: Callable[[], Awaitable[None]] | None = None,
    refresh_seconds: float = 5.0,
) -> AsyncIterator[Reader]:
    """A started reader."""
    reader = Reader(
        FakePartition(log),
        max_staleness=max_staleness,
        check=check,
        refresh_seconds=refresh_seconds,
    )
    await reader.start(5.0)
    try:
        yield reader
    finally:
        await reader.stop()


def paths(reader: Reader) -> set[str]:
    """The namespaces that a reader knows."""
    return set(reader.snapshot.namespaces)


def not_readable(reader: Reader) -> bool:
    """Whether a reader has met enough failures to raise an error at once."""
    return reader._is_lost
