"""Namespaces and ACLs of the catalog: a start, the memory of a worker, the pause of a change, and a
lookup.

Starts and memory are those of a real gateway on a real broker; pauses and lookups are timed in this
process, on the gateway's own classes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from statistics import median
from typing import Any, Final

from bench import acls, catalog
from bench.acl_population import principal, resource_acls
from bench.catalog_live import CHANGES, fill, read, start
from bench.catalog_population import namespaces
from bench.catalog_rows import CatalogRow
from bench.growth.curves import Figure, Kind, Sweep, Values, curves
from bench.growth.plan import Plan, Say, climb
from devkit.broker import KafkaCluster
from gateway.acl_model import AclEntry, Operation, Permission
from gateway.catalog.entities import Change, Namespace
from gateway.catalog.replicated import START_SECONDS
from gateway.catalog.snapshot import Snapshot
from gateway.views.view import View, ViewSettings

_READ: Final = Figure("reading the catalog", "s", Kind.TOTAL)
_START: Final = Figure("a gateway starts", "s", Kind.TOTAL)
_MEMORY: Final = Figure("memory of a worker", "MiB", Kind.TOTAL)
_BACK: Final = Figure("a change, until it is read back", "ms", Kind.TOTAL)
_PAUSE: Final = Figure("a change, in a worker's event loop", "CPU ms", Kind.TOTAL)
_KNOWN: Final = Figure("a lookup, of a name in use", "ns", Kind.TOTAL)
_NEW: Final = Figure("a lookup, of a name never seen", "us", Kind.TOTAL)
_BUILT: Final = Figure("the authorizer is built", "CPU s", Kind.TOTAL)
_AGAIN: Final = Figure("a decision, again", "CPU us", Kind.TOTAL)
_DECIDED: Final = Figure("a decision, for the first time", "CPU us", Kind.TOTAL)

_LIVE: Final = (_READ, _START, _MEMORY, _BACK)
NAMESPACES: Final = (*_LIVE, _PAUSE, _KNOWN, _NEW)
ACLS: Final = (*_LIVE, _PAUSE, _BUILT, _AGAIN, _DECIDED)

TOPICS: Final = 10_000
"""Topics with an entry, in the namespaces of lookups and changes: always as many."""

_PAUSES: Final = 15
_USERS: Final = 100
"""Principals that ask for decisions: always as many."""

_ACLS_OF_ONE: Final = 100
_AUTHORIZER: Final = {"authorization": {"super.users": ["User:admin"]}}
_LARGE_RECORDS: Final = {"message.max.bytes": str(8 << 20)}
"""All ACLs of a resource pattern are one record: of 10,000 principals it may be near 1 MB, which is
what brokers take by default."""


def measure_namespaces(plan: Plan, say: Say) -> Sweep:
    """Measure. Raises BrokerError, GatewayError and CatalogUnavailable."""
    notes: list[str] = []
    measured: dict[int, Values] = {}
    every = list(namespaces(max(plan.sizes)))
    some = [replace(each, apply_since=1) for each in every[:CHANGES]]
    with KafkaCluster(quick_start=False) as kafka:
        written = 0
        for size in climb(plan, "namespaces", notes, say):
            live = _live(kafka.bootstrap_servers, every[written:size], some, {})
            written = size
            measured[size] = {**live, **_namespaces_here(size)}
            _note_start(measured[size], size, "namespaces", notes, say)
    return Sweep("namespaces", "namespaces", curves(NAMESPACES, measured), notes)


def measure_acls(plan: Plan, say: Say) -> Sweep:
    """Measure. Raises BrokerError, GatewayError and CatalogUnavailable."""
    notes: list[str] = []
    measured: dict[int, Values] = {}
    with KafkaCluster(quick_start=False, overrides=_LARGE_RECORDS) as kafka:
        for size in climb(plan, "ACLs", notes, say):
            every = resource_acls(size, max(_USERS, size // _ACLS_OF_ONE))
            more = AclEntry("User:growth", "*", Operation.READ, Permission.ALLOW)
            some = [replace(each, entries=each.entries | {more}) for each in every[:CHANGES]]
            # A larger population has what the smaller ones have.
            population = [*acls.team_namespaces(), *every]
            live = _live(kafka.bootstrap_servers, population, some, _AUTHORIZER)
            measured[size] = {**live, **_acls_here(acls.populated(every))}
            _note_start(measured[size], size, "ACLs", notes, say)
    return Sweep("acls", "ACLs", curves(ACLS, measured), notes)


def _live(
    brokers: str,
    population: Sequence[Change],
    changes: Sequence[Change],
    overrides: Mapping[str, Any],
) -> Values:
    """Write what the catalog lacks, and start a gateway, unless it would give up: a worker waits
    :data:`START_SECONDS` for the end of the catalog."""
    changing = asyncio.run(fill(brokers, population, changes))
    reading = asyncio.run(read(brokers))
    values = {_READ.title: reading, _BACK.title: changing * 1e3}
    if reading < START_SECONDS:
        started = start(brokers, overrides)
        values |= {_START.title: started.seconds, _MEMORY.title: started.resident / (1 << 20)}
    return values


def _note_start(values: Values, size: int, counted: str, notes: list[str], say: Say) -> None:
    if _START.title not in values:
        notes.append(
            f"No gateway was started with {size:,} {counted}: a worker gives up after"
            f" {START_SECONDS:.0f} s, and reading them took {values[_READ.title]:.0f} s here."
        )
        say(notes[-1])


def _namespaces_here(size: int) -> Values:
    snapshot = catalog.populated(size, TOPICS)
    found = _by_figure(catalog.look_ups(snapshot))
    view = View(ViewSettings("growth"), snapshot)
    for flat in snapshot.topics:
        view.spell(flat.encode())  # as a listing has done
    pauses = []
    for path in islice(list(snapshot.namespaces), 0, None, max(1, size // _PAUSES)):
        changed = Namespace(path, {"retention.ms": "1"})
        began = time.thread_time()
        snapshot = snapshot.apply([changed], snapshot.version + 1)
        view = view.successor(snapshot)
        pauses.append(time.thread_time() - began)
    return {
        _PAUSE.title: median(pauses) * 1e3,
        _KNOWN.title: found["View.resolve, a name in use"],
        _NEW.title: found["View.resolve, a name never seen"],
    }


def _acls_here(snapshot: Snapshot) -> Values:
    changed = _by_figure(acls.changes(snapshot))
    decided = _by_figure(acls.decisions(snapshot, [principal(n) for n in range(_USERS)]))
    figure = "authorize, a topic in a namespace of three tiers"
    return {
        _PAUSE.title: changed["one ACL changes: the next snapshot"]
        + changed["... the authorizer sees it"],
        _BUILT.title: changed["the authorizer sees all of them for the first time"],
        _AGAIN.title: decided[f"{figure}, asked before"],
        _DECIDED.title: decided[f"{figure}, never asked"],
    }


def _by_figure(rows: Iterable[CatalogRow]) -> dict[str, float]:
    return {row.figure: row.value for row in rows}
