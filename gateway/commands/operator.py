"""What operators' tools look at: the cluster behind a gateway, and the catalog on it, directly."""

from __future__ import annotations

import getpass
import logging
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from gateway.audit.interface import NO_AUDIT, Audit, AuditError
from gateway.audit.places import COMMANDS, open_audit
from gateway.brokers.security import BrokerSecurity
from gateway.catalog.log.records import UnreadableCatalog
from gateway.catalog.log.signatures import KeyFileError
from gateway.catalog.log.topics import CATALOG_TOPIC, CatalogTopicError, check_topic
from gateway.catalog.replicated import open_catalog, own_security
from gateway.catalog.source import Actor, CatalogUnavailable, CheckedCatalog
from gateway.cluster.admin import BrokerAdmin
from gateway.cluster.cluster import Cluster, ClusterUnreachable
from gateway.commands.failure import CommandError, Unavailable
from gateway.config.models import Config

START_SECONDS: Final = 15.0
"""How long a cluster is waited for, and then its catalog: somebody waits at a terminal."""


class NoCatalog(CommandError):
    """The cluster has no catalog."""


@dataclass(frozen=True, slots=True)
class Backend:
    """A cluster, and its catalog."""

    cluster: Cluster
    admin: BrokerAdmin
    catalog: CheckedCatalog


@asynccontextmanager
async def backend(
    config: Config, *, read_only: bool, or_empty: bool = False
) -> AsyncIterator[Backend]:
    """The backend of a configuration; the catalog's topic is made unless it is ``read_only``.

    ``or_empty`` stands in for a catalog that does not exist: its snapshot holds nothing.

    Raises NoCatalog, and CommandError for whatever goes wrong with cluster or catalog meanwhile.
    """
    # What goes wrong is told once, as the error that the command ends with.
    logging.getLogger().addHandler(logging.NullHandler())
    settings = config.clusters[0]
    security = BrokerSecurity(settings.security)
    cluster = Cluster(
        settings.name,
        settings.bootstrap_servers,
        security=security,
        start_timeout=START_SECONDS,
    )
    admin = BrokerAdmin(cluster)
    own = own_security(config, security)
    own_admin = BrokerAdmin(cluster, security=own)
    audit = NO_AUDIT if read_only else open_audit(config, COMMANDS, own_admin, own)
    catalog = open_catalog(
        config, own_admin, own, audit.catalog_changed, start_seconds=START_SECONDS
    )
    try:
        await cluster.start()
        try:
            if read_only and not await check_topic(own_admin, CATALOG_TOPIC):
                if or_empty:
                    yield Backend(cluster, admin, catalog)
                    return
                raise NoCatalog(
                    f"cluster '{settings.name}' has no catalog yet: the first gateway that starts "
                    "makes it, and so does kafka-gateway catalog import"
                )
            await audit.start()
            try:
                await catalog.start(read_only=read_only)
                try:
                    yield Backend(cluster, admin, catalog)
                finally:
                    await catalog.stop()
            finally:
                await audit.stop()
                _tell_lost(audit)
        finally:
            admin.close()
            own_admin.close()
            await cluster.stop()
    except AuditError as error:
        raise CommandError(str(error)) from None
    except (CatalogTopicError, KeyFileError, UnreadableCatalog) as error:
        raise CommandError(f"the catalog of cluster '{settings.name}': {error}") from None
    except CatalogUnavailable as error:
        raise Unavailable(f"the catalog of cluster '{settings.name}': {error}") from None
    except ClusterUnreachable as error:
        raise Unavailable(f"{error}; see that it runs, and that clusters[0] names it") from None


def _tell_lost(audit: Audit) -> None:
    counts = [count for family, _, count in audit.take_rows() if family == "audit_dropped"]
    lost = sum(count for count in counts if isinstance(count, int))
    if lost:
        print(f"{lost} audit events of this command could not be written", file=sys.stderr)


def actor(command: str) -> Actor:
    """Whoever runs a command, as the audit log tells of what it changes."""
    try:
        login = getpass.getuser()
    except (KeyError, OSError):  # as in a container that knows no user of this number
        login = str(os.getuid())
    return Actor(f"operator:{login}", api=command)
