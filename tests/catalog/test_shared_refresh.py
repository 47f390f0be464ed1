"""A single refresh for every task that requests it meanwhile."""

from __future__ import annotations

import asyncio
import time

import pytest

from gateway.catalog.log.freshness import SharedRefresh
from gateway.catalog.source import CatalogUnavailable


class Looks:
    """Refreshes that take a while, counted."""

    def __init__(self) -> None:
        self.begun: list[float] = []
        self.ended = 0
        self.failure: CatalogUnavailable | None = None
        self.hold = asyncio.Event()
        self.hold.set()

    async def __call__(self) -> None:
        self.begun.append(time.monotonic())
        await self.hold.wait()
        self.ended += 1
        if self.failure is not None:
            raise self.failure


async def test_who_comes_during_a_look_gets_the_next_one() -> None:
    looks = Looks()
    shared = SharedRefresh(looks, 0.0)
    looks.hold.clear()
    first = asyncio.create_task(shared.ask())
    await asyncio.sleep(0.01)
    later = [asyncio.create_task(shared.ask()) for _ in range(10)]
    await asyncio.sleep(0.01)
    assert len(looks.begun) == 1
    looks.hold.set()
    await first
    await asyncio.gather(*later)
    assert len(looks.begun) == 2
    await shared.stop()


async def test_looks_are_apart() -> None:
    looks = Looks()
    shared = SharedRefresh(looks, 0.05)
    for _ in range(3):
        await shared.ask()
    gaps = [after - before for before, after in zip(looks.begun, looks.begun[1:], strict=False)]
    assert min(gaps) > 0.045
    await shared.stop()


async def test_a_failure_is_for_those_who_shared_it() -> None:
    looks = Looks()
    shared = SharedRefresh(looks, 0.0)
    looks.failure = CatalogUnavailable("gone")
    results = await asyncio.gather(shared.ask(), shared.ask(), return_exceptions=True)
    assert list(results) == [looks.failure] * 2
    looks.failure = None
    await shared.ask()
    await shared.stop()


async def test_one_caller_that_is_cancelled_leaves_the_others() -> None:
    looks = Looks()
    shared = SharedRefresh(looks, 0.0)
    looks.hold.clear()
    one, other = asyncio.create_task(shared.ask()), asyncio.create_task(shared.ask())
    await asyncio.sleep(0.01)
    one.cancel()
    looks.hold.set()
    await other
    assert one.cancelled() or await asyncio.wait([one])
    assert looks.ended == 1
    await shared.stop()


async def test_stop_answers_those_who_wait() -> None:
    looks = Looks()
    shared = SharedRefresh(looks, 0.0)
    looks.hold.clear()
    waiting = [asyncio.create_task(shared.ask())]
    await asyncio.sleep(0.01)
    waiting.append(asyncio.create_task(shared.ask()))
    await asyncio.sleep(0.01)
    await shared.stop()
    for task in waiting:
        with pytest.raises(CatalogUnavailable, match="stops"):
            await task
