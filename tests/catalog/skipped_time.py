"""An event loop on which nobody waits: when nothing is left to do, its clock goes to what is next.

What is late there is late by what was asked for, never because the machine was busy. It is for
code that waits for the loop alone; what waits for a socket or a thread would see time race by.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

Parameters = ParamSpec("Parameters")


class _SkippingSelector(selectors.DefaultSelector):
    """Takes no time to wait, and says how much it would have taken (seconds)."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """See the standard library's."""
        if timeout is None:
            return super().select(None)
        events = super().select(0)
        if not events and timeout > 0:
            self.skipped += timeout
        return events


class _SkippingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._waits = _SkippingSelector()
        super().__init__(self._waits)

    def time(self) -> float:
        """Seconds since the loop was made, all of which were skipped."""
        return self._waits.skipped


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test's coroutine on such a loop."""
    with asyncio.Runner(loop_factory=_SkippingLoop) as runner:
        runner.run(test())


def skipping(test: Callable[Parameters, Coroutine[Any, Any, None]]) -> Callable[Parameters, None]:
    """A test, as a decorator, that runs on such a loop."""

    @functools.wraps(test)
    def on_loop(*args: Parameters.args, **named: Parameters.kwargs) -> None:
        run(lambda: test(*args, **named))

    return on_loop
