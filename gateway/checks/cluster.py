"""``kafka-gateway check --cluster``: a configuration compared with the cluster and its catalog.

The cluster is only queried; nothing is changed.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from gateway.brokers.messages import ClusterAdmin, describe_configs
from gateway.brokers.one_each import one_each
from gateway.catalog.log.needs import NotServed, require
from gateway.catalog.log.records import FORMAT
from gateway.catalog.snapshot import Snapshot
from gateway.checks.bootstrap import ask_bootstrap, unreachable_brokers
from gateway.checks.broker_limits import limit_warnings
from gateway.checks.broker_rights import Rights, exposure, lacking, not_creatable, rights_of
from gateway.checks.volumes import (
    broker_warnings,
    number_problems,
    repeated_problems,
    shadow_warnings,
)
from gateway.cluster.cluster import ClusterUnreachable
from gateway.commands import backend
from gateway.commands.errors import CommandError
from gateway.commands.output import shortened
from gateway.config.errors import Key, Problem, key_text
from gateway.config.models import Cluster, Config
from gateway.names import DELIMITER, LogicalName, is_reserved, parents
from gateway.policies.applied import MIN_ISR, is_hollow
from gateway.policies.tree import BUILT_IN, Policies

if TYPE_CHECKING:
    from gateway.checks.lock_out import LockOut

_BATCH: Final = 500
_SHOWN: Final = 4


class CatalogFacts(NamedTuple):
    """The catalog as it was read."""

    version: int
    format: int
    signed_with: str | None
    entities: int
    skipped: int
    """Records that no gateway wrote."""
    damaged: int
    """Records that junk has replaced, or that are missing."""


@dataclass(slots=True)
class ClusterFindings:
    """The findings at the cluster; None if they are not known."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    topics: int = 0
    clients: Rights | None = None
    own: Rights | None = None
    catalog: CatalogFacts | None = None
    cluster_id: str | None = None
    cluster: Cluster | None = None
    lock_out: LockOut | None = None
    dry_run: bool = False

    def as_json(self) -> dict[str, object]:
        """The findings for programs, without problems and warnings."""
        catalog, place = None, {}
        if self.cluster is not None and self.cluster.mount is not None:
            place = {
                "name": self.cluster.name,
                "mount": self.cluster.mount,
                "number": self.cluster.number,
                "cluster_id": self.cluster_id,
            }
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
            **place,
            "topics": self.topics,
            "clients_identity": None if self.clients is None else self.clients.as_json(),
            "catalog_identity": None if self.own is None else self.own.as_json(),
            "catalog": catalog,
            **({"lock_out": self._lock_out_json()} if self.dry_run else {}),
        }

    def _lock_out_json(self) -> dict[str, object] | None:
        return None if self.lock_out is None else self.lock_out.as_json()

    def rows(self) -> list[tuple[str, str]]:
        """The findings for people, without problems and warnings."""
        rows = []
        if self.cluster is not None and self.cluster.mount is not None:
            rows += [
                ("cluster", self.cluster.name),
                ("mount", f"{DELIMITER}{self.cluster.mount}"),
                ("number", str(self.cluster.number)),
                ("cluster id", self.cluster_id or "not known"),
            ]
        rows += [("topics", f"{self.topics:,}")]
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

    def tables(self) -> list[list[tuple[str, ...]]]:
        """The rows of a cluster, and with ``dry_run`` the principals that would be locked out of
        it."""
        found: list[list[tuple[str, ...]]] = [[*self.rows()]]
        if self.lock_out is not None:
            found.append(self.lock_out.rows())
        elif self.dry_run:
            found.append([("locked out", "nobody: no authorization is compared")])
        return found


def found_json(found: Sequence[ClusterFindings]) -> dict[str, object]:
    """The findings for programs: ``cluster``, or in a tree ``clusters``."""
    if any(one.cluster is not None and one.cluster.mount is not None for one in found):
        return {"clusters": [one.as_json() for one in found]}
    return {"cluster": found[0].as_json()} if found else {}


async def ask_clusters(config: Config, *, dry_run: bool = False) -> list[ClusterFindings]:
    """Query every cluster, and compare the clusters with each other. ``dry_run``: also find the
    principals that this configuration would deny operations that they perform today."""
    volumes = map(config.of_volume, config.clusters)
    found = await asyncio.gather(*(ask_cluster(one, dry_run=dry_run) for one in volumes))
    ids = [one.cluster_id for one in found]
    for problem in repeated_problems(ids):
        found[int(problem.key[1])].problems.append(problem)
    for one in found:
        # A warning about a principal's home holds only if no cluster has the home.
        one.warnings = [
            warning
            for warning in one.warnings
            if warning.key[:1] != ("principals",)
            or all(warning in other.warnings for other in found if other is not one)
        ]
    return found


async def ask_cluster(config: Config, *, dry_run: bool = False) -> ClusterFindings:
    """Connect to the first cluster and query it. Failures are problems among the findings."""
    # Failures are reported as problems, and not in the log as well.
    logging.getLogger().addHandler(logging.NullHandler())
    found = ClusterFindings(cluster=config.clusters[0], dry_run=dry_run)
    bootstrap = await ask_bootstrap(config)
    if not bootstrap.answers:
        found.problems += bootstrap.problems
        return found
    found.warnings += bootstrap.problems
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
                found.problems += number_problems(config, snapshot)
            flats = [flat.decode() for flat in opened.cluster.index.names()]
            found.topics = len(flats)
            found.cluster_id = opened.cluster.cluster_id
            found.warnings += broker_warnings(config, opened.cluster.brokers)
            found.warnings += await limit_warnings(config, opened.admin, opened.cluster.brokers)
            found.warnings += await unreachable_brokers(config, opened.cluster.brokers)
            found.warnings += shadow_warnings(config, snapshot, flats)
            policies = Policies(config.policies)
            found.warnings += await hollow_topics(
                opened.admin, flats, snapshot, policies, config.key_of("policies")
            )
            found.warnings += homes_not_there(config, snapshot)
            if dry_run:
                # Imported only with its flag: it loads the declarations of all APIs.
                from gateway.checks.lock_out import find_lock_out

                found.lock_out = await find_lock_out(config, opened)
                if found.lock_out is not None:
                    found.warnings += found.lock_out.warnings()
    except (CommandError, ClusterUnreachable) as error:
        text = str(error)
        where = key_text(config.cluster_key)
        step = "" if "; " in text else f"; see that it runs, and that {where} names it"
        found.problems.append(Problem((*config.cluster_key, "bootstrap_servers"), f"{text}{step}"))
    return found


async def _ask_rights(config: Config, found: ClusterFindings) -> None:
    """Query the API versions and the rights before the catalog is read, which needs both."""
    one_identity = config.catalog.security is None
    clients = (*config.cluster_key, "security")
    own = clients if one_identity else (*config.key_of("catalog"), "security")
    async with backend.open_cluster(config) as opened:
        try:
            require(opened.cluster.api_versions)
        except NotServed as error:
            found.problems.append(Problem((*config.cluster_key, "bootstrap_servers"), str(error)))
            return
        found.clients = await rights_of(opened.admin)
        found.own = await rights_of(opened.own_admin)
        if not found.own.exists:
            factor = config.catalog.replication_factor
            found.problems += [one async for one in not_creatable(opened.own_admin, factor, own)]
    found.problems += lacking(found.own, own)
    found.warnings += exposure(found.clients, clients, one_identity=one_identity)


def _judge_catalog(config: Config, facts: CatalogFacts) -> Iterator[Problem]:
    key = config.key_of("catalog")
    if facts.skipped:
        yield Problem(
            key,
            f"its topic holds {facts.skipped:,} records that no gateway wrote; find out who"
            " else may write to it",
        )
    if facts.damaged:
        yield Problem(
            key,
            f"{facts.damaged:,} of its records are replaced by junk or missing; a gateway that"
            " runs writes again what it still has, importing an export the rest",
        )
    if config.catalog.key_file is not None and facts.signed_with is None:
        yield Problem(
            (*key, "key_file"),
            "the catalog is not signed yet; once all gateways have the keys, sign it:"
            " kafka-gateway catalog sign",
        )


def homes_not_there(config: Config, snapshot: Snapshot) -> Iterator[Problem]:
    """Homes that neither the file creates nor the catalog has."""
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
    admin: ClusterAdmin,
    flats: Sequence[str],
    snapshot: Snapshot,
    policies: Policies,
    key: Key = ("policies",),
) -> list[Problem]:
    """A warning for each place of the configuration that requires acks=all, with the topics where
    the leader alone can acknowledge a record. ``key``: the configuration key of the policies.
    Raises OSError.

    A namespace whose producers have to use acks=all (KIP-679) needs ``min.insync.replicas`` of 2 or
    more. With 1 the leader acknowledges alone while no other replica is in sync.
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
        results = one_each(batch, response.results, attrgetter("resource_name"))
        for flat, result in results.items():
            name = held[flat]
            # A topic that was deleted meanwhile has no configs.
            configs = () if result is None else result.configs or ()
            values = [one.value or "" for one in configs if one.name == MIN_ISR]
            if any(is_hollow(policies, name.namespace, str(value)) for value in values):
                source = policies.guarantee(name.namespace).acks_source
                found.setdefault(source, []).append(str(name))
    return [_hollow_warning(key, source, sorted(names)) for source, names in sorted(found.items())]


def _hollow_warning(key: Key, source: str, names: Sequence[str]) -> Problem:
    place = "in namespaces" if source == BUILT_IN else f"subject to {source}"
    return Problem(
        () if source == BUILT_IN else key,
        f"producers {place} have to use acks=all, but if {MIN_ISR} is 1 the leader may acknowledge"
        f" a record that no other replica has: {shortened(names, _SHOWN)}; set {MIN_ISR}=2 there"
        " (with 3 replicas), or at the brokers",
    )
