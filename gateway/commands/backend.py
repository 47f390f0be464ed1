"""The cluster behind a gateway and the catalog on it, opened directly for operators' tools."""

from __future__ import annotations

import getpass
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final, NamedTuple

from gateway.audit.audit import NO_AUDIT, Audit
from gateway.audit.setup import COMMANDS, open_audit
from gateway.brokers.security import BrokerSecurity
from gateway.catalog.log.needs import NotServed, require
from gateway.catalog.log.records import UnreadableCatalog
from gateway.catalog.log.signatures import KeyFileError
from gateway.catalog.log.topics import (
    CATALOG_TOPIC,
    CatalogLost,
    CatalogTopicError,
    FoundTopic,
    find_topic,
)
from gateway.catalog.replicated import ReplicatedCatalog, open_catalog, own_security
from gateway.catalog.source import Actor, CatalogUnavailable
from gateway.cluster.admin import BrokerAdmin
from gateway.cluster.cluster import Cluster, ClusterUnreachable
from gateway.commands.errors import CommandError, Unavailable
from gateway.config.errors import key_text
from gateway.config.models import Config
from gateway.places import Place
from gateway.sinks.record_writer import SinkError

START_SECONDS: Final = 15.0
"""Seconds to wait for a cluster, and then for its catalog. Short, because an
operator waits at a terminal."""


class NoCatalog(CommandError):
    """The cluster has no catalog."""


class Backend(NamedTuple):
    """A cluster and its catalog."""

    cluster: Cluster
    admin: BrokerAdmin
    catalog: ReplicatedCatalog


class OpenedCluster(NamedTuple):
    """A connected cluster. ``admin`` has the identity of clients' connections, ``own_admin`` and
    ``own`` have the catalog's."""

    cluster: Cluster
    admin: BrokerAdmin
    own_admin: BrokerAdmin
    own: BrokerSecurity


@asynccontextmanager
async def open_cluster(config: Config) -> AsyncIterator[OpenedCluster]:
    """Connect to the cluster of a configuration. Raises ClusterUnreachable."""
    settings = config.clusters[0]
    security = BrokerSecurity(settings.security, config.security_key)
    cluster = Cluster(
        settings.name,
        settings.bootstrap_servers,
        security=security,
        start_timeout=START_SECONDS,
    )
    own = own_security(config, security)
    admin, own_admin = BrokerAdmin(cluster), BrokerAdmin(cluster, security=own)
    try:
        await cluster.start()
        yield OpenedCluster(cluster, admin, own_admin, own)
    finally:
        admin.close()
        own_admin.close()
        await cluster.stop()


@asynccontextmanager
async def open_backend(
    config: Config, *, read_only: bool, or_empty: bool = False, anew: bool = False
) -> AsyncIterator[Backend]:
    """Open the backend of a configuration; creates the catalog's topic unless ``read_only``.

    If the catalog does not exist and ``or_empty`` is true, the snapshot is empty. If ``anew`` is
    true, a lost catalog counts as a catalog that does not exist.

    Raises NoCatalog, and CommandError if the cluster or the catalog fails meanwhile.
    """
    # A failure is reported once, as the error that the command ends with.
    logging.getLogger().addHandler(logging.NullHandler())
    name = config.clusters[0].name
    place = Place(name, config.clusters[0].mount)
    try:
        async with (
            AsyncExitStack() as opened,
            open_cluster(config) as (cluster, admin, own_admin, own),
        ):
            require(cluster.api_versions)
            audit = NO_AUDIT
            if not read_only:
                audit = await _open_audit(config, own_admin, own, opened)
            catalog = open_catalog(
                config,
                own_admin,
                own,
                partial(audit.catalog_changed, place=place),
                start_seconds=START_SECONDS,
                anew=anew,
            )
            topic = await find_topic(own_admin, CATALOG_TOPIC) if read_only else FoundTopic(True)
            if not topic.there:
                if topic.marked and not anew:
                    raise CatalogLost(f"its topic '{CATALOG_TOPIC}' is not there", name)
                if or_empty:
                    yield Backend(cluster, admin, catalog)
                    return
                raise NoCatalog(
                    f"cluster '{name}' has no catalog yet: the first gateway that starts "
                    "makes it, and so does kafka-gateway catalog import"
                )
            await audit.start()
            try:
                await catalog.start(read_only=read_only)
                try:
                    if topic.marked and not catalog.snapshot.version and not anew:
                        raise CatalogLost(f"its topic '{CATALOG_TOPIC}' is empty", name)
                    yield Backend(cluster, admin, catalog)
                finally:
                    await catalog.stop()
            finally:
                await audit.stop()
                _report_lost(audit)
    except SinkError as error:
        raise CommandError(str(error)) from None
    except (CatalogTopicError, KeyFileError, NotServed, UnreadableCatalog) as error:
        raise CommandError(f"the catalog of cluster '{name}': {error}") from None
    except CatalogUnavailable as error:
        raise Unavailable(f"the catalog of cluster '{name}': {error}") from None
    except ClusterUnreachable as error:
        step = f"see that it runs, and that {key_text(config.cluster_key)} names it"
        raise Unavailable(f"{error}; {step}") from None


async def _open_audit(
    config: Config, own_admin: BrokerAdmin, own: BrokerSecurity, opened: AsyncExitStack
) -> Audit:
    """The audit log. Its topic is in the first cluster of the file, even if the command is about
    another cluster. Raises ClusterUnreachable."""
    whole = config.whole
    first = whole.of_volume(whole.clusters[0])
    if config.audit.topic is not None and config.cluster_key != first.cluster_key:
        elsewhere = await opened.enter_async_context(open_cluster(first))
        return open_audit(first, COMMANDS, elsewhere.own_admin, elsewhere.own)
    return open_audit(config, COMMANDS, own_admin, own)


def _report_lost(audit: Audit) -> None:
    counts = [count for family, _, count in audit.take_rows() if family == "audit_dropped"]
    lost = sum(count for count in counts if isinstance(count, int))
    if lost:
        print(f"{lost} audit events of this command could not be written", file=sys.stderr)


def operator_actor(command: str) -> Actor:
    """The operator that runs a command, for the audit events of its changes."""
    try:
        login = getpass.getuser()
    except (KeyError, OSError):  # as in a container that has no user of this number
        login = str(os.getuid())
    return Actor(f"operator:{login}", api=command)
