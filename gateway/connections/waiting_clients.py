"""Clients that have not authenticated, or sent nothing, and which of them is closed for others.

Places for TLS handshakes and logins are few (``unauthenticated.max_connections``), and every client
that connects takes a place. No client may lock the others out, so an address has at most a share of
the places, and if no place is left, the client that has been silent the longest gives way: clients
that mean to log in do so at once. If most clients have sent something, the first of these gives
way. Otherwise a single byte from each client of a crowd would suffice, and only the client that has
just come would be closed.
"""

from __future__ import annotations

from time import monotonic
from typing import Final, Protocol

from gateway.config.security import Unauthenticated
from gateway.connections.base import BaseConnection
from gateway.connections.closing import guard
from gateway.peers import network_of
from gateway.tls.handshake import FULL

LONGER_ABOUT_IT: Final = f"{FULL}: others are waiting"

SILENT_SECONDS: Final = 600.0
"""Seconds that a client may stay connected without a request (connections.max.idle.ms)."""

SENT_NOTHING: Final = "client sent nothing"


class UnauthenticatedClient(Protocol):
    """A TLS handshake (:class:`gateway.tls.handshake.Handshake`) or a login under way
    (``login_connection.LoginConnection``); ``host`` is the client's IP address."""

    @property
    def host(self) -> str: ...

    def give_way(self, reason: str) -> None:
        """Close the client, which leaves its place at once."""
        ...


class _Line:
    """Clients in the order in which they connected, separated by whether they have sent
    something."""

    __slots__ = ("silent", "speaking")

    def __init__(self) -> None:
        self.silent: dict[UnauthenticatedClient, None] = {}
        self.speaking: dict[UnauthenticatedClient, None] = {}

    def __len__(self) -> int:
        return len(self.silent) + len(self.speaking)

    def first(self) -> UnauthenticatedClient | None:
        most = self.silent if 2 * len(self.silent) >= len(self) else self.speaking
        return next(iter(most), None)

    def spoke(self, client: UnauthenticatedClient) -> None:
        if client in self.silent:
            del self.silent[client]
            self.speaking[client] = None

    def remove(self, client: UnauthenticatedClient) -> None:
        self.silent.pop(client, None)
        self.speaking.pop(client, None)


class UnauthenticatedClients:
    """TLS handshakes and logins under way at one listener of a worker."""

    def __init__(self, limits: Unauthenticated) -> None:
        self._most = limits.max_connections
        self._share = max(1, int(limits.max_connections * limits.max_share_per_ip))
        self._all = _Line()
        self._by_address: dict[str, _Line] = {}

    def __len__(self) -> int:
        return len(self._all)

    def enter(self, client: UnauthenticatedClient) -> None:
        """Track a client that begins; when its address has its share, or all places are taken,
        another client gives way."""
        address = network_of(client.host)
        line = self._by_address.get(address)
        if line is None:
            line = self._by_address[address] = _Line()
        full = line if len(line) >= self._share else self._all
        gives_way = full.first() if full is line or len(self._all) >= self._most else None
        for each in (line, self._all):
            each.silent[client] = None
        if gives_way is not None:
            gives_way.give_way(LONGER_ABOUT_IT)

    def spoke(self, client: UnauthenticatedClient) -> None:
        """Note that a client has sent something."""
        self._all.spoke(client)
        line = self._by_address.get(network_of(client.host))
        if line is not None:
            line.spoke(client)

    def leave(self, client: UnauthenticatedClient) -> None:
        """Stop tracking a client that has authenticated, or is gone; does nothing if it is not
        tracked."""
        self._all.remove(client)
        address = network_of(client.host)
        line = self._by_address.get(address)
        if line is not None:
            line.remove(client)
            if not line:
                del self._by_address[address]

    def make_room(self) -> bool:
        """Close the client that has been silent the longest. Returns False if no client is
        silent."""
        client = next(iter(self._all.silent), None)
        if client is not None:
            client.give_way(LONGER_ABOUT_IT)
        return client is not None


class SilentClients:
    """Clients of a worker that were admitted and have sent nothing: health checks, port scans,
    forgotten sockets.

    In a tree, these are also clients that have no broker connection, whose idle limit would apply
    to them, and have sent nothing since. They are kept by listener, the longest silent first, with
    the time since when.
    """

    def __init__(self) -> None:
        self._since: dict[str, dict[BaseConnection, float]] = {}

    def add(self, connection: BaseConnection) -> None:
        """Track a client that was admitted, or has sent something and has no broker connection."""
        waiting = self._since.setdefault(connection.listener, {})
        waiting.pop(connection, None)  # it moves to the end
        waiting[connection] = monotonic()

    def remove(self, connection: BaseConnection) -> None:
        """Stop tracking a client that has a broker connection, or is gone."""
        self._since.get(connection.listener, {}).pop(connection, None)

    def sweep(self, now: float) -> None:
        """Close clients that were silent for too long."""
        for waiting in self._since.values():
            for connection, since in list(waiting.items()):
                if now - since < SILENT_SECONDS:
                    break  # they are in order of time
                _close(connection)

    def make_room(self, listener: str) -> bool:
        """Close the client of a listener that has been silent the longest. Returns False if no
        client is silent."""
        connection = next(iter(self._since.get(listener, ())), None)
        if connection is not None:
            self.remove(connection)
            _close(connection)
        return connection is not None


def _close(connection: BaseConnection) -> None:
    guard(connection, lambda: connection.close(SENT_NOTHING, quietly=True))
