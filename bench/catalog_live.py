"""The catalog on a real broker: how long a gateway takes to start with it, what it holds it in."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import psutil

from bench.catalog_population import NAMESPACES, TOPICS, namespaces, topics
from bench.catalog_rows import CatalogRow
from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.paths import PROJECT_ROOT
from devkit.runtime_environment import runtime_python
from gateway.catalog.entities import Change, TopicEntry
from gateway.catalog.replicated import ReplicatedCatalog
from gateway.cluster.admin import BrokerAdmin
from gateway.cluster.cluster import Cluster
from gateway.config.addresses import Address

START_SECONDS: Final = 5.0
ENTRY_BYTES: Final = 1_024.0

_STARTS: Final = 3
CHANGES: Final = 20
"""Changes that are timed until they are read back."""

_AT_ONCE: Final = 2_000
_MAX_STALENESS: Final = 300.0
_READ_SECONDS: Final = 600.0
_LISTENERS: Final = (Listener("bench", "every namespace"),)


@dataclass(frozen=True, slots=True)
class Started:
    """A gateway of one worker: seconds until it was ready, and the worker's resident bytes."""

    seconds: float
    resident: int


def measure_gateways(
    say: Callable[[str], None], spaces: int = NAMESPACES, count: int = TOPICS
) -> Iterator[CatalogRow]:
    """The same gateway with an empty catalog and with a full one, on a broker of their own.

    Raises BrokerError and GatewayError.
    """
    entries = spaces + count
    with KafkaCluster(quick_start=False) as kafka:
        brokers = kafka.bootstrap_servers
        say("catalog: start-up with an empty one")
        empty = [start(brokers) for _ in range(_STARTS)]
        say(f"catalog: writing {entries:,} entries")
        population: list[Change] = [*namespaces(spaces), *topics(count, spaces)]
        entries_of_topics = (each for each in population if isinstance(each, TopicEntry))
        some = [replace(each, since=each.since + 1) for each in islice(entries_of_topics, CHANGES)]
        changing = asyncio.run(fill(brokers, population, some))
        say("catalog: start-up with a full one")
        full = [start(brokers) for _ in range(_STARTS)]
        reading = [asyncio.run(read(brokers)) for _ in range(_STARTS)]
    title = f"{entries:,} entries"
    yield CatalogRow("a gateway starts, empty catalog", "s", _median(s.seconds for s in empty))
    yield CatalogRow(
        f"a gateway starts, {title}", "s", _median(s.seconds for s in full), START_SECONDS
    )
    yield CatalogRow(f"... reading {title} takes of it", "s", _median(reading))
    more = _median(s.resident for s in full) - _median(s.resident for s in empty)
    yield CatalogRow("a worker's memory, an entry", "bytes", more / entries, ENTRY_BYTES)
    yield CatalogRow("a change, until it is read back", "ms", changing * 1e3)


def start(brokers: str, overrides: Mapping[str, Any] | None = None) -> Started:
    """Start a gateway, whose configuration has ``overrides``, and end it. Raises GatewayError."""
    began = time.perf_counter()
    with GatewayProcess(
        brokers,
        _LISTENERS,
        [],
        overrides=overrides,
        python_path=PROJECT_ROOT,
        interpreter=runtime_python(),
    ) as gateway:
        seconds = time.perf_counter() - began
        (worker,) = psutil.Process(gateway.process.command_pid).children()
        return Started(seconds, worker.memory_info().rss)


async def fill(brokers: str, population: Sequence[Change], changes: Sequence[Change]) -> float:
    """Write the catalog, and then some changes, one after the other; returns the median of the
    seconds until one of those is read back. Raises CatalogUnavailable."""
    async with _catalog(brokers) as catalog:
        for at in range(0, len(population), _AT_ONCE):
            await catalog.change(lambda _, part=population[at : at + _AT_ONCE]: part)  # type: ignore[misc]
        times = []
        for changed in changes:
            began = time.perf_counter()
            await catalog.change(lambda _, one=changed: [one])  # type: ignore[misc]
            times.append(time.perf_counter() - began)
    return statistics.median(times)


async def read(brokers: str) -> float:
    """Seconds until a reader that has just started knows the catalog, however long that takes.
    Raises CatalogUnavailable."""
    began = time.perf_counter()
    async with _catalog(brokers):
        return time.perf_counter() - began


@asynccontextmanager
async def _catalog(brokers: str) -> AsyncIterator[ReplicatedCatalog]:
    servers = [
        Address(host, int(port))
        for host, _, port in (b.rpartition(":") for b in brokers.split(","))
    ]
    cluster = Cluster("bench", servers)
    await cluster.start()
    admin = BrokerAdmin(cluster)
    catalog = ReplicatedCatalog(
        servers,
        admin,
        max_staleness=_MAX_STALENESS,
        replication_factor=1,
        start_seconds=_READ_SECONDS,
    )
    await catalog.start()
    try:
        yield catalog
    finally:
        await catalog.stop()
        admin.close()
        await cluster.stop()


def _median(values: Iterator[float] | Sequence[float]) -> float:
    return statistics.median(list(values))
