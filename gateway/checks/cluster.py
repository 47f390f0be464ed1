"""``kafka-gateway check --cluster``: what the cluster and its catalog say of a configuration.

Everything is asked, and nothing is changed.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from gateway.brokers.security import BrokerSecurity
from gateway.catalog.log.records import FORMAT
from gateway.catalog.replicated import own_security
from gateway.catalog.snapshot import Snapshot
from gateway.checks.broker_rights import (
    CLIENTS_KEY,
    OWN_KEY,
    Rights,
    exposure,
    lacking,
    rights_of,
)
from gateway.checks.durability import hollow_topics
from gateway.checks.named import homes_not_there
from gateway.cluster.admin import BrokerAdmin
from gateway.cluster.cluster import Cluster, ClusterUnreachable
from gateway.commands import operator
from gateway.commands.failure import CommandError
from gateway.config.errors import Problem
from gateway.config.models import Config
from gateway.policies.tree import Policies

_SERVERS = ("clusters", 0, "bootstrap_servers")


@dataclass(slots=True)
class CatalogFacts:
    """The catalog as it was read. ``skipped`` are records that no gateway wrote, ``damaged`` those
    in whose place there is junk, or nothing."""

    version: int
    format: int
    signed_with: str | None
    entities: int
    skipped: int
    damaged: int


@dataclass(slots=True)
class ClusterFindings:
    """What was found out; what could not be asked is None."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    topics: int = 0
    clients: Rights | None = None
    own: Rights | None = None
    catalog: CatalogFacts | None = None

    def as_json(self) -> dict[str, object]:
        """For programs."""
        catalog = self.catalog
        return {
            "topics": self.topics,
            "clients_identity": None if self.clients is None else self.clients.as_json(),
            "catalog_identity": None if self.own is None else self.own.as_json(),
            "catalog": None
            if catalog is None
            else {
                "version": catalog.version,
                "format": catalog.format,
                "newest_format": FORMAT,
                "signed_with": catalog.signed_with,
                "entities": catalog.entities,
                "skipped_records": catalog.skipped,
                "damaged_records": catalog.damaged,
            },
        }

    def rows(self) -> list[tuple[str, str]]:
        """For people."""
        catalog = self.catalog
        if catalog is None:
            return [("topics", f"{self.topics:,}"), ("catalog", "none yet")]
        signed = f"with key {catalog.signed_with}" if catalog.signed_with else "no"
        return [
            ("topics", f"{self.topics:,}"),
            ("catalog", f"version {catalog.version:,}, {catalog.entities:,} entities"),
            ("format", f"{catalog.format} (this software reads up to {FORMAT})"),
            ("signed", signed),
            ("skipped records", f"{catalog.skipped:,}"),
            ("damaged records", f"{catalog.damaged:,}"),
        ]


async def look(config: Config) -> ClusterFindings:
    """Connect to the cluster and ask. What goes wrong is a problem."""
    # What goes wrong is told once, as a problem.
    logging.getLogger().addHandler(logging.NullHandler())
    found = ClusterFindings()
    try:
        await _ask_rights(config, found)
        if found.problems:
            return found
        async with operator.backend(config, read_only=True, or_empty=True) as backend:
            catalog, snapshot = backend.catalog, backend.catalog.snapshot
            if found.own is not None and found.own.exists:
                found.catalog = CatalogFacts(
                    snapshot.version,
                    snapshot.format,
                    snapshot.signing or None,
                    snapshot.size,
                    catalog.skipped,
                    catalog.damaged,
                )
                _judge_catalog(config, found, found.catalog)
            await _judge_topics(config, found, backend, snapshot)
    except (CommandError, ClusterUnreachable) as error:
        text = str(error)
        step = "" if "; " in text else "; see that it runs, and that clusters[0] names it"
        found.problems.append(Problem(_SERVERS, f"{text}{step}"))
    return found


async def _ask_rights(config: Config, found: ClusterFindings) -> None:
    """Before the catalog is read: without these rights it cannot be."""
    settings = config.clusters[0]
    security = BrokerSecurity(settings.security)
    own = own_security(config, security)
    cluster = Cluster(
        settings.name,
        settings.bootstrap_servers,
        security=security,
        start_timeout=operator.START_SECONDS,
    )
    clients_admin, own_admin = BrokerAdmin(cluster), BrokerAdmin(cluster, security=own)
    try:
        await cluster.start()
        found.clients, found.own = await rights_of(clients_admin), await rights_of(own_admin)
    finally:
        clients_admin.close()
        own_admin.close()
        await cluster.stop()
    one_identity = own is security
    found.problems += lacking(found.own, CLIENTS_KEY if one_identity else OWN_KEY)
    found.warnings += exposure(found.clients, one_identity=one_identity)


def _judge_catalog(config: Config, found: ClusterFindings, facts: CatalogFacts) -> None:
    if facts.skipped:
        found.warnings.append(
            Problem(
                ("catalog",),
                f"its topic holds {facts.skipped:,} records that no gateway wrote; find out who"
                " else may write to it",
            )
        )
    if facts.damaged:
        found.warnings.append(
            Problem(
                ("catalog",),
                f"{facts.damaged:,} of its records are replaced by junk or missing; a gateway that"
                " runs writes again what it still has, importing an export the rest",
            )
        )
    if config.catalog.key_file is not None and facts.signed_with is None:
        found.warnings.append(
            Problem(
                ("catalog", "key_file"),
                "the catalog is not signed yet; once all gateways have the keys, sign it:"
                " kafka-gateway catalog sign",
            )
        )


async def _judge_topics(
    config: Config, found: ClusterFindings, backend: operator.Backend, snapshot: Snapshot
) -> None:
    flats = [flat.decode() for flat in backend.cluster.index.names()]
    found.topics = len(flats)
    found.warnings += await hollow_topics(backend.admin, flats, snapshot, Policies(config.policies))
    found.warnings += homes_not_there(config, snapshot)
