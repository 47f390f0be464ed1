"""One worker's listeners and connections, and what they share.

Each listener has a bootstrap port and one port for each place in the configured node id ranges,
all bound from the start, so that no port moves when a broker joins. Workers share the ports
(SO_REUSEPORT).
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Awaitable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from gateway import version
from gateway.apis.table import prepare
from gateway.broker_admin import BrokerAdmin
from gateway.catalog.members import register, seed
from gateway.catalog.replicated import ReplicatedCatalog
from gateway.catalog.source import CatalogUnavailable, OwnedCatalog
from gateway.changes.apply_job import ApplyJob
from gateway.changes.changes import NamespaceChanges
from gateway.changes.context import Context
from gateway.changes.deletion_job import NamespaceDeletion
from gateway.changes.housekeeping import Housekeeping
from gateway.changes.jobs import JobRunner
from gateway.changes.registration import Registration
from gateway.cluster import Cluster
from gateway.cluster_link import ClusterUnreachable
from gateway.config import Config, Listener
from gateway.connection import BrokerSide, Connection
from gateway.exchange import Refresh
from gateway.flows import FlowSource
from gateway.session import Session
from gateway.state import ConnectionState, WorkerState
from gateway.view import ViewSettings
from gateway.views import Views
from gateway.virtual_brokers import ListenerAddresses, NodeIdRanges
from gateway.worker_channel import WorkerReport

log = logging.getLogger(__name__)

CONNECT_TIMEOUT = 10.0
"""Seconds a broker may take to accept a connection."""

SILENT_SECONDS = 600.0
"""Seconds a client may stay connected without a request (connections.max.idle.ms)."""

BACKLOG = 1024

NO_BROKER = "no broker connection"

LOGGED_WITHOUT_BROKER = 5
"""Connections without a broker that are logged between two collections, a second apart."""

ANONYMOUS = "User:ANONYMOUS"
"""Kafka's own name for a client of a PLAINTEXT listener."""


class Server:
    """All connections of one worker. ``busy`` holds those with flows since the last collection.

    ``catalog`` takes the place of the one on the cluster.
    """

    def __init__(self, config: Config, catalog: OwnedCatalog | None = None) -> None:
        self._config = config
        cluster = config.clusters[0]
        self.ranges = NodeIdRanges.parse(cluster.node_ids)
        self.cluster = Cluster(cluster.name, cluster.bootstrap_servers)
        self.admin = BrokerAdmin(self.cluster)
        self.catalog = catalog or ReplicatedCatalog(
            cluster.bootstrap_servers,
            self.admin,
            max_staleness=config.catalog.max_staleness,
            replication_factor=config.catalog.replication_factor,
        )
        context = Context(self.catalog, self.cluster, self.admin)
        jobs = (
            NamespaceDeletion(context),
            ApplyJob(context),
            Housekeeping(context),
            Registration(context, config.gateway_id, version()),
        )
        self._jobs = JobRunner(context, jobs)
        changes = NamespaceChanges(context, self._jobs.claim)
        self.state = WorkerState(self.catalog, self.cluster, changes, config.max_request_bytes)
        self._views = Views(self.catalog, map(_settings_of, config.listeners))
        self.busy: set[Connection] = set()
        self._connections: set[Connection] = set()
        self._silent: dict[Connection, float] = {}
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._accepted: dict[str, int] = {}
        self._closes: dict[str, int] = {}
        self._outside: dict[str, int] = {}

    async def start(self) -> None:
        """Learn the cluster, read the catalog to its end, then bind every port.

        Raises OSError with the address that cannot be bound, or the cluster's own error when no
        broker answers; CatalogUnavailable, CatalogTopicError, UnreadableCatalog and FormatRefused
        when the catalog cannot be used.
        """
        prepare()
        await self.cluster.start()
        with _collecting_no_garbage():
            await self.catalog.start()
        for decide in (
            register(self._config.gateway_id, version()),
            seed(self._config.namespaces),
        ):
            # Mostly there is nothing to say, and then no turn is taken for it.
            if decide(self.catalog.snapshot):
                await self.catalog.change(decide)
        self.catalog.subscribe(self._catalog_changed)
        self._catalog_changed()
        self._jobs.start()
        for listener in self._config.listeners:
            await self._listen(listener)

    async def stop(self) -> None:
        """Close whatever is open, at once."""
        self._stop_listening()
        for connection in list(self._connections):
            connection.close("gateway stops", quietly=True)
        await self._jobs.stop()
        await self.catalog.stop()
        self.admin.close()
        await self.cluster.stop()

    async def drain(self, seconds: float) -> None:
        """Accept no more, answer what is in flight for at most ``seconds``, then stop."""
        self._stop_listening()
        for connection in list(self._connections):
            connection.finish()
        deadline = asyncio.get_running_loop().time() + seconds
        while self._connections and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.02)
        if self._connections:
            log.warning("%d connections were still busy after the drain", len(self._connections))
        await self.stop()

    def collect(self) -> WorkerReport:
        """What has been counted since the last call, and how things stand.

        Called once a second; sweeps out clients that never said anything, too.
        """
        self._sweep(monotonic())
        flows = [flow for connection in self.busy for flow in connection.session.state.take_flows()]
        self.busy.clear()
        open_by_listener = {listener.name: 0 for listener in self._config.listeners}
        for connection in self._connections:
            open_by_listener[connection.listener] += 1
        denials, self.state.denials = self.state.denials, []
        counters = {
            "connections": self._accepted,
            "closes": self._closes,
            "nodes_outside_ranges": self._outside,
            "denials_dropped": {"": self.state.denials_dropped},
        }
        self._accepted, self._closes, self._outside = {}, {}, {}
        self.state.denials_dropped = 0
        return WorkerReport(
            flows=flows,
            denials=denials,
            connections=open_by_listener,
            gauges={
                "catalog_version": self.catalog.snapshot.version,
                "topics": len(self.cluster.index.names()),
                "cluster_reachable": int(self.cluster.reachable),
                "catalog_fresh": int(self.catalog.fresh),
            },
            counters=counters,
        )

    def _sweep(self, now: float) -> None:
        """Close clients that have said nothing yet, after Kafka's connections.max.idle.ms."""
        for connection, since in list(self._silent.items()):
            if now - since < SILENT_SECONDS:
                break  # in the order they came
            connection.close("client sent nothing", quietly=True)

    # -- what connections ask -----------------------------------------------------------------

    def opened(self, connection: Connection) -> None:
        """A client connected."""
        self._connections.add(connection)
        self._silent[connection] = monotonic()
        self._accepted[connection.listener] = self._accepted.get(connection.listener, 0) + 1

    def closed(self, connection: Connection) -> None:
        """A client connection is gone; what it counted is collected with the next report."""
        self._connections.discard(connection)
        self._silent.pop(connection, None)

    def note_close(self, connection: Connection, reason: str, *, quietly: bool) -> None:
        """Log and count why a connection ends."""
        kind = reason.partition(":")[0]
        count = self._closes[kind] = self._closes.get(kind, 0) + 1
        # Clients whose broker is away come back many times a second; all of them are counted.
        quietly = quietly or (kind == NO_BROKER and count > LOGGED_WITHOUT_BROKER)
        level = logging.DEBUG if quietly else logging.WARNING
        log.log(level, "%s on %s: %s", connection.client_address, connection.listener, reason)

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run the cold part of a connection: making it, or waiting for a refresh."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a connection's task failed", exc_info=error)

    async def connect_broker(self, connection: Connection) -> None:
        """Connect a client to the broker its port stands for, or to any on a bootstrap port.

        Raises OSError when there is no such broker or it does not accept.
        """
        node_id = connection.node_id
        self._silent.pop(connection, None)  # from here on the broker's own idle limit holds
        if node_id is None:
            node_id, host, port = self.cluster.any_broker()
        elif node_id in self.cluster.brokers:
            host, port = self.cluster.brokers[node_id]
        else:
            raise ConnectionRefusedError(f"the cluster has no broker {node_id}")
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                await loop.create_connection(lambda: BrokerSide(connection), host, port)
        except TimeoutError:
            self.cluster.report_connect_failure(node_id)
            raise TimeoutError(
                f"broker {node_id} did not accept in {CONNECT_TIMEOUT:g} s"
            ) from None
        except OSError:
            self.cluster.report_connect_failure(node_id)
            raise

    async def refresh(self, what: Refresh) -> None:
        """Read the cluster's topics, or the catalog, anew; an unreachable one changes nothing."""
        readings = [_if_possible(self.catalog.refresh())]
        if what is Refresh.TOPICS:  # the catalog says whose they are
            readings.append(_if_possible(self.cluster.refresh()))
        await asyncio.gather(*readings)

    def _catalog_changed(self) -> None:
        """Everyone goes on with the catalog as it is now."""
        self._views.update()
        for connection in self._connections:
            view = self._views.of(connection.listener)
            if connection.session.state.view is not view:
                connection.session.see(view)

    # -- listeners ----------------------------------------------------------------------------

    async def _listen(self, listener: Listener) -> None:
        addresses = ListenerAddresses(
            listener.advertised_host, listener.broker_base_port, self.ranges, 0
        )
        addresses.on_outside = lambda node_id: self._node_outside(listener.name, node_id)
        await self._bind(listener, listener.port, None, addresses)
        for port, node_id in addresses.ports().items():
            await self._bind(listener, port, node_id, addresses)

    async def _bind(
        self,
        listener: Listener,
        port: int,
        node_id: int | None,
        addresses: ListenerAddresses,
    ) -> None:
        def accept() -> Connection:
            source = FlowSource(listener.name, ANONYMOUS, "", "", "", "")
            view = self._views.of(listener.name)
            state = ConnectionState(self.state, view, addresses, source)
            return Connection(self, listener.name, node_id, Session(state))

        server = await asyncio.get_running_loop().create_server(
            accept, listener.bind, port, reuse_port=True, backlog=BACKLOG
        )
        self._servers.append(server)

    def _stop_listening(self) -> None:
        for server in self._servers:
            server.close()
        self._servers.clear()

    def _node_outside(self, listener: str, node_id: int) -> None:
        self._outside[listener] = self._outside.get(listener, 0) + 1
        log.warning(
            "broker %d is outside node_ids of listener %s and is not advertised", node_id, listener
        )


@contextmanager
def _collecting_no_garbage() -> Iterator[None]:
    """A large catalog is read much faster so, and what was read is not looked through for garbage
    again and again while clients wait."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


async def _if_possible(reading: Awaitable[None]) -> None:
    """Without news a request is decided by what was known last."""
    with suppress(ClusterUnreachable, CatalogUnavailable):
        await reading


def _settings_of(listener: Listener) -> ViewSettings:
    home = listener.home or ""
    subtree = listener.list_subtree
    return ViewSettings(
        listener.name,
        listener.spelling,
        home,
        listener.escape,
        not home if subtree is None else subtree,
        listener.list_namespaces,
    )
