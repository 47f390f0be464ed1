"""The catalog that a configuration asks for: as whom it is read and written, with which keys."""

from __future__ import annotations

from typing import Final

from gateway.brokers.security import BrokerSecurity
from gateway.catalog.committed import Observer
from gateway.catalog.own_topic import Admin
from gateway.catalog.replicated import START_SECONDS, ReplicatedCatalog
from gateway.catalog.signatures import KeyFile
from gateway.config.models import Config

SECURITY_KEY: Final = "catalog.security"


def own_security(config: Config, security: BrokerSecurity) -> BrokerSecurity:
    """Who the gateway is at the brokers where it keeps what is its own: the catalog, the audit
    topic, the traffic log's. ``security`` is who it is for everything else, and by default here."""
    settings = config.catalog.security
    return security if settings is None else BrokerSecurity(settings, SECURITY_KEY)


def open_catalog(
    config: Config,
    admin: Admin,
    security: BrokerSecurity,
    observer: Observer,
    *,
    start_seconds: float = START_SECONDS,
) -> ReplicatedCatalog:
    """The catalog, not started yet. ``admin`` asks, and ``security`` connects, as its identity."""
    settings = config.catalog
    return ReplicatedCatalog(
        config.clusters[0].bootstrap_servers,
        admin,
        max_staleness=settings.max_staleness,
        replication_factor=settings.replication_factor,
        security=security,
        start_seconds=start_seconds,
        observer=observer,
        keys=None if settings.key_file is None else KeyFile(settings.key_file),
    )
