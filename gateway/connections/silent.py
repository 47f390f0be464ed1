"""Clients that are in and have sent nothing yet: health checks, port scans, forgotten sockets."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Final

from gateway.connections.guarding import guard

if TYPE_CHECKING:
    from gateway.connections.connection import Connection

SILENT_SECONDS: Final = 600.0
"""Seconds a client may stay connected without a request (connections.max.idle.ms)."""

SENT_NOTHING: Final = "client sent nothing"


class SilentClients:
    """Of one worker: by listener, the longest silent first, and since when."""

    def __init__(self) -> None:
        self._since: dict[str, dict[Connection, float]] = {}

    def add(self, connection: Connection) -> None:
        """A client is in."""
        self._since.setdefault(connection.listener, {})[connection] = monotonic()

    def remove(self, connection: Connection) -> None:
        """It has sent something, or is gone."""
        self._since.get(connection.listener, {}).pop(connection, None)

    def sweep(self, now: float) -> None:
        """Close those that were silent for too long."""
        for waiting in self._since.values():
            for connection, since in list(waiting.items()):
                if now - since < SILENT_SECONDS:
                    break  # in the order they came
                _close(connection)

    def make_room(self, listener: str) -> bool:
        """Close a listener's client that has been silent the longest; False: none is silent."""
        connection = next(iter(self._since.get(listener, ())), None)
        if connection is not None:
            self.remove(connection)
            _close(connection)
        return connection is not None


def _close(connection: Connection) -> None:
    guard(connection, lambda: connection.close(SENT_NOTHING, quietly=True))
