"""What brokers owe while the catalog cannot be read: it ends before names change hands without it.

A worker that cannot read the catalog decides nothing more, and after a while changes do not wait
for it. What it has sent by then may still lie in a buffer, of its own or of its system, until the
network is back: long after that. A reset drops it there. A short gap resets nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from functools import partial

from gateway.connections.closing import OUT_OF_DATE, guard
from gateway.connections.connection import Connection
from gateway.exchanges.worker_state import WorkerState


class Overdue:
    """Resets the connections, of one worker's clients to one volume, that brokers owe something
    which changes a topic. All of it belongs to one event loop."""

    def __init__(self, connections: Collection[Connection], state: WorkerState) -> None:
        self._connections = connections
        self._state = state
        self._timer: asyncio.TimerHandle | None = None

    def see(self, seconds: float | None) -> None:
        """Nothing is decided any more, and what was sent ends after so many seconds; None: clients
        are served."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None and seconds <= 0.0:
            self._end()
        elif seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._end)

    def _end(self) -> None:
        for connection in list(self._connections):
            session = connection.session
            if session.state.worker is self._state and session.unsettled:
                guard(connection, partial(connection.reset, OUT_OF_DATE))
