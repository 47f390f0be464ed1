"""Clusters of scripted brokers, which list only if a test makes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from gateway.cluster.cluster import Cluster
from tests.cluster.scripted_broker import (
    ScriptedBroker,
)

ORDERS, LOGS, NEW = UUID(int=1), UUID(int=2), UUID(int=3)
# Long enough that no request is sent unless a test causes it.
NEVER = 3600.0


def make(*bootstrap: ScriptedBroker | tuple[str, int], **options: Any) -> Cluster:
    servers = [b.address if isinstance(b, ScriptedBroker) else b for b in bootstrap]
    defaults = {
        "poll_interval": NEVER,
        "min_refresh_interval": 0.0,
        "start_timeout": 0.0,
        "settle_time": 0.0,
    }
    return Cluster("main", servers, **{**defaults, **options})


@asynccontextmanager
async def started(
    *bootstrap: ScriptedBroker | tuple[str, int], **options: Any
) -> AsyncIterator[Cluster]:
    cluster = make(*bootstrap, **options)
    await cluster.start()
    try:
        yield cluster
    finally:
        await cluster.stop()


class Changes:
    """Counts calls of ``on_change`` and lets a test wait until a condition holds."""

    def __init__(self, cluster: Cluster) -> None:
        self.count = 0
        self._called = asyncio.Event()
        cluster.on_change.append(self._on_change)

    def _on_change(self) -> None:
        self.count += 1
        self._called.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(120):
            while not holds():
                self._called.clear()
                await self._called.wait()


async def turns_of_the_loop() -> None:
    """Let every task that can run do so; do not wait for anything that takes time."""
    for _ in range(5):
        await asyncio.wait([asyncio.create_task(_nothing())])


async def _nothing() -> None:
    pass
