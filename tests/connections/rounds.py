"""The CPU seconds of each round of the event loop while some work is done."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import thread_time


async def longest_round(begin: Callable[[], object], done: Callable[[], bool]) -> float:
    """The CPU seconds of the longest round, from the callback ``begin`` on until ``done``."""
    rounds: list[float] = []
    before = thread_time()
    begin()
    while True:
        now = thread_time()
        rounds.append(now - before)
        if done():
            return max(rounds)
        before = thread_time()
        await asyncio.sleep(0)
