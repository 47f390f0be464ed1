"""One worker: its clients, and what it does for all of them: catalog, cluster, policies, jobs."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from gateway import version
from gateway.acls.authorizer import load_authorizer
from gateway.apis.table import prepare
from gateway.audit.setup import open_audit
from gateway.brokers.security import BrokerSecurity
from gateway.catalog.members import register, seed
from gateway.catalog.replicated import open_catalog, own_security
from gateway.catalog.source import OwnedCatalog
from gateway.changes.base.context import Context
from gateway.changes.changes import NamespaceChanges
from gateway.changes.jobs.background import background_jobs
from gateway.changes.topics.auto_creation import AutoCreation
from gateway.cluster.admin import BrokerAdmin
from gateway.cluster.cluster import Cluster
from gateway.config.models import Config
from gateway.connections.clients import Clients, Tasks
from gateway.counts import Counts
from gateway.exchanges.worker_state import WorkerState
from gateway.processes.worker_channel import WorkerReport
from gateway.processes.worker_policies import WorkerPolicies, broker_configs
from gateway.slices import Turns
from gateway.views.views import Views, view_settings


class Server:
    """Clients of one worker and what they need. ``catalog`` replaces the one on the cluster."""

    def __init__(
        self, config: Config, catalog: OwnedCatalog | None = None, *, worker_id: int = 0
    ) -> None:
        self._config = config
        cluster = config.clusters[0]
        security = BrokerSecurity(cluster.security)
        turns, tasks = Turns(), Tasks()
        self._counts = Counts()
        self.cluster = Cluster(
            cluster.name, cluster.bootstrap_servers, security=security, turns=turns
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
            context, lambda: broker_configs(self.admin, self.cluster), tasks.run
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
        self.clients = Clients(
            config,
            self.state,
            self.cluster,
            self._views,
            turns=turns,
            tasks=tasks,
            counts=self._counts,
        )

    async def start(self) -> None:
        """Learn the cluster, read the catalog to its end, then bind every port.

        Raises OSError with the address that cannot be bound, or the cluster's own error when no
        broker answers; CatalogUnavailable, CatalogTopicError, UnreadableCatalog and FormatRejected
        when the catalog cannot be used; SinkError when there is no place for audit events;
        CredentialsError when what logins are checked with cannot be read; PolicyError when a
        policy cannot be made or configured.
        """
        prepare()
        self.clients.logins.start()
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
        await self.clients.listeners.start()

    async def stop(self) -> None:
        """Close whatever is open, at once."""
        await self.clients.stop()
        await self._jobs.stop()
        await self.policies.stop()
        await self.catalog.stop()
        await self.audit.stop()
        self.admin.close()
        self.own_admin.close()
        await self.cluster.stop()

    async def drain(self, seconds: float) -> None:
        """Accept no more, respond to what is in flight for at most ``seconds``, then stop."""
        await self.clients.drain(seconds)
        await self.stop()

    def collect(self) -> WorkerReport:
        """The counts since the last call, and the state of the worker. Called once a second."""
        self.clients.sweep()
        self.state.regexes.expire()
        flows, acls = self.clients.take_flows()
        denials, self.state.denials = self.state.denials, []
        self._counts.add("denials_dropped", ("",), self.state.denials_dropped)
        self.state.denials_dropped = 0
        for operation, count in self._changes.take_deprecated_grants().items():
            self._counts.add("deprecated_grants", (operation,), count)
        return WorkerReport(
            flows=flows,
            denials=denials,
            policies=self.policies.judge.take_events(),
            acls=acls,
            connections=self.clients.count_open(),
            gauges={
                "catalog_version": self.catalog.snapshot.version,
                "topics": len(self.cluster.index.names()),
                "cluster_reachable": int(self.cluster.reachable),
                "catalog_fresh": int(self.catalog.fresh),
                "accepting": int(self.clients.listeners.accepting),
                "catalog_damaged_records": self.catalog.damaged,
                "audit_queued_events": self.audit.queued,
            },
            rows=[
                *self._counts.take(),
                *self.state.take_authorization_denials(),
                *self.audit.take_rows(),
                *self.catalog.take_rows(),
                *self.policies.take_rows(),
            ],
        )

    def _catalog_changed(self) -> None:
        """Every connection goes on with the catalog, and the policies, as they are now."""
        self._views.set_policies(self.policies.policies)
        self.clients.admission.review()


@contextmanager
def collecting_no_garbage() -> Iterator[None]:
    """Read a large catalog without Python's garbage collector: much faster, and what was read is
    not looked through for garbage again and again while clients wait."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
