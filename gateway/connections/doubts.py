"""Requests in flight that have to be checked again, of all clients: one after the other, in slices.

A change of the catalog concerns every connection at once. What it leaves doubted may be a long
request of one of them or a short one of each of thousands, so all of them share one piece of work:
a task for each would run them all in one round of the event loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gateway.connections.closing import Guarded, guard
from gateway.connections.tasks import Tasks
from gateway.session.session import Session
from gateway.slices import Slices, Turns, in_slices
from protocol.pausing import pause_point


class Doubts:
    """The connections and lanes of one worker whose session has ``doubted`` requests."""

    def __init__(self, turns: Turns, tasks: Tasks) -> None:
        self._turns = turns
        self._tasks = tasks
        self._waiting: dict[Guarded, tuple[Session, Callable[[], None]]] = {}
        self._checking = False

    def add(self, owner: Guarded, session: Session, end: Callable[[], None]) -> None:
        """Check the doubted requests of an owner's session; ``end`` is called if one of them is not
        allowed any more. If the check fails, the owner does."""
        self._waiting[owner] = session, end
        if not self._checking:
            self._checking = True
            self._tasks.run(self._check())

    async def _check(self) -> None:
        try:
            await in_slices(self._turns, Slices(self._check_all))
        finally:
            self._checking = False

    def _check_all(self) -> None:
        while self._waiting:
            pause_point()
            owner, (session, end) = next(iter(self._waiting.items()))
            # Before it is checked, since a change that comes meanwhile adds it once more.
            del self._waiting[owner]
            guard(owner, partial(_check, session, end))


def _check(session: Session, end: Callable[[], None]) -> None:
    if not session.check_doubted():
        end()
