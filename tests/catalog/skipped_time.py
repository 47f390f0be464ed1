"""An event loop that never waits: if no task is ready, its clock skips to the next timer.

A timer there is late only by the time that was requested, never because the machine was busy. It is
for code that waits only for the loop; for code that waits for a socket or a thread, time would race
by.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec

Parameters = ParamSpec("Parameters")


class _SkippingSelector(selectors.DefaultSelector):
    """A selector that takes no time to wait, and adds up the time that it skipped (seconds)."""

    def __init__(self) -> None:
        super().__init__()
        self.skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Select as the standard library does, but without waiting."""
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
