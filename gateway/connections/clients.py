"""The client connections of a worker that are open, and the state that they share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Final

from gateway.acls.authorizer import needed_acls
from gateway.catalog.source import ACTOR, Actor, CatalogUnavailable
from gateway.cluster.link import ClusterUnreachable
from gateway.config.models import Config, Listener
from gateway.config.reach import reach_addresses
from gateway.connections.admission import Admission
from gateway.connections.base import BaseConnection
from gateway.connections.broker_room import Place
from gateway.connections.broker_rooms import BrokerRooms, limits_of
from gateway.connections.broker_sessions import BrokerSessions, open_broker
from gateway.connections.broker_side import BrokerSide, Lingering
from gateway.connections.closing import CloseLog, guard
from gateway.connections.collected import CollectedBytes
from gateway.connections.connection import DRAINED, Connection, Waiting
from gateway.connections.doubts import Doubts
from gateway.connections.incomplete import IncompleteBytes
from gateway.connections.listeners import Listeners
from gateway.connections.login_connection import LoginBroker, LoginConnection
from gateway.connections.tasks import Tasks
from gateway.connections.tenants import Wanted, line_of
from gateway.connections.under_way import UnderWay
from gateway.connections.volumes import Volumes
from gateway.connections.waiting_clients import SilentClients
from gateway.connections.work_room import CARRIED_OUT, DECIDED, FEW_BYTES, WorkRoom
from gateway.counts import Counts
from gateway.exchanges.exchange import Interlude, Prepare, Refresh, Turn, Work
from gateway.exchanges.framing import Watcher
from gateway.exchanges.worker_state import WorkerState
from gateway.flows import Flow, NeededAcl
from gateway.rules.declaration import Effect
from gateway.session.deciding import Deciding
from gateway.session.session import Session
from gateway.slices import InSlices, Turns, in_slices
from gateway.tls.handshake import FAILED, NO_PRINCIPAL
from gateway.tls.principal_mapping import MECHANISM, identity_of
from gateway.virtual_brokers import ListenerAddresses

log = logging.getLogger(__name__)

CUT_OFF: Final = "cut off from the cluster"

PIECE: Final = 200
"""Connections that a drain finishes in a round of the event loop, which takes some 1 ms."""

LEFT_SECONDS: Final = 0.3
"""Seconds for which a connection stays open after its client was first directed to another gateway,
so that the client has time to request metadata. Clients that know a broker only by its id (Java) go
on using the connection until it is closed."""


class Clients:
    """All client connections of a worker.

    ``busy`` are the connections with flows since the last collection. ``broker_heard`` is whether a
    broker has sent anything since ``take_heard``. ``counts`` gets the other counts of connections.
    """

    def __init__(
        self,
        config: Config,
        volumes: Volumes,
        *,
        turns: Turns,
        tasks: Tasks,
        counts: Counts,
    ) -> None:
        self.volumes = volumes
        self._audit = volumes.of_listener(config.listeners[0].name).state.audit
        self._counts = counts
        self._listener_names = [listener.name for listener in config.listeners]
        self.turns = turns
        self.spawn = tasks.spawn
        self.doubts = Doubts(turns, tasks)
        self.busy: set[Connection] = set()
        self.connections: set[Connection] = set()
        self.broker_heard = False
        self.under_way = UnderWay(self.connections, turns, tasks)
        self.lingering = Lingering()
        self._silent = SilentClients()
        self._incomplete = {
            name: IncompleteBytes(config.incomplete_requests, config.max_request_bytes)
            for name in self._listener_names
        }
        self._collected = {
            name: CollectedBytes(config.collected_responses, waited=partial(self._count_wait, name))
            for name in self._listener_names
        }
        self._carried_out = {name: WorkRoom(CARRIED_OUT) for name in self._listener_names}
        self._decided = {name: WorkRoom(DECIDED) for name in self._listener_names}
        self._broker_sessions = BrokerSessions()
        self.ask_others: Callable[[Wanted], None] = lambda wanted: None
        self.rooms = {
            volume.path: BrokerRooms(
                volume.cluster,
                limits_of(volume.config.clusters[0], config.workers),
                ask_others=lambda wanted: self.ask_others(wanted),
            )
            for volume in volumes
        }
        self._close_log = CloseLog(counts)
        self.admission = Admission(
            config,
            counts,
            volumes=volumes,
            lanes=self.under_way.lanes,
            connection=partial(Connection, self),
            login=partial(LoginConnection, self),
            connections=self.connections,
            doubts=self.doubts,
        )
        self.logins = self.admission.logins
        self.login_failed = self.admission.login_failed
        self.reauthenticated = self.admission.reauthenticated
        self.session_expired = self.admission.session_expired
        self.listeners = Listeners(
            config.listeners,
            {listener.name: reach_addresses(config, listener) for listener in config.listeners},
            self.admission.accept,
            rejected=self._rejected,
            limits=config.unauthenticated,
            unauthenticated=self.logins.unauthenticated,
            make_room=self._make_room,
            counts=counts,
        )

    async def stop(self) -> None:
        """Stop accepting clients, and close all connections at once."""
        self.listeners.stop()
        await self.logins.stop()
        for connection in list(self.connections):
            guard(connection, partial(connection.close, "gateway stops", quietly=True))

    def refuse(self) -> None:
        """Stop accepting clients, and close all connections at once, until the listeners start
        again."""
        self.listeners.stop()
        self.logins.close_logins(CUT_OFF)
        for connection in list(self.connections):
            # Reset: a request in flight may not be allowed any more when a broker begins with it.
            guard(connection, partial(connection.reset, CUT_OFF, quietly=True))

    async def drain(self, seconds: float, leaving: float = 0.0) -> None:
        """Stop accepting clients, and respond to the requests in flight, for at most ``seconds``.

        If clients can go on at another gateway, they are directed to it for ``leaving`` seconds
        first, and served as usual meanwhile. After that no connection waits for a response that a
        broker may hold back.
        """
        time = asyncio.get_running_loop().time
        began = time()
        while time() < began + min(leaving, seconds):
            self._send_on()
            await asyncio.sleep(0.02)
        self.listeners.stop()
        while True:
            # Repeated: clients that were accepted before may begin their login only now.
            self.logins.close_logins(DRAINED)
            open_now = list(self.connections)
            for start in range(0, len(open_now), PIECE):
                self._finish(open_now[start : start + PIECE], waits=not leaving)
                await asyncio.sleep(0)
            if not self.connections or time() >= began + seconds:
                break
            await asyncio.sleep(0.02)
        if self.connections:
            log.warning("%d connections were still busy after the drain", len(self.connections))

    def _send_on(self) -> None:
        """Close the connections that clients have left, and direct the other clients to the other
        gateway, if it has addresses for their listener."""
        long_ago = monotonic() - LEFT_SECONDS
        left = []
        for connection in self.connections:
            session = connection.session
            if session.state.addresses.handed_over:
                session.leave()
            if session.left is not None and session.left < long_ago:
                left.append(connection)
        self._finish(left, waits=False)

    def _finish(self, connections: Iterable[Connection], *, waits: bool) -> None:
        for connection in [one for one in connections if not one.closing]:
            connection.finish(waits=waits)

    def sweep(self) -> None:
        """Close clients that never sent anything, or hold up others, and renew sessions at brokers.
        Called once a second."""
        self._silent.sweep(monotonic())
        for connection in self.busy:
            guard(connection, connection.used)
        for rooms in self.rooms.values():
            rooms.sweep(self._counts)
        self.listeners.reload()
        self._broker_sessions.sweep(monotonic())
        for collected in self._collected.values():
            collected.sweep()

    def take_heard(self) -> bool:
        """Whether a broker has sent anything to a client since the last call."""
        heard, self.broker_heard = self.broker_heard, False
        return heard

    def take_flows(self) -> tuple[list[Flow], Collection[NeededAcl]]:
        """The flows since the last call, and the ACLs that allowed their operations."""
        flows: list[Flow] = []
        for connection in list(self.busy):
            guard(connection, partial(_take_flows, connection, flows))
        states = (connection.session.state for connection in self.busy)
        used = [(state.access, state.worker.place) for state in states]
        for volume in self.volumes:
            state = volume.state
            used += [(access, state.place) for access in state.take_lane_accesses()]
        acls = needed_acls((access.principal, access.allowed_by, place) for access, place in used)
        self.busy.clear()
        return flows, acls

    def count_open(self) -> dict[str, int]:
        """The number of open connections by listener, including logins under way."""
        count = {name: self.logins.under_way(name) for name in self._listener_names}
        for connection in self.connections:
            count[connection.listener] += 1
        return count

    # -- called by connections ----------------------------------------------------------------

    def arrived(self, login: LoginConnection) -> None:
        """Track a client that has connected to a listener with SASL."""
        self._counts.add("connections", (login.listener,), 1)
        self.logins.arrived(login)

    def opened(self, connection: Connection, transport: asyncio.BaseTransport) -> None:
        """Track a client that has authenticated, or whose listener needs no login."""
        self.connections.add(connection)
        self._silent.add(connection)
        connection.session.watch_held(connection)
        connection.session.watch_collected(connection)
        identity, listener = connection.session.state.identity, connection.listener
        if listener not in self.logins.sasl:  # with SASL, it was counted when it arrived
            self._counts.add("connections", (listener,), 1)
            identity = identity_of(transport)
        self.admission.identified(connection, identity)

    def closed(self, connection: Connection) -> None:
        """Stop tracking a connection that is gone; its counts are collected with the next
        report."""
        self.under_way.ended(connection)
        self.connections.discard(connection)
        self._silent.remove(connection)
        connection.session.watch_held(None)
        connection.session.watch_collected(None)
        self._incomplete[connection.listener].forget(connection)
        self._collected[connection.listener].forget(connection)
        self._carried_out[connection.listener].leave(connection)
        self._decided[connection.listener].leave(connection)
        self._broker_sessions.closed(connection)
        self.logins.closed(connection)

    def heard(self, connection: Connection) -> None:
        """Note that a client without a broker connection has sent something, so it is silent no
        longer."""
        self._silent.add(connection)

    def holds_more(self, connection: Connection, change: int) -> None:
        """Note that a connection holds ``change`` bytes more, or fewer, of incomplete requests."""
        self._incomplete[connection.listener].add(connection, change)

    def collects(self, connection: Connection, size: int) -> Watcher:
        """Give a response of ``size`` bytes room to be collected, or let its connection wait."""
        return self._collected[connection.listener].enter(connection, size)

    def _count_wait(self, listener: str, setting: str) -> None:
        """Count a response that waits for room, by the setting that gives no more."""
        self._counts.add("collected_response_waits", (listener, setting), 1)

    def taken(self, connection: Connection) -> None:
        """Note that a client may have taken the long responses that were written to it."""
        self._collected[connection.listener].look(connection)

    def note_close(
        self,
        connection: BaseConnection,
        reason: str,
        *,
        quietly: bool,
        error: Exception | None = None,
    ) -> None:
        """Log and count why a connection closes, with the traceback of ``error``."""
        listener, address = connection.listener, connection.client_address
        self._close_log.note(listener, address, reason, quietly=quietly, error=error)

    def _make_room(self, listener: str) -> None:
        """Close the longest silent connection of a full listener, preferably before its login."""
        if not self.logins.unauthenticated[listener].make_room():
            self._silent.make_room(listener)

    def _rejected(
        self, listener: Listener, address: str, reason: str, error: Exception | None
    ) -> None:
        """Note that a client was closed before it had a connection."""
        self._close_log.note(listener.name, address, reason, quietly=False, error=error)
        if reason.startswith((FAILED, NO_PRINCIPAL)):
            self._audit.authentication_failed(listener.name, address, MECHANISM, None, reason)

    async def connect_broker(self, connection: Connection) -> None:
        """Connect a client to its broker. Raises OSError."""
        self._silent.remove(connection)  # from here on the broker closes it when idle
        volume = self.volumes.of(connection.session.state.worker)
        cluster, rooms = volume.cluster, self.rooms[volume.path]

        def take_over(node_id: int, place: Place) -> BrokerSide:
            connection.session.state.node_id = node_id
            return BrokerSide(connection, place)

        session_seconds = await open_broker(
            cluster, connection.node_id, take_over, rooms, connection
        )
        self._broker_sessions.opened(connection, cluster, session_seconds)

    def make_room_for(self, wanted: Wanted) -> None:
        """Make room at a broker for a client of another worker."""
        for rooms in self.rooms.values():
            if rooms.cluster.name == wanted.cluster:
                rooms.make_room_for(wanted)

    async def connect_login(self, login: LoginConnection) -> None:
        """Connect a client to the broker that decides on its login. Raises OSError."""
        volume = self.volumes.of_listener(login.listener)
        cluster, rooms = volume.cluster, self.rooms[volume.path]

        def take_over(node_id: int, place: Place) -> LoginBroker:
            return LoginBroker(login, node_id, place)

        await open_broker(cluster, login.node_id, take_over, rooms, login, log_in_first=False)

    def addresses(self, listener: str, path: str) -> ListenerAddresses:
        """The addresses of a listener for the brokers of a volume."""
        return self.listeners.addresses(listener, path)

    async def carry_out(self, connection: Connection, work: Waiting) -> bytes | None:
        """Do the work that a connection waits for, once there is room for it. Returns the response
        body if the gateway makes it."""
        session, listener = connection.session, connection.listener
        exchange = session.working_on
        if exchange is None or exchange.size <= FEW_BYTES or exchange.plan.pipelined:
            return await self.perform(session, work)
        collected, host = self._collected[listener], connection.host
        tells = exchange.plan.api.effect is not Effect.CHANGE
        room = (self._carried_out if isinstance(work, Work) else self._decided)[listener]
        decided = False
        try:
            if tells:
                await collected.caught_up(host)
            await room.enter(connection, line_of(session.state).tenant, exchange.size)
            if tells:  # others may have come while it waited for room
                await collected.caught_up(host)
            body = await self.perform(session, work)
            decided = not isinstance(work, Work)
        finally:
            if not decided:
                room.leave(connection)
        return body

    def resumed(self, connection: Connection) -> None:
        """Note that a connection has gone on after work. If a request was forwarded, it keeps its
        room until it is answered, unless its broker may wait for others before it answers."""
        first = connection.session.first
        if first is None or first.plan.waits:
            self._decided[connection.listener].leave(connection)

    def answered(self, connection: Connection) -> None:
        """Note that a broker's response to a long request has been restored."""
        self._decided[connection.listener].leave(connection)

    async def perform(self, session: Session, work: Waiting) -> bytes | None:
        """Do the work that a session waits for. Returns the response body if the gateway makes
        it."""
        turns = self.turns.of(line_of(session.state))
        if isinstance(work, Refresh):
            await self._refresh(session.state.worker, work)
        elif isinstance(work, Interlude):
            await work.run()
        elif isinstance(work, Turn):
            await turns.next()
        elif isinstance(work, Prepare):
            await InSlices(turns, _prepared(work))
        elif isinstance(work, Deciding):
            await in_slices(turns, work.slices)
        else:
            source = session.state.source
            client = (source.principal, source.client_address, source.listener, source.client_id)
            ACTOR.set(Actor(*client, session.working))
            return await InSlices(turns, work.run())
        return None

    async def _refresh(self, state: WorkerState, what: Refresh) -> None:
        """Read the catalog anew, and for ``TOPICS`` the cluster's topics too. If either is
        unreachable, its last state stays."""
        readings = [state.catalog.refresh]
        if what is Refresh.TOPICS:  # the catalog has their namespaces
            readings.append(self.volumes.of(state).cluster.refresh)
        await asyncio.gather(*map(_if_possible, readings))


def _take_flows(connection: Connection, flows: list[Flow]) -> None:
    flows.extend(connection.session.take_flows())
    tree = connection.session.state.tree
    if tree is not None:
        flows.extend(tree.take_flows())


async def _prepared(work: Prepare) -> None:
    await work.run()


async def _if_possible(read: Callable[[], Awaitable[None]]) -> None:
    """Read; if that is not possible, the last known state stays, and requests are decided by it.

    The reading begins in this coroutine, because it must not have begun if the client is gone
    before the task of this coroutine runs.
    """
    with suppress(ClusterUnreachable, CatalogUnavailable):
        await read()
