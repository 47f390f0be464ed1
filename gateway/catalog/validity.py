"""Until when a process may decide by what it knows of the catalog."""

from __future__ import annotations

import math
from collections.abc import Callable


class Validity:
    """Until when a process may decide by what it knows of the catalog; read for every request.

    A process that was stopped goes on with what lies in its sockets before it runs its timers, so
    the time itself has to be looked at. ``until`` is in seconds of ``monotonic``; with ``inf``
    there is nothing to end. Whoever finds it in the past calls ``end``, which tells the subscribers
    of the catalog that it is not fresh any more.
    """

    __slots__ = ("end", "until")

    def __init__(self, end: Callable[[], None] = lambda: None) -> None:
        self.until = math.inf
        self.end = end
