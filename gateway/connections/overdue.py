"""Resets connections on which brokers owe a response while the catalog cannot be read.

A worker that cannot read the catalog decides no requests, and after a while changes of the catalog
do not wait for it any more. The requests that it sent before may lie in a buffer, its own or its
system's, until the network is back, long after such a change. A reset drops them there. A short gap
resets nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from functools import partial

from gateway.connections.closing import OUT_OF_DATE, guard
from gateway.connections.connection import Connection
from gateway.exchanges.worker_state import WorkerState


class Overdue:
    """Resets the connections of a worker's clients to a volume on which a broker still owes a
    request that changes a topic. All of it belongs to a single event loop."""

    def __init__(self, connections: Collection[Connection], state: WorkerState) -> None:
        self._connections = connections
        self._state = state
        self._timer: asyncio.TimerHandle | None = None

    def see(self, seconds: float | None) -> None:
        """Reset the connections after ``seconds``, in which no request is decided. None stops that:
        clients are served again."""
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
