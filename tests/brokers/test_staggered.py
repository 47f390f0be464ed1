"""gateway.brokers.staggered: several addresses, of which some are silent."""

from __future__ import annotations

import asyncio

import pytest

from gateway.brokers.staggered import MOST_SECONDS, first_of
from tests.catalog.skipped_time import skipping

TIMEOUT = 5.0


class Attempts:
    """Attempts at numbers: each takes its seconds, and fails if it is negative."""

    def __init__(self) -> None:
        self.begun: list[tuple[float, float]] = []
        self.failures: list[float] = []
        self.discarded: list[float] = []
        self.ended = 0

    async def attempt(self, seconds: float) -> float:
        self.begun.append((seconds, asyncio.get_running_loop().time()))
        try:
            await asyncio.sleep(min(abs(seconds), TIMEOUT))
        finally:
            self.ended += 1
        if seconds < 0 or seconds > TIMEOUT:
            raise OSError(seconds)
        return seconds

    async def first_of(self, *candidates: float) -> float | None:
        return await first_of(
            candidates,
            self.attempt,
            timeout=TIMEOUT,
            failed=lambda candidate, _: self.failures.append(candidate),
            discard=self.discarded.append,
        )


@skipping
async def test_a_silent_one_has_a_head_start_and_no_more() -> None:
    attempts = Attempts()
    assert await attempts.first_of(99, 98, 0.5, 0) == 0.5
    assert [number for number, _ in attempts.begun] == [99, 98, 0.5]
    assert asyncio.get_running_loop().time() == pytest.approx(2 * MOST_SECONDS + 0.5)
    assert attempts.ended == 3
    assert attempts.failures == []


@skipping
async def test_one_that_fails_makes_way_at_once() -> None:
    attempts = Attempts()
    assert await attempts.first_of(-0.1, -0.1, 0.2) == 0.2
    assert attempts.failures == [-0.1, -0.1]
    assert asyncio.get_running_loop().time() == pytest.approx(0.4)


@skipping
async def test_many_that_are_silent_take_no_longer_than_few() -> None:
    attempts = Attempts()
    assert await attempts.first_of(*range(10, 60)) is None
    assert attempts.failures == [*range(10, 60)]
    assert asyncio.get_running_loop().time() <= 2 * TIMEOUT


@skipping
async def test_nothing_to_try() -> None:
    assert await Attempts().first_of() is None


@skipping
async def test_two_at_the_same_moment_are_one_and_a_discarded_one() -> None:
    together = asyncio.Event()
    discarded: list[int] = []

    async def attempt(candidate: int) -> int:
        await together.wait()
        return candidate

    asyncio.get_running_loop().call_later(3, together.set)
    first = await first_of(
        (7, 8), attempt, timeout=TIMEOUT, failed=lambda *_: None, discard=discarded.append
    )
    await asyncio.sleep(0)
    assert (first, discarded) == (7, [8])


@skipping
async def test_what_is_under_way_ends_with_its_caller() -> None:
    attempts = Attempts()
    asking = asyncio.create_task(attempts.first_of(99, 98))
    await asyncio.sleep(1.5 * MOST_SECONDS)
    asking.cancel()
    await asyncio.wait([asking])
    assert (attempts.ended, attempts.failures) == (2, [])
