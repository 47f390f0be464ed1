"""How long the catalog that was read counts as fresh."""

from __future__ import annotations

import asyncio
import math
from time import monotonic as now

from gateway.catalog.log.freshness import Freshness
from tests.waiting import eventually


async def test_it_begins_with_the_first_read() -> None:
    freshness = Freshness(10.0, lambda: None)
    assert not freshness
    assert freshness.note(now())
    assert freshness
    assert not freshness.note(now())
    freshness.end()


async def test_it_counts_from_the_beginning_of_the_read() -> None:
    expired: list[float] = []
    freshness = Freshness(0.2, lambda: expired.append(now()))
    began = now() - 0.1
    freshness.note(began)
    await eventually(lambda: expired, "the end of freshness")
    assert expired[0] - began >= 0.19
    assert not freshness
    assert freshness.note(now())
    freshness.end()


async def test_an_older_read_does_not_shorten_it() -> None:
    freshness = Freshness(10.0, lambda: None)
    newest = now()
    freshness.note(newest)
    freshness.note(newest - 9.0)
    assert freshness.read_at == newest
    freshness.end()


async def test_an_old_read_does_not_make_it_fresh() -> None:
    freshness = Freshness(0.1, lambda: None)
    freshness.note(now() - 1.0)
    assert not freshness
    freshness.end()


async def test_an_end_is_told_to_its_caller_alone() -> None:
    expired: list[float] = []
    freshness = Freshness(0.05, lambda: expired.append(now()))
    freshness.note(now())
    assert freshness.end()
    assert not freshness.end()
    assert not freshness
    await asyncio.sleep(0.1)
    assert expired == []


async def test_whoever_finds_it_over_before_its_timer_does_ends_it() -> None:
    """The process was stopped, and the bytes in its sockets come first."""
    expired: list[bool] = []
    freshness = Freshness(10.0, lambda: expired.append(bool(freshness)))
    validity = freshness.validity
    assert validity.until == math.inf
    began = now()
    freshness.note(began)
    assert validity.until == began + 10.0
    validity.end()
    assert expired == [False]
    assert validity.until == math.inf
    assert freshness.note(now())
    assert now() < validity.until < math.inf
    freshness.end()
    assert validity.until == math.inf
    assert expired == [False]
