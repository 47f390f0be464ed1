"""The time until which a process may decide by its snapshot of the catalog."""

from __future__ import annotations

import math
from collections.abc import Callable


class Validity:
    """The time until which a process may decide by its snapshot; read for every request.

    A process that was stopped and goes on handles the requests in its sockets before it runs its
    timers, so the time itself has to be compared. ``until`` is in seconds of ``monotonic``;
    ``inf``: no end. A caller that finds it in the past calls ``end``, which notifies the catalog's
    subscribers that the snapshot is not fresh any more.
    """

    __slots__ = ("end", "until")

    def __init__(self, end: Callable[[], None] = lambda: None) -> None:
        self.until = math.inf
        self.end = end
