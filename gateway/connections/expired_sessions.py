"""Connections whose login has an end, and what a sweep does with them once it is over.

Nothing is closed for the end alone: the session itself looks at the next request, as a broker does
(``gateway.session.expiry``). What is left for a sweep is what a broker would not have read yet, and
clients that send nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from gateway.connections.closing import SESSION_EXPIRED, guard
from gateway.connections.connection import Connection
from gateway.exchanges.exchange import Exchange
from gateway.session.expiry import NEVER

IDLE_SECONDS: Final = 600.0
"""How long an idle connection outlives its login: as long as brokers keep idle ones by default
(connections.max.idle.ms). Until then its client may come back and prolong it, as at a broker. Their
own limit may never come, because the gateway prolongs its own sessions on that connection."""


class ExpiredSessions:
    """The connections of one worker. Times are of the monotonic clock. ``revoke`` closes a
    connection at once, so that its broker drops what it has not begun with."""

    def __init__(self, revoke: Callable[[Connection, str], None]) -> None:
        self._revoke = revoke
        self._ending: dict[Connection, float] = {}
        # Past their end, with the request that was under way then.
        self._busy: dict[Connection, Exchange | None] = {}
        # Past their end, with nothing under way; until when. In the order of that time.
        self._idle: dict[Connection, float] = {}

    def identified(self, connection: Connection, ends: float) -> None:
        """A connection has an identity that ends then."""
        self.closed(connection)
        if ends != NEVER:
            self._ending[connection] = ends

    def closed(self, connection: Connection) -> None:
        """A connection is gone."""
        for known in (self._ending, self._busy, self._idle):
            known.pop(connection, None)

    def sweep(self, now: float) -> None:
        """Close what has outlived its login for too long."""
        for connection in [each for each, ends in self._ending.items() if ends <= now]:
            del self._ending[connection]
            self._busy[connection] = connection.session.first
        for connection in list(self._busy):
            guard(connection, partial(self._look, connection, now))
        for connection, until in list(self._idle.items()):
            if until > now:
                break
            guard(connection, partial(self._end_idle, connection, now))

    def _look(self, connection: Connection, now: float) -> None:
        session, before = connection.session, self._busy[connection]
        first = session.first
        if first is None:
            if session.waiting is None:
                del self._busy[connection]
                self._idle[connection] = now + IDLE_SECONDS
            return
        if before is None:
            self._busy[connection] = first
        elif first is not before and first.arrived < session.ends:
            # Sent ahead: a broker would have found it only now, after the response before it.
            self._revoke(connection, SESSION_EXPIRED)

    def _end_idle(self, connection: Connection, now: float) -> None:
        if connection.session.waiting is None:
            self._revoke(connection, SESSION_EXPIRED)
        else:  # a re-authentication
            del self._idle[connection]
            self._idle[connection] = now + IDLE_SECONDS
