"""The server of a worker: its clients, and the volumes that it serves to them."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING

from gateway.apis.table import prepare
from gateway.audit.setup import open_audit
from gateway.catalog.fleet import Membership, membership_of
from gateway.catalog.replicated import ReplicatedCatalog, own_security
from gateway.catalog.source import CatalogUnavailable
from gateway.cluster.admin import BrokerAdmin
from gateway.cluster.link import ClusterUnreachable
from gateway.config.models import Config
from gateway.config.reach import gateway_addresses, mounts_of
from gateway.connections.clients import Clients
from gateway.connections.overdue import Overdue
from gateway.connections.tasks import Tasks
from gateway.connections.volumes import Volumes
from gateway.counts import Counts
from gateway.flows import Denial
from gateway.mounts import Mounts
from gateway.processes.cut_off import CutOff
from gateway.processes.volume import ServedVolume, open_cluster
from gateway.processes.worker_messages import WorkerReport
from gateway.processes.worker_policies import WorkerPolicies
from gateway.slices import Turns
from gateway.telemetry.telemetry import Telemetry

if TYPE_CHECKING:
    from gateway.fleet.worker_fleet import WorkerFleet
    from gateway.tree.worker_tree import WorkerTree

log = logging.getLogger(__name__)

START_SECONDS = 10.0
"""Seconds for which a start waits for the other clusters of a tree once a cluster is ready."""

RETRY_SECONDS = 1.0
"""Seconds between two tries to start a volume whose cluster cannot be reached."""


class MountedTwice(Exception):
    """Two mounts of the configuration lead to the same cluster; the text names both."""


class Server:
    """Accepts the clients of a worker and serves them the volumes.

    ``catalog``: replaces the catalog on the (only) cluster.
    ``new_catalogs``: names of clusters whose catalogs may begin anew.
    """

    def __init__(
        self,
        config: Config,
        catalog: ReplicatedCatalog | None = None,
        *,
        worker_id: int = 0,
        new_catalogs: Collection[str] = (),
    ) -> None:
        self._new_catalogs = new_catalogs
        self._config = config
        self._turns, self._tasks = Turns(), Tasks()
        self._counts = Counts()
        configs = [config.of_volume(cluster) for cluster in config.clusters]
        admins = [_own_admin(each, self._turns) for each in configs]
        self.own_admin = admins[0]
        own = own_security(configs[0], self.own_admin.cluster.security)
        self.audit = open_audit(configs[0], f"w{worker_id}", self.own_admin, own)
        self._audits = False
        self._starting: set[asyncio.Task[None]] = set()
        mounts = mounts_of(config)
        self._tree = None if mounts is None else self._plug_tree(worker_id)
        self._peers = None if self._tree is None else self._tree.peers
        self.served = [
            self._volume(each, admin, membership_of(config, cluster), mounts, catalog, worker_id)
            for each, admin, cluster in zip(configs, admins, config.clusters, strict=True)
        ]
        pushed = config.client_telemetry
        self.telemetry = Telemetry(pushed.max_clients, pushed.max_series_per_client)
        for volume in self.served:
            volume.state.telemetry = self.telemetry
        self.policies = WorkerPolicies({each.cluster.name: each.policies for each in self.served})
        volumes = Volumes([each.volume for each in self.served], config.listeners)
        self.clients = Clients(
            config, volumes, turns=self._turns, tasks=self._tasks, counts=self._counts
        )
        for volume in self.served:
            volume.part.watch(self.clients.under_way, volume.state)
            volume.overdue = Overdue(self.clients.connections, volume.state)
        if self._tree is not None:
            self._tree.connect(self.clients, self.audit)
        self._fleet = self._plug_fleet() if gateway_addresses(config) else None
        self._in_tree = self.served[0].state.place.mount is not None
        self.cut_off = CutOff(
            [each.cluster for each in self.served],
            self.clients,
            None if self._fleet is None else self._fleet.handover,
            in_tree=self._in_tree,
        )
        self._watching: list[asyncio.Task[None]] = []

    def _plug_tree(self, worker_id: int) -> WorkerTree:
        # Imported here, because a gateway without a tree has none of its modules.
        from gateway.tree.worker_tree import WorkerTree

        return WorkerTree(
            self._config, worker_id, turns=self._turns, tasks=self._tasks, counts=self._counts
        )

    def _plug_fleet(self) -> WorkerFleet:
        # Imported here, because a gateway without a fleet has none of its modules.
        from gateway.fleet.worker_fleet import WorkerFleet

        return WorkerFleet(self._config, self.clients.volumes, self.clients.listeners)

    def _volume(
        self,
        config: Config,
        admin: BrokerAdmin,
        membership: Membership,
        mounts: Mounts | None,
        catalog: ReplicatedCatalog | None,
        worker_id: int,
    ) -> ServedVolume:
        return ServedVolume(
            config,
            admin,
            self.audit,
            membership=membership,
            mounts=mounts,
            turns=self._turns,
            tasks=self._tasks,
            changed=self._go_on,
            joins=None if self._tree is None else self._tree.mount,
            catalog=catalog,
            worker_id=worker_id,
            anew=config.clusters[0].name in self._new_catalogs,
        )

    def _go_on(self) -> None:
        """Make every connection go on with the catalogs as they are now. If a catalog is out of
        date before its timer has fired, the process was stopped; so all volumes are checked,
        because a client queries several volumes over the same connection."""
        now = monotonic()
        for each in self.served:
            if now > each.state.validity.until:
                each.state.validity.end()
        self.clients.admission.review()

    async def start(self) -> None:
        """Learn the clusters, read the catalogs to their end, then bind every port.

        In a tree, the start succeeds once a volume is ready; the others are tried again and again.
        Raises OSError with the address that cannot be bound, or the cluster's own error if no
        broker responds; CatalogUnavailable, CatalogTopicError, NotServed, UnreadableCatalog and
        FormatRejected if the catalog cannot be used; SinkError if audit events cannot be written;
        CredentialsError if the credentials of logins cannot be read; PolicyError if a policy cannot
        be made or configured.
        """
        prepare()
        self.clients.logins.start()
        if self._peers is not None:
            self._peers.start()
        with collecting_no_garbage():
            if len(self.served) == 1:
                await self._start(self.served[0])
            else:
                await self._start_tree()
        self.clients.logins.prepare()
        await self.clients.listeners.start()
        if self._peers is not None:
            await self._peers.listen()
        if self._fleet is not None or not self._in_tree:
            self._watching.append(self._tasks.run(self.cut_off.watch()))
        if self._fleet is not None:
            self._watching += map(self._tasks.run, self._fleet.watches())

    async def _start(self, volume: ServedVolume) -> None:
        if not volume.cluster.started:
            await volume.cluster.start()
        self._check_alone(volume)
        if volume is self.served[0] and not self._audits:
            await self.audit.start()
            self._audits = True
        await volume.start()

    def _check_alone(self, volume: ServedVolume) -> None:
        """Raise MountedTwice if another mount is the same cluster, because its topics would have
        two names and two producer ids."""
        cluster_id = volume.cluster.cluster_id
        for other in self.served:
            if other is not volume and cluster_id and other.cluster.cluster_id == cluster_id:
                raise MountedTwice(
                    f"clusters '{volume.cluster.name}' and '{other.cluster.name}' are one cluster,"
                    f" {cluster_id}: it can be mounted once; remove one of them"
                )

    async def _start_tree(self) -> None:
        """Wait until every volume is ready, or, once a volume is ready, for at most
        ``START_SECONDS``."""
        starting = {asyncio.create_task(self._start_at_last(each)) for each in self.served}
        self._starting = set(starting)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + START_SECONDS
        ready = False
        while starting:
            left = max(deadline - loop.time(), 0.0) if ready else None
            done, starting = await asyncio.wait(
                starting, timeout=left, return_when=asyncio.FIRST_COMPLETED
            )
            for each in done:
                each.result()
            if not done:
                for each in starting:
                    each.add_done_callback(_note_failed)
                return
            ready = True

    async def _start_at_last(self, volume: ServedVolume) -> None:
        """Start a volume; try again for as long as its cluster cannot be reached."""
        while True:
            try:
                await self._start(volume)
                return
            except (ClusterUnreachable, CatalogUnavailable) as error:
                log.warning("volume %s is not there yet: %s", volume.volume.mount, error)
            await asyncio.sleep(RETRY_SECONDS)

    async def start_topic(self, start: Callable[[], Awaitable[None]]) -> None:
        """Start a writer to a topic of the first cluster; in a tree, as soon as that cluster has
        started. Raises the exceptions of ``start``."""
        if len(self.served) == 1 or self.own_admin.cluster.started:
            await start()
        else:
            self._starting.add(self._tasks.run(self._start_topic_at_last(start)))

    async def _start_topic_at_last(self, start: Callable[[], Awaitable[None]]) -> None:
        while True:
            if self.own_admin.cluster.started:
                with suppress(ClusterUnreachable):
                    return await start()
            await asyncio.sleep(RETRY_SECONDS)

    async def stop(self) -> None:
        """Close all connections, at once."""
        self._stop_watching()
        for task in self._starting:
            task.cancel()
        await self.clients.stop()
        if self._peers is not None:
            await self._peers.stop()
        for each in self.served:
            await each.stop()
        await self.audit.stop()
        for each in self.served:
            each.own_admin.close()
            await each.cluster.stop()

    async def drain(self, seconds: float) -> None:
        """Stop accepting, respond to requests in flight for at most ``seconds``, then stop. If
        another gateway is up, clients are led to it."""
        self._stop_watching()
        leaving = 0.0 if self._fleet is None else await self._fleet.handover.begin()
        drains = [self.clients.drain(seconds, leaving)]
        if self._peers is not None:
            drains.append(self._peers.drain(seconds))
        await asyncio.gather(*drains)
        await self.stop()

    def _stop_watching(self) -> None:
        for one in self._watching:
            one.cancel()

    def collect(self) -> WorkerReport:
        """The counts since the last call, and the worker's state. Called once a second."""
        self.clients.sweep()
        flows, acls = self.clients.take_flows()
        connections = self.clients.count_open()
        certificates = self.clients.listeners.certificates()
        if self._peers is not None:
            flows += self._peers.sweep()
            connections |= self._peers.count_open()
            certificates |= self._peers.certificates()
        denials = [denial for each in self.served for denial in self._denials_of(each)]
        return WorkerReport(
            flows=flows,
            denials=denials,
            policies=[event for each in self.served for event in each.take_policy_events()],
            logins=self.audit.take_failures(),
            acls=acls,
            connections=connections,
            certificates=certificates,
            gauges={
                **({} if self._in_tree else self._gauges(self.served[0])),
                "accepting": int(self.clients.listeners.accepting),
                "cut_off": int(self.cut_off.now),
                "other_gateways_down": len(self.other_gateways_down),
                "audit_queued_events": self.audit.queued,
                "client_telemetry_clients": len(self.telemetry.store),
            },
            clusters={
                each.cluster.name: self._gauges(each) for each in self.served if self._in_tree
            },
            rows=[
                *self._counts.take(),
                *self.audit.take_rows(),
                *self.telemetry.take_rows(),
                *(row for each in self.served for row in each.take_rows()),
            ],
        )

    @property
    def other_gateways_down(self) -> frozenset[str]:
        """The ids of the other gateways of the fleet that accepted no connection lately."""
        return frozenset() if self._fleet is None else self._fleet.down

    def _gauges(self, volume: ServedVolume) -> dict[str, int]:
        return {**volume.gauges(), **self.clients.rooms[volume.volume.path].gauges()}

    def _denials_of(self, volume: ServedVolume) -> list[Denial]:
        state = volume.state
        state.regexes.expire()
        denials, state.denials = state.denials, []
        self._counts.add("denials_dropped", ("",), state.denials_dropped)
        state.denials_dropped = 0
        return denials


def _note_failed(starting: asyncio.Task[None]) -> None:
    """Log why a volume that started late cannot be served; the other volumes go on."""
    if not starting.cancelled() and (error := starting.exception()) is not None:
        log.error("a volume cannot be served, and stays closed: %s", error)


def _own_admin(config: Config, turns: Turns) -> BrokerAdmin:
    """An admin for the gateway's own requests to a volume's cluster, logged in as the owner of its
    topics."""
    cluster = open_cluster(config, turns)
    return BrokerAdmin(cluster, security=own_security(config, cluster.security))


@contextmanager
def collecting_no_garbage() -> Iterator[None]:
    """Read a large catalog without Python's garbage collector: reading is much faster, and because
    the objects are frozen afterwards, the collector does not traverse them while clients wait."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
