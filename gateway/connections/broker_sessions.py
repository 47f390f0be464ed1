"""Connections to brokers for clients: opening them, and renewing their sessions (KIP-368).

If a broker limits sessions, it closes a connection at the first request after its session has
expired. So the gateway logs in again before that, between two of the client's requests. A sweep
once a second finds the connections that are due, so no connection has a timer of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from functools import partial
from time import monotonic
from typing import Final

from gateway.brokers.errors import BrokerError, Unanswered
from gateway.brokers.login_exchange import authenticate_version, log_in
from gateway.brokers.opening import open_transport
from gateway.brokers.security import SESSION_USE
from gateway.cluster.cluster import Cluster
from gateway.cluster.listing import Address
from gateway.cluster.locating import locate, located_elsewhere
from gateway.connections.broker_room import ROOM_SECONDS, Place
from gateway.connections.broker_rooms import BrokerRooms
from gateway.connections.connection import Connection
from gateway.connections.tenants import Refused, RoomClient
from gateway.session.own_requests import ask

SLOW_SECONDS: Final = 10.0
"""Seconds, login included, after which a broker to which a connection is still being opened is
avoided for clients that may go to any broker. The client of this connection may wait on."""

SWEEP_SECONDS: Final = 1.0
"""Seconds between calls of :meth:`BrokerSessions.sweep`."""

SHORTEST_SECONDS: Final = 1.1
"""Seconds between two logins on a connection: brokers reject a second login within a second."""


async def open_broker(
    cluster: Cluster,
    node_id: int | None,
    take_over: Callable[[int, Place], asyncio.Protocol],
    rooms: BrokerRooms,
    client: RoomClient,
    *,
    log_in_first: bool = True,
) -> float:
    """Connect to the broker that a client's port stands for, or to any on a bootstrap port, if
    there is room for the client.

    ``take_over`` gets the node id and the place of the connection at the broker, and makes the
    protocol; see :func:`gateway.brokers.opening.open_transport` for the rest. If the broker is not
    listed, or does not accept at its listed address, the gateway looks for it in a new listing
    first. Raises OSError if there is no such broker, it does not accept, or there is no room.
    """
    address: Address | None
    if node_id is None:
        node_id, host, port = cluster.any_broker()
        address = host, port
    else:
        address = await locate(cluster, node_id)
    if address is None:
        raise ConnectionRefusedError(f"the cluster has no broker {node_id}")
    place = rooms.of(node_id).enter(client)
    try:
        open_at = partial(
            _open_at, cluster, node_id, place, partial(take_over, node_id, place), log_in_first
        )
        try:
            return await _open_in_room(place, partial(open_at, address))
        except Refused:
            raise
        except OSError:
            moved = await located_elsewhere(cluster, node_id, address)
            if moved is None:
                raise
            return await open_at(moved)
    except BaseException:
        place.leave()
        raise


async def _open_in_room(place: Place, open_connection: Callable[[], Awaitable[float]]) -> float:
    """Open a connection. If the broker closes it without a byte and an idle connection could be
    closed for it, try once more."""
    if place.made_room:
        await asyncio.sleep(ROOM_SECONDS)
    try:
        return await open_connection()
    except Refused:
        if not place.refused():
            raise
    await asyncio.sleep(ROOM_SECONDS)
    try:
        return await open_connection()
    except Refused:
        place.refused()
        raise


async def _open_at(
    cluster: Cluster,
    node_id: int,
    place: Place,
    take_over: Callable[[], asyncio.Protocol],
    log_in_first: bool,
    address: Address,
) -> float:
    """Connect to a broker at this address, when it is this connection's turn. Raises OSError, of
    which Refused is a subclass.

    Connections take turns only if the broker itself answers while a connection is opened. Without
    TLS and a login, a connection is open as soon as the broker's system has put it into the
    backlog, which is in order, and only the client waits for the broker.
    """
    host, port = address
    security = cluster.security
    answers = security.has_tls or (security.has_login and log_in_first)
    async with cluster.opening_turns[node_id].turn() if answers else nullcontext():
        place.begins()
        slow = asyncio.get_running_loop().call_later(
            SLOW_SECONDS, cluster.report_connect_failure, node_id
        )
        try:
            session_seconds = await open_transport(
                security,
                host,
                port,
                take_over,
                cluster.versions_of(node_id),
                log_in_first=log_in_first,
            )
        except Unanswered as error:
            cluster.note_silent(address)
            raise Refused(f"broker {node_id} ({host}:{port}): {error}") from None
        except BrokerError as error:
            cluster.report_connect_failure(node_id)
            raise ConnectionError(f"broker {node_id} ({host}:{port}): {error}") from None
        finally:
            slow.cancel()
    if answers:
        place.heard()
    return session_seconds


class BrokerSessions:
    """The client connections whose sessions at a broker expire, and when each is renewed."""

    def __init__(self) -> None:
        self._due: dict[Connection, tuple[float, Cluster]] = {}

    def opened(self, connection: Connection, cluster: Cluster, session_seconds: float) -> None:
        """Track a connection for which the gateway has logged in; ``session_seconds`` is 0 if the
        session does not expire."""
        if session_seconds:
            wait = max(SESSION_USE * session_seconds - SWEEP_SECONDS, SHORTEST_SECONDS)
            self._due[connection] = monotonic() + wait, cluster

    def closed(self, connection: Connection) -> None:
        """Stop tracking a connection that is gone."""
        self._due.pop(connection, None)

    def sweep(self, now: float) -> None:
        """Renew the sessions that are due at ``now``, a time of the monotonic clock."""
        for connection in [one for one, (due, _) in self._due.items() if due <= now]:
            _, cluster = self._due.pop(connection)
            connection.interject(partial(self._renew, connection, cluster))

    async def _renew(self, connection: Connection, cluster: Cluster) -> None:
        """Log in again, with the current password. Raises BrokerError."""
        login = cluster.security.login()
        assert login is not None
        version = authenticate_version(cluster.api_versions)
        await log_in(login, partial(ask, connection.send_own), version)
        self.opened(connection, cluster, login.session_seconds)
