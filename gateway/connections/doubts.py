"""Requests in flight of all clients that have to be checked again, in turn and in slices.

A change of the catalog concerns every connection at once. It may leave a long request of a single
connection to check, or a short request of each of thousands, so all connections share a task: if
each had its own, all tasks would run in the same round of the event loop. Tenants take turns, so
that a tenant with many long requests in flight does not delay the check of the others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

from gateway.connections.closing import Guarded, guard
from gateway.connections.tasks import Tasks
from gateway.connections.tenants import line_of
from gateway.rotation import Rotation
from gateway.session.session import Session
from gateway.slices import Slices, Turns, in_slices
from protocol.pausing import pause_point


class Doubts:
    """The connections and lanes of a worker whose session has ``doubted`` requests."""

    def __init__(self, turns: Turns, tasks: Tasks) -> None:
        self._turns = turns.revoked()
        self._tasks = tasks
        self._waiting: dict[Guarded, tuple[Session, Callable[[], None]]] = {}
        # Those that have come are put in order later, because this may be all connections at once.
        self._come: deque[Guarded] = deque()
        self._order: Rotation[Guarded] = Rotation()
        self._checking = False

    def add(self, owner: Guarded, session: Session, end: Callable[[], None]) -> None:
        """Check the doubted requests of an owner's session, and call ``end`` if a request is not
        allowed any more. If the check itself fails, ``owner.fail`` is called."""
        if owner not in self._waiting:
            self._come.append(owner)
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
            if self._come:
                owner = self._come.popleft()
                self._order.add(line_of(self._waiting[owner][0].state), owner)
                continue
            found = self._order.take()
            assert found is not None
            _, owner = found
            # Removed before the check: a change that comes meanwhile adds the owner again.
            session, end = self._waiting.pop(owner)
            guard(owner, partial(_check, session, end))


def _check(session: Session, end: Callable[[], None]) -> None:
    if not session.check_doubted():
        end()
