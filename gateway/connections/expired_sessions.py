"""Connections whose login expires, and how a sweep closes them once it has expired.

No connection closes only because the time has come: its session checks the next request, as a
broker does (``gateway.session.expiry``). A sweep has to close the connections of clients that send
nothing more, and connections with requests sent ahead that a broker would not have read before the
login expired.
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
"""Seconds for which an idle connection outlives its login: as long as brokers keep idle connections
by default (connections.max.idle.ms). Until then the client may re-authenticate, as at a broker. The
broker's own idle limit may never apply, because the gateway prolongs its own session on the
connection."""


class ExpiredSessions:
    """The connections of a worker whose login expires. Times are of the monotonic clock.

    ``revoke`` closes a connection at once, so that its broker drops the requests that it has not
    begun with.
    """

    def __init__(self, revoke: Callable[[Connection, str], None]) -> None:
        self._revoke = revoke
        self._ending: dict[Connection, float] = {}
        # Connections past the end of their login, with the request that was under way at that time.
        self._busy: dict[Connection, Exchange | None] = {}
        # Connections past the end of their login without a request under way, and the time until
        # which they stay open, in the order of that time.
        self._idle: dict[Connection, float] = {}

    def identified(self, connection: Connection, ends: float) -> None:
        """Track a connection whose identity expires at ``ends``."""
        self.closed(connection)
        if ends != NEVER:
            self._ending[connection] = ends

    def closed(self, connection: Connection) -> None:
        """Stop tracking a connection that is gone."""
        for known in (self._ending, self._busy, self._idle):
            known.pop(connection, None)

    def sweep(self, now: float) -> None:
        """Close the connections that have outlived their login for too long."""
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
            # The client sent it ahead: a broker would have read it only now, after its response to
            # the request before.
            self._revoke(connection, SESSION_EXPIRED)

    def _end_idle(self, connection: Connection, now: float) -> None:
        if connection.session.waiting is None:
            self._revoke(connection, SESSION_EXPIRED)
        else:  # a re-authentication is under way
            del self._idle[connection]
            self._idle[connection] = now + IDLE_SECONDS
