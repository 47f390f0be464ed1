"""Sessions at brokers that end (KIP-368): renewed on the connections that carry clients.

A broker that gives sessions an end closes a connection at the first request after it. So before
it, between two of the client's requests, the gateway logs in once more. A sweep once a second
finds whose turn it is: no connection has a timer of its own.
"""

from __future__ import annotations

from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

from gateway.brokers.login import authenticate_version, log_in
from gateway.brokers.security import SESSION_USE
from gateway.session.own_requests import ask

if TYPE_CHECKING:
    from gateway.cluster.cluster import Cluster
    from gateway.connections.connection import Connection

SWEEP_SECONDS: Final = 1.0
"""How often :meth:`BrokerSessions.sweep` is called."""

SHORTEST: Final = 1.1
"""Seconds between two logins on one connection: brokers refuse another within one second."""


class BrokerSessions:
    """The client connections whose sessions at a broker end, and when each is renewed."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._due: dict[Connection, float] = {}

    def opened(self, connection: Connection, session_seconds: float) -> None:
        """The gateway has logged in for this connection; ``session_seconds`` 0: for good."""
        if session_seconds:
            wait = max(SESSION_USE * session_seconds - SWEEP_SECONDS, SHORTEST)
            self._due[connection] = monotonic() + wait

    def closed(self, connection: Connection) -> None:
        """The connection is gone."""
        self._due.pop(connection, None)

    def sweep(self, now: float) -> None:
        """Renew what is due by ``now``, of the monotonic clock."""
        for connection in [one for one, due in self._due.items() if due <= now]:
            del self._due[connection]
            connection.interject(partial(self._renew, connection))

    async def _renew(self, connection: Connection) -> None:
        """Log in once more, with the password of now. Raises BrokerError."""
        login = self._cluster.security.login()
        assert login is not None
        version = authenticate_version(self._cluster.api_versions)
        await log_in(login, partial(ask, connection.send_own), version)
        self.opened(connection, login.session_seconds)
