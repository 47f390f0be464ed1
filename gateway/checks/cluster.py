"""``kafka-gateway check --cluster``: a configuration compared with the cluster and its catalog.

The cluster is only queried; nothing is changed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple

from gateway.brokers.messages import ClusterAdmin, describe_configs
from gateway.catalog.log.records import FORMAT
from gateway.catalog.snapshot import Snapshot
from gateway.checks.broker_rights import (
    CLIENTS_KEY,
    OWN_KEY,
    Rights,
    exposure,
    lacking,
    rights_of,
)
from gateway.cluster.cluster import ClusterUnreachable
from gateway.commands import backend
from gateway.commands.errors import CommandError
from gateway.commands.output import shortened
from gateway.config.errors import Problem
from gateway.config.models import Config
from gateway.names import LogicalName, is_reserved, parents
from gateway.policies.applied import MIN_ISR, is_hollow
from gateway.policies.tree import BUILT_IN, Policies

_SERVERS: Final = ("clusters", 0, "bootstrap_servers")
_BATCH: Final = 500
_SHOWN: Final = 4


class CatalogFacts(NamedTuple):
    """The catalog as it was read. ``skipped`` are records that no gateway wrote, ``damaged`` those
    that junk has replaced, or that are missing."""

    version: int
    format: int
    signed_with: str | None
    entities: int
    skipped: int
    damaged: int


@dataclass(slots=True)
class ClusterFindings:
    """The findings at the cluster; None: not known."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    topics: int = 0
    clients: Rights | None = None
    own: Rights | None = None
    catalog: CatalogFacts | None = None

    def as_json(self) -> dict[str, object]:
        """The findings for programs, without problems and warnings."""
        catalog = None
        if self.catalog is not None:
            version, level, signed_with, entities, skipped, damaged = self.catalog
            catalog = {
                "version": version,
                "format": level,
                "newest_format": FORMAT,
                "signed_with": signed_with,
                "entities": entities,
                "skipped_records": skipped,
                "damaged_records": damaged,
            }
        return {
            "topics": self.topics,
            "clients_identity": None if self.clients is None else self.clients.as_json(),
            "catalog_identity": None if self.own is None else self.own.as_json(),
            "catalog": catalog,
        }

    def rows(self) -> list[tuple[str, str]]:
        """The findings for people, without problems and warnings."""
        rows = [("topics", f"{self.topics:,}")]
        if self.catalog is None:
            return [*rows, ("catalog", "none yet")]
        version, level, signed_with, entities, skipped, damaged = self.catalog
        return [
            *rows,
            ("catalog", f"version {version:,}, {entities:,} entities"),
            ("format", f"{level} (this software reads up to {FORMAT})"),
            ("signed", f"with key {signed_with}" if signed_with else "no"),
            ("skipped records", f"{skipped:,}"),
            ("damaged records", f"{damaged:,}"),
        ]


async def ask_cluster(config: Config) -> ClusterFindings:
    """Connect to the cluster and query it. Failures are problems among the findings."""
    # They are reported once, so not in the log.
    logging.getLogger().addHandler(logging.NullHandler())
    found = ClusterFindings()
    try:
        await _ask_rights(config, found)
        if found.problems:
            return found
        async with backend.open_backend(config, read_only=True, or_empty=True) as opened:
            catalog, snapshot = opened.catalog, opened.catalog.snapshot
            if found.own is not None and found.own.exists:
                found.catalog = CatalogFacts(
                    snapshot.version,
                    snapshot.format,
                    snapshot.signing or None,
                    snapshot.size,
                    catalog.skipped,
                    catalog.damaged,
                )
                found.warnings += _judge_catalog(config, found.catalog)
            flats = [flat.decode() for flat in opened.cluster.index.names()]
            found.topics = len(flats)
            policies = Policies(config.policies)
            found.warnings += await hollow_topics(opened.admin, flats, snapshot, policies)
            found.warnings += homes_not_there(config, snapshot)
    except (CommandError, ClusterUnreachable) as error:
        text = str(error)
        step = "" if "; " in text else "; see that it runs, and that clusters[0] names it"
        found.problems.append(Problem(_SERVERS, f"{text}{step}"))
    return found


async def _ask_rights(config: Config, found: ClusterFindings) -> None:
    """Query the rights before the catalog is read, which needs them."""
    async with backend.open_cluster(config) as opened:
        found.clients = await rights_of(opened.admin)
        found.own = await rights_of(opened.own_admin)
    one_identity = config.catalog.security is None
    found.problems += lacking(found.own, CLIENTS_KEY if one_identity else OWN_KEY)
    found.warnings += exposure(found.clients, one_identity=one_identity)


def _judge_catalog(config: Config, facts: CatalogFacts) -> Iterator[Problem]:
    if facts.skipped:
        yield Problem(
            ("catalog",),
            f"its topic holds {facts.skipped:,} records that no gateway wrote; find out who"
            " else may write to it",
        )
    if facts.damaged:
        yield Problem(
            ("catalog",),
            f"{facts.damaged:,} of its records are replaced by junk or missing; a gateway that"
            " runs writes again what it still has, importing an export the rest",
        )
    if config.catalog.key_file is not None and facts.signed_with is None:
        yield Problem(
            ("catalog", "key_file"),
            "the catalog is not signed yet; once all gateways have the keys, sign it:"
            " kafka-gateway catalog sign",
        )


def homes_not_there(config: Config, snapshot: Snapshot) -> Iterator[Problem]:
    """Homes that the file does not create and the catalog does not have."""
    seeded = {tier for namespace in config.namespaces for tier in parents(namespace)}
    new = seeded - {tier for path in snapshot.seeded for tier in parents(path)}
    for principal, settings in config.principals.items():
        missing = snapshot.missing_tier(settings.home)
        if missing is not None and settings.home not in new:
            yield Problem(
                ("principals", principal, "home"),
                f"namespace '{missing}' does not exist, so {principal} reaches nothing; create it,"
                " or correct its home",
            )
    for principal, home in snapshot.homes.items():
        missing = snapshot.missing_tier(home)
        if missing is not None and principal not in config.principals:
            yield Problem(
                (),
                f"the catalog gives {principal} the home '{home}', and namespace '{missing}' does"
                " not exist, so it reaches nothing; create it, or give it another home",
            )


async def hollow_topics(
    admin: ClusterAdmin, flats: Sequence[str], snapshot: Snapshot, policies: Policies
) -> list[Problem]:
    """A warning for each place of the configuration that requires acks=all, with the topics where
    one broker alone answers it. Raises OSError.

    A namespace whose producers are held to acks=all (KIP-679) needs ``min.insync.replicas`` of 2
    or more: with 1 the leader answers alone while no other replica is in sync.
    """
    held: dict[str, LogicalName] = {}
    for flat in flats:
        name = snapshot.owner(flat)
        if not is_reserved(flat) and policies.guarantee(name.namespace).acks != "observe":
            held[flat] = name
    found: dict[str, list[str]] = {}
    rest = iter(held)
    while batch := tuple(islice(rest, _BATCH)):
        response = await admin.ask(describe_configs(batch, [MIN_ISR]), changes=False)
        for result in response.results:
            name = held[str(result.resource_name)]
            # A topic that was deleted meanwhile has no configs.
            values = [one.value or "" for one in result.configs or () if one.name == MIN_ISR]
            if any(is_hollow(policies, name.namespace, str(value)) for value in values):
                source = policies.guarantee(name.namespace).acks_source
                found.setdefault(source, []).append(str(name))
    return [_hollow_warning(source, sorted(names)) for source, names in sorted(found.items())]


def _hollow_warning(source: str, names: Sequence[str]) -> Problem:
    subject = "namespaces ask" if source == BUILT_IN else f"{source} asks"
    return Problem(
        () if source == BUILT_IN else ("policies",),
        f"{subject} for acks=all, which one replica alone answers where {MIN_ISR} is 1:"
        f" {shortened(names, _SHOWN)}; make it 2 there (with 3 replicas), or at the brokers",
    )
