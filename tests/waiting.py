"""Waiting on conditions on an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

Value = TypeVar("Value")

_POLL_SECONDS = 0.01


async def eventually(condition: Callable[[], Value], what: str, seconds: float = 120.0) -> Value:
    """The value of ``condition`` once it is true; fails with the text ``what`` after
    ``seconds``."""
    try:
        async with asyncio.timeout(seconds):
            while not (value := condition()):
                await asyncio.sleep(_POLL_SECONDS)
            return value
    except TimeoutError:
        raise AssertionError(f"{what}: not within {seconds:g} s") from None
