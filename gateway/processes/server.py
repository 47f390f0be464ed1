"""One worker's connections, and what they share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any

from gateway import version
from gateway.acls.authorizer import load_authorizer, needed_acls
from gateway.apis.table import prepare
from gateway.audit.places import open_audit
from gateway.brokers.security import BrokerSecurity
from gateway.catalog.members import register, seed
from gateway.catalog.replicated import open_catalog, own_security
from gateway.catalog.source import CatalogUnavailable, OwnedCatalog
from gateway.changes.base.context import Context
from gateway.changes.changes import NamespaceChanges
from gateway.changes.jobs.background import background_jobs
from gateway.changes.topics.auto_creation import AutoCreation
from gateway.cluster.admin import BrokerAdmin
from gateway.cluster.cluster import Cluster
from gateway.cluster.link import ClusterUnreachable
from gateway.config.models import Config, Listener
from gateway.connections.broker_connector import open_broker
from gateway.connections.broker_sessions import BrokerSessions
from gateway.connections.broker_side import BrokerSide
from gateway.connections.connection import Connection
from gateway.connections.ends import ConnectionEnds
from gateway.connections.entrance import Entrance
from gateway.connections.guarding import Guarded, guard
from gateway.connections.lingering import Lingering
from gateway.connections.listeners import Listeners
from gateway.connections.login_connection import LoginBroker, LoginConnection
from gateway.connections.silent import SilentClients
from gateway.exchanges.exchange import Refresh
from gateway.exchanges.worker_state import WorkerState
from gateway.flows import Flow
from gateway.node_ids import NodeIdRanges
from gateway.processes.broker_configs import broker_configs
from gateway.processes.garbage import collecting_no_garbage
from gateway.processes.worker_channel import WorkerReport
from gateway.processes.worker_policies import WorkerPolicies
from gateway.slices import Turns
from gateway.tls.handshake import FAILED, NO_PRINCIPAL
from gateway.tls.principal_mapping import MECHANISM, identity_of
from gateway.views.views import Views, view_settings

log = logging.getLogger(__name__)


class Server:
    """All connections of one worker. ``busy`` holds those with flows since the last collection.

    ``catalog`` takes the place of the one on the cluster.
    """

    def __init__(
        self, config: Config, catalog: OwnedCatalog | None = None, *, worker_id: int = 0
    ) -> None:
        self._config = config
        cluster = config.clusters[0]
        self.ranges = NodeIdRanges.parse(cluster.node_ids)
        security = BrokerSecurity(cluster.security)
        self.turns = Turns()
        self.cluster = Cluster(
            cluster.name, cluster.bootstrap_servers, security=security, turns=self.turns
        )
        self.admin = BrokerAdmin(self.cluster)
        own = own_security(config, security)
        self.own_admin = BrokerAdmin(self.cluster, security=own)
        self.audit = open_audit(config, f"w{worker_id}", self.own_admin, own)
        self.catalog = catalog or open_catalog(
            config, self.own_admin, own, self.audit.catalog_changed
        )
        self.policies = WorkerPolicies(config.policies, self.admin, self.cluster)
        context = Context(self.catalog, self.cluster, self.admin, judge=self.policies.judge)
        self._jobs = background_jobs(context, config.gateway_id)
        self._changes = NamespaceChanges(context, self._jobs.claim)
        self.state = WorkerState(
            self.catalog,
            self.cluster,
            self._changes,
            config.max_request_bytes,
            failure_delay=config.unauthenticated.failure_delay_seconds,
            audit=self.audit,
            judge=context.judge,
        )
        self._auto_creation = AutoCreation(
            context, lambda: broker_configs(self.admin, self.cluster), self.run
        )
        self.state.auto_creation = self._auto_creation
        self._authorizer = load_authorizer(config.authorization, self._catalog_changed)
        self._views = Views(
            self.catalog,
            [view_settings(listener, cluster) for listener in config.listeners],
            self._authorizer,
            self.policies.policies,
        )
        self.policies.changed = self._catalog_changed
        self.entrance = Entrance(self, config, self._views)
        self.admission = self.entrance.admission
        self.state.sasl = self.admission.sasl
        self.state.pass_through = self.entrance.pass_through
        self.busy: set[Connection] = set()
        self.connections: set[Connection] = set()
        self.lingering = Lingering()
        self._silent = SilentClients()
        self._broker_sessions = BrokerSessions(self.cluster)
        self._listeners = Listeners(
            config.listeners,
            self.ranges,
            self.entrance.accept,
            refused=self._refused,
            limits=config.unauthenticated,
            places=self.admission.places,
            make_room=self._make_room,
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._accepted: dict[str, int] = {}
        self._ends = ConnectionEnds()

    async def start(self) -> None:
        """Learn the cluster, read the catalog to its end, then bind every port.

        Raises OSError with the address that cannot be bound, or the cluster's own error when no
        broker answers; CatalogUnavailable, CatalogTopicError, UnreadableCatalog and FormatRefused
        when the catalog cannot be used; AuditError when there is no place for audit events;
        CredentialsError when what logins are checked with cannot be read; PolicyError when a
        policy cannot be made or configured.
        """
        prepare()
        self.admission.start()
        await self.cluster.start()
        await self.audit.start()
        await self.policies.start()
        with collecting_no_garbage():
            await self.catalog.start()
        taking_part = register(self._config.gateway_id, version())
        for decide in (taking_part, seed(self._config.namespaces)):
            # Mostly there is nothing to say, and then no turn is taken for it.
            if decide(self.catalog.snapshot):
                await self.catalog.change(decide)
        self.catalog.subscribe(self._catalog_changed)
        self._catalog_changed()
        self._jobs.start()
        self._auto_creation.start()
        await self._listeners.start()

    async def stop(self) -> None:
        """Close whatever is open, at once."""
        self._listeners.stop()
        await self.admission.stop()
        for connection in list(self.connections):
            guard(connection, partial(connection.close, "gateway stops", quietly=True))
        await self._jobs.stop()
        await self.policies.stop()
        await self.catalog.stop()
        await self.audit.stop()
        self.admin.close()
        self.own_admin.close()
        await self.cluster.stop()

    async def drain(self, seconds: float) -> None:
        """Accept no more, answer what is in flight for at most ``seconds``, then stop."""
        self._listeners.stop()
        deadline = asyncio.get_running_loop().time() + seconds
        self._finish_all()
        while self.connections and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.02)
            self._finish_all()  # those too that were accepted and came only now
        if self.connections:
            log.warning("%d connections were still busy after the drain", len(self.connections))
        await self.stop()

    def _finish_all(self) -> None:
        self.admission.close_logins("drained")
        for connection in list(self.connections):
            if not connection.closing:
                connection.finish()

    def collect(self) -> WorkerReport:
        """What has been counted since the last call, and how things stand.

        Called once a second; sweeps out clients that never said anything, too.
        """
        self._silent.sweep(monotonic())
        self.state.regexes.expire()
        self._listeners.reload()
        self._broker_sessions.sweep(monotonic())
        flows: list[Flow] = []
        for connection in list(self.busy):
            guard(connection, partial(_take_flows, connection, flows))
        acls = needed_acls(connection.session.state.access for connection in self.busy)
        self.busy.clear()
        listeners = self._config.listeners
        open_by_listener = {one.name: self.admission.under_way(one.name) for one in listeners}
        for connection in self.connections:
            open_by_listener[connection.listener] += 1
        denials, self.state.denials = self.state.denials, []
        counters = {
            "connections": self._accepted,
            "closes": self._ends.take(),
            "nodes_outside_ranges": self._listeners.take_outside(),
            "denials_dropped": {"": self.state.denials_dropped},
            "deprecated_grants": self._changes.take_deprecated_grants(),
        }
        self._accepted = {}
        self.state.denials_dropped = 0
        return WorkerReport(
            flows=flows,
            denials=denials,
            policies=self.policies.judge.take_events(),
            acls=acls,
            connections=open_by_listener,
            gauges={
                "catalog_version": self.catalog.snapshot.version,
                "topics": len(self.cluster.index.names()),
                "cluster_reachable": int(self.cluster.reachable),
                "catalog_fresh": int(self.catalog.fresh),
                "accepting": int(self._listeners.accepting),
                "catalog_damaged_records": self.catalog.damaged,
                "audit_queued_events": self.audit.queued,
            },
            counters=counters,
            rows=[
                *self.state.take_authorization_denials(),
                *self.audit.take_rows(),
                *self.catalog.take_rows(),
                *self.admission.take_rows(),
                *self._listeners.take_delays(),
                *self.policies.take_rows(),
            ],
        )

    # -- what connections ask -----------------------------------------------------------------

    def arrived(self, login: LoginConnection) -> None:
        """A client of a listener with SASL connected."""
        self._accepted[login.listener] = self._accepted.get(login.listener, 0) + 1
        self.admission.arrived(login)

    def opened(self, connection: Connection, transport: asyncio.BaseTransport) -> None:
        """A client is in: it has said who it is, or nobody asked."""
        self.connections.add(connection)
        self._silent.add(connection)
        identity, listener = connection.session.state.identity, connection.listener
        if listener not in self.admission.sasl:  # where it was counted when it arrived
            self._accepted[listener] = self._accepted.get(listener, 0) + 1
            identity = identity_of(transport)
        self.entrance.identified(connection, identity)

    def closed(self, connection: Connection) -> None:
        """A client connection is gone; what it counted is collected with the next report."""
        self.connections.discard(connection)
        self._silent.remove(connection)
        self._broker_sessions.closed(connection)
        self.admission.closed(connection)

    def note_close(
        self,
        connection: Connection | LoginConnection,
        reason: str,
        *,
        quietly: bool,
        error: Exception | None = None,
    ) -> None:
        """Log and count why a connection ends, with the traceback of ``error``."""
        listener, address = connection.listener, connection.client_address
        self._ends.note(listener, address, reason, quietly=quietly, error=error)

    def _make_room(self, listener: str) -> None:
        """End a connection of a full listener: the longest silent, before its login or after."""
        if not self.admission.places[listener].make_room():
            self._silent.make_room(listener)

    def _refused(
        self, listener: Listener, address: str, reason: str, error: Exception | None
    ) -> None:
        """A client was not let in; it never was a connection."""
        self._ends.note(listener.name, address, reason, quietly=False, error=error)
        if reason.startswith((FAILED, NO_PRINCIPAL)):
            self.audit.authentication_failed(listener.name, address, MECHANISM, None, reason)

    def spawn(self, owner: Guarded, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run the cold part of a connection: making it, or waiting for a refresh. If it fails,
        ``owner`` is ended."""
        return self._begin(work, owner.fail)

    def run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work that is no connection's; what it fails with is logged."""
        return self._begin(work, _log_failure)

    def _begin(
        self, work: Coroutine[Any, Any, None], failed: Callable[[Exception], None]
    ) -> asyncio.Task[None]:
        def ended(task: asyncio.Task[None]) -> None:
            self._tasks.discard(task)
            if not task.cancelled() and isinstance(error := task.exception(), Exception):
                failed(error)

        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(ended)
        return task

    async def connect_broker(self, connection: Connection) -> None:
        """Connect a client to its broker. Raises OSError."""
        self._silent.remove(connection)  # from here on the broker's own idle limit holds
        session_seconds = await open_broker(
            self.cluster, connection.node_id, lambda: BrokerSide(connection)
        )
        self._broker_sessions.opened(connection, session_seconds)

    async def connect_login(self, login: LoginConnection) -> None:
        """Connect a client that has not logged in to the broker that is to decide on it. Raises
        OSError."""
        await open_broker(
            self.cluster, login.node_id, lambda: LoginBroker(login), log_in_first=False
        )

    async def refresh(self, what: Refresh) -> None:
        """Read the cluster's topics, or the catalog, anew; an unreachable one changes nothing."""
        readings = [self.catalog.refresh]
        if what is Refresh.TOPICS:  # the catalog says whose they are
            readings.append(self.cluster.refresh)
        await asyncio.gather(*map(_if_possible, readings))

    def _catalog_changed(self) -> None:
        """Everyone goes on with the catalog, and the policies, as they are now."""
        self._views.set_policies(self.policies.policies)
        self.entrance.review(self.connections)


def _take_flows(connection: Connection, flows: list[Flow]) -> None:
    flows.extend(connection.session.take_flows())


def _log_failure(error: Exception) -> None:
    log.error("a task of the gateway's own failed", exc_info=error)


async def _if_possible(read: Callable[[], Awaitable[None]]) -> None:
    """Without news a request is decided by what was known last.

    The reading begins in here: it must not have begun where the client is gone before this has.
    """
    with suppress(ClusterUnreachable, CatalogUnavailable):
        await read()
