"""Where the requests of a worker can be watched while an operator traces them.

As a rule nobody does, so each place costs one look at a slot: nothing is collected, timed or
formatted for a trace that does not run (``gateway.session.tracing``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gateway.decision import Denied
from gateway.exchanges.exchange import Exchange, Plan


class Watch:
    """The functions that watch this process's requests; each is None while nobody does."""

    __slots__ = ("denied", "done", "made")

    def __init__(self) -> None:
        self.made: Callable[[Plan], None] | None = None
        """Takes a plan that has just been made."""

        self.denied: Callable[[Exchange, bytes, Denied], None] | None = None
        """Takes a denied item of a request: its name or id as the client wrote it, the denial."""

        self.done: Callable[[list[Exchange], float], None] | None = None
        """Takes exchanges whose responses have been written, and when (monotonic seconds)."""


WATCH: Final = Watch()
