"""When Python looks for garbage cycles: not among the objects of a large request.

A pass over the oldest generation looks at every object that there is, in one go: 40 ms with those
of a request of 100,000 names, again and again while they become more. They are in no cycles and
are freed with the request, so the pass waits for that, but not for ever.
"""

from __future__ import annotations

import gc
from time import monotonic
from typing import Final

NEVER: Final = 1 << 30

MAX_SECONDS: Final = 60.0
"""How long passes wait for requests that come one after the other, without a pause between them."""


class Collector:
    """Counts what is under way that has many objects; while there is any, the oldest generation is
    not looked through."""

    def __init__(self) -> None:
        self._held = 0
        self._since = 0.0
        self._usual: tuple[int, int, int] | None = None

    def hold(self) -> None:
        """Something with many objects has begun."""
        if not self._held:
            self._since = monotonic()
        self._held += 1
        if monotonic() - self._since > MAX_SECONDS:
            self._go_on()
        elif self._usual is None and self._held == 1:
            self._usual = gc.get_threshold()
            gc.set_threshold(self._usual[0], self._usual[1], NEVER)

    def release(self) -> None:
        """It has ended."""
        self._held -= 1
        if not self._held:
            self._go_on()

    def _go_on(self) -> None:
        if self._usual is not None:
            gc.set_threshold(*self._usual)
            self._usual = None


COLLECTOR: Final = Collector()
"""The process has one garbage collector."""
