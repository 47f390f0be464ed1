"""Processes that write to a log in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gateway.catalog.entities import Change, Namespace
from gateway.catalog.log.reader import Reader
from gateway.catalog.log.writer import Writer
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import Decide, Observer
from tests.catalog.fake_log import FakeLog, FakePartition, FakeTransactions


class Exists(Exception):
    """The namespace exists already."""


def create(path: str, owner: str = "") -> Decide:
    """Create a namespace that must not exist."""

    def decide(snapshot: Snapshot) -> Sequence[Change]:
        if path in snapshot.namespaces:
            raise Exists(path)
        return [Namespace(path, {"owner": owner})]

    return decide


@dataclass
class Member:
    """A process: a reader and a writer."""

    reader: Reader
    writer: Writer
    transactions: FakeTransactions


@asynccontextmanager
async def member(
    log: FakeLog,
    *,
    change_seconds: float = 15.0,
    idle_seconds: float = 1.0,
    observer: Observer | None = None,
) -> AsyncIterator[Member]:
    """A process that reads and writes, and reports its changes to ``observer``."""
    reader = Reader(FakePartition(log), max_staleness=30.0)
    transactions = FakeTransactions(log)
    writer = Writer(
        reader,
        transactions,
        change_seconds=change_seconds,
        idle_seconds=idle_seconds,
        observer=observer,
    )
    await reader.start(5.0)
    writer.start()
    try:
        yield Member(reader, writer, transactions)
    finally:
        await writer.stop()
        await reader.stop()
