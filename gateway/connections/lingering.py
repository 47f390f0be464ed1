"""Connections of one worker that wait for a broker after their clients have gone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gateway.connections.broker_side import BrokerSide
    from gateway.connections.connection import Connection

MAX_LINGERING: Final = 1_000
"""At once. Each keeps a connection to a broker for a minute at most, so clients that come and go
could hold as many as they like."""

TOO_MANY: Final = "too many connections wait for brokers"
"""Kind of the end of a connection that may not wait any more (``gateway/connections/ends.py``)."""


class Lingering:
    """Those that wait now."""

    def __init__(self, most: int = MAX_LINGERING) -> None:
        self._most = most
        self._waiting: set[Connection] = set()

    def see_off(self, connection: Connection, broker: BrokerSide | None) -> bool:
        """Let the broker's side of a connection that ends wait, if there is something to wait for;
        False: it had to, and there are too many."""
        if broker is None or broker.lingering or not connection.session.owing:
            return True
        if len(self._waiting) >= self._most:
            return False
        self._waiting.add(connection)
        broker.linger()
        return True

    def left(self, connection: Connection) -> None:
        """It waits no more, if it did."""
        self._waiting.discard(connection)
