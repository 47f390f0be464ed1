"""One cluster in one worker: its catalog, policies, jobs and views, from start to stop."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial

from gateway import version
from gateway.acls.authorizer import load_authorizer
from gateway.audit.audit import Audit
from gateway.brokers.security import BrokerSecurity
from gateway.catalog.fleet import Membership
from gateway.catalog.freezes import UNDER_WAY, begin_with_freezes
from gateway.catalog.log.needs import require
from gateway.catalog.members import (
    FormatRejected,
    mount_decisions,
    register,
    seed,
    takes_its_place,
)
from gateway.catalog.replicated import ReplicatedCatalog, open_catalog, own_security
from gateway.catalog.source import Decide
from gateway.changes.base.context import Context, now_ms
from gateway.changes.base.existing_ids import IdListing
from gateway.changes.base.freezing import Freezer
from gateway.changes.changes import NamespaceChanges
from gateway.changes.jobs.background import background_jobs
from gateway.changes.jobs.group_removal import GroupRemoval
from gateway.changes.jobs.job_runner import Job
from gateway.changes.topics.auto_creation import AutoCreation
from gateway.changes.topics.internal_topics import InternalTopics
from gateway.cluster.admin import BrokerAdmin
from gateway.cluster.cluster import Cluster
from gateway.config.models import Config
from gateway.config.reach import mount_of
from gateway.connections.overdue import Overdue
from gateway.connections.tasks import Tasks
from gateway.connections.volumes import Volume
from gateway.counts import DEFAULT_NAMESPACE, Row, cluster_label, namespace_label
from gateway.exchanges.worker_state import WorkerState
from gateway.flows import PolicyEvent
from gateway.mounts import Mount, Mounts
from gateway.page.clusters import DescribedCluster
from gateway.places import Place
from gateway.policies.judge import VIOLATIONS
from gateway.processes.taking_part import TakingPart
from gateway.processes.worker_policies import ClusterPolicies, broker_configs
from gateway.slices import Turns, sliced
from gateway.views.views import Views, view_settings

log = logging.getLogger(__name__)

LANES = 16
"""Requests for clients of other nodes that may be under way in a volume at once."""


class ServedVolume:
    """A cluster that a worker serves.

    ``config``: has this cluster alone (``Config.of_volume``).
    ``membership``: the gateway's entry in the cluster's catalog.
    ``changed``: called when connections have to go on with another catalog, or other policies.
    ``joins``: called with the volume's mount and context if it is mounted; returns its background
    job in the tree.
    ``catalog``: replaces the catalog on the cluster.
    ``worker_id``: the worker's number in its gateway.
    ``anew``: the cluster's catalog may begin anew.
    """

    def __init__(
        self,
        config: Config,
        own_admin: BrokerAdmin,
        audit: Audit,
        *,
        membership: Membership,
        mounts: Mounts | None,
        turns: Turns,
        tasks: Tasks,
        changed: Callable[[], None],
        joins: Callable[[Mount, Context], Job] | None = None,
        catalog: ReplicatedCatalog | None = None,
        worker_id: int = 0,
        anew: bool = False,
    ) -> None:
        self._config = config
        self._changed = changed
        self._turns = turns
        self._follows = False
        settings = config.clusters[0]
        self.own_admin = own_admin
        self.cluster = own_admin.cluster
        self.admin = BrokerAdmin(self.cluster)
        own = own_security(config, self.cluster.security)
        mount = mount_of(settings)
        place = Place(settings.name, None if mount is None else mount.path, mounts)
        observer = partial(audit.catalog_changed, place=place)
        self.catalog = catalog or open_catalog(config, own_admin, own, observer, anew=anew)
        self.policies = ClusterPolicies(config.policies, self.admin, self.cluster)
        self.part = TakingPart(self.catalog, config.gateway_id, worker_id, config.workers)
        silence = int(config.catalog.max_staleness * 1000) + UNDER_WAY
        freezer = Freezer(
            self.catalog, self.part.run, self.part.here, clock=now_ms, silence=silence
        )
        context = Context(
            self.catalog,
            self.cluster,
            self.admin,
            judge=self.policies.judge,
            freezer=freezer,
            at_work=self.part.at_work,
            ids=IdListing(turns),
            turns=turns,
        )
        further = [] if mount is None or joins is None else [joins(mount, context)]
        self._membership = membership
        groups = GroupRemoval(lambda: self.cluster.brokers.values(), self.admin.ask_at)
        self._jobs = background_jobs(context, config.gateway_id, further, self._membership, groups)
        self._changes = NamespaceChanges(context, self._jobs.claim)
        self.state = WorkerState(
            self.catalog,
            self.cluster,
            self._changes,
            config.max_request_bytes,
            failure_delay=config.unauthenticated.failure_delay_seconds,
            audit=audit,
            judge=context.judge,
            number=0 if mount is None else mount.number,
            mount="" if mount is None else mount.path,
            place=place,
            validity=self.catalog.validity,
        )
        self.overdue = Overdue((), self.state)
        self._auto_creation = AutoCreation(
            context, lambda: broker_configs(self.admin, self.cluster), tasks.run
        )
        self.state.auto_creation = self._auto_creation
        self.state.internal_topics = InternalTopics(context, tasks.run)
        authorizer = load_authorizer(config.authorization, self.catalog_changed)
        self._views = Views(
            self.catalog,
            [view_settings(listener, settings, mounts) for listener in config.listeners],
            authorizer,
            self.policies.policies,
            lambda: self.part.is_listed,
        )
        self.policies.changed = self.catalog_changed
        lanes = BrokerAdmin(self.cluster, most=LANES)
        self.volume = Volume(
            mount,
            config,
            self.state,
            self.cluster,
            self._views,
            lanes,
        )

    async def start(self) -> None:
        """Read the catalog to its end, and go on with it; the cluster has started.

        Raises CatalogUnavailable, after which it may be called again; CatalogTopicError, NotServed,
        UnreadableCatalog and FormatRejected if the catalog cannot be used; PolicyError if a policy
        cannot be made or configured.
        """
        if not self._follows:
            require(self.cluster.api_versions)
            await self.policies.start()
            await self.catalog.start()
            self._follows = True
        taking_part = register(self._config.gateway_id, version())
        mounted = mount_decisions(self.state.number) if self.state.number else ()
        await self._write(
            takes_its_place(self.state.number),
            begin_with_freezes,
            taking_part,
            self.part.arrive,
            *mounted,
            seed(self._config.namespaces),
        )
        try:
            await self._write(*self._membership.decisions)
        except FormatRejected as error:  # a background job does it later
            log.warning("this gateway is not listed among the brokers yet: %s", error)
        self.catalog.prepare(self._views.prepare)
        await self._prepare()
        self.catalog.subscribe(self.catalog_changed)
        self.catalog_changed()
        self.part.start()
        self._jobs.start()
        self._auto_creation.start()

    async def _prepare(self) -> None:
        """Prepare the views of the newest catalog, in slices, because a worker may serve other
        clusters meanwhile."""
        prepared = None
        while prepared is not self.catalog.snapshot:
            prepared = self.catalog.snapshot
            await sliced(self._turns, partial(self._views.prepare, prepared))

    async def _write(self, *decisions: Decide) -> None:
        """Commit decisions one after the other. Raises their exceptions, and CatalogUnavailable."""
        for decide in decisions:
            # Mostly nothing has to change, and then this does not wait to become the catalog's
            # writer.
            if decide(self.catalog.snapshot):
                await self.catalog.change(decide)

    async def stop(self) -> None:
        """Stop the jobs and the catalog, and close all connections, at once."""
        await self._jobs.stop()
        await self.policies.stop()
        await self.part.stop()
        await self.catalog.stop()
        self.admin.close()
        self.volume.lanes.close()

    def catalog_changed(self) -> None:
        """Make every connection go on with the catalog, and the policies, as they are now."""
        self._views.set_policies(self.policies.policies)
        self._changed()
        self.overdue.see(self._until_overdue())
        self.part.changed()

    def _until_overdue(self) -> float | None:
        """Seconds until requests of clients must have ended, because changes will not wait for them
        any more; or None if the catalog is fresh, so that this worker may decide requests."""
        if not self.part.is_listed:
            return 0.0
        if self.catalog.fresh:
            return None
        age = self.catalog.age or 0.0
        return self._config.catalog.max_staleness + UNDER_WAY / 2000 - age

    def take_rows(self) -> list[Row]:
        """The counts since the last call."""
        grants = self._changes.take_deprecated_grants().items()
        return [
            *(("deprecated_grants", (operation,), count) for operation, count in grants),
            *self.state.take_authorization_denials(),
            *self.catalog.take_rows(),
            *map(self._placed, self.policies.take_rows()),
        ]

    def take_policy_events(self) -> Sequence[PolicyEvent]:
        """The violations and near misses of policies since the last call."""
        place = self.state.place
        return [replace(event, place=place) for event in self.policies.judge.take_events()]

    def gauges(self) -> dict[str, int]:
        """The state of the cluster, and of its catalog."""
        return {
            "catalog_version": self.catalog.snapshot.version,
            "topics": len(self.cluster.index.names()),
            "cluster_reachable": int(self.cluster.reachable),
            "catalog_fresh": int(self.catalog.fresh),
            "catalog_lost": int(self.catalog.lost),
            "catalog_damaged_records": self.catalog.damaged,
        }

    def described(self, down: Callable[[], Collection[str]]) -> DescribedCluster:
        """The cluster as the page shows it; ``down`` returns the ids of gateways that are down."""
        place = self.state.place
        return DescribedCluster(
            place.cluster, place.mount, self.state.number, self.cluster, self.catalog, down
        )

    def _placed(self, row: Row) -> Row:
        """A count of policies; in a tree, the labels of violations have the cluster and its mount,
        too."""
        family, labels, count = row
        if family != VIOLATIONS or self.state.place.mount is None:
            return row
        namespace, *others = labels
        inside = "" if namespace == DEFAULT_NAMESPACE else str(namespace)
        place = self.state.place
        return family, (namespace_label(place, inside), *others, *cluster_label(place)), count


def open_cluster(config: Config, turns: Turns) -> Cluster:
    """The cluster of a volume's configuration, not started yet."""
    settings = config.clusters[0]
    security = BrokerSecurity(settings.security, config.security_key)
    servers = settings.bootstrap_servers
    return Cluster(settings.name, servers, security=security, turns=turns, watches=True)
