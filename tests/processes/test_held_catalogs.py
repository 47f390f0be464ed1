"""A worker hands over the catalogs that it has in memory, and a tool reads them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import cast

import pytest

from gateway.catalog.log.held import (
    Head,
    NotHeld,
    entity_lines,
    head_line,
    read_held,
)
from gateway.catalog.replicated import ReplicatedCatalog
from gateway.catalog.snapshot import Snapshot
from gateway.commands.catalog import from_memory
from gateway.commands.errors import Unavailable
from gateway.config.models import Config
from gateway.operators import address
from gateway.processes import operator_socket
from gateway.processes.held_catalogs import HeldCatalogs
from gateway.processes.operator_socket import OperatorSocket
from gateway.session.tracing import Tracing
from tests.commands.catalog_samples import sample
from tests.config import config_samples


class Known:
    """A catalog that was read 75 s ago."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.age = 75.0


class Bench:
    """Two workers' catalogs, for the tool."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.known = Known(Snapshot()), Known(Snapshot())
        self.workers = [
            worker_socket(config, number, {"main": cast(ReplicatedCatalog, known)})
            for number, known in enumerate(self.known)
        ]


def worker_socket(
    config: Config, worker_id: int, catalogs: Mapping[str, ReplicatedCatalog]
) -> OperatorSocket:
    held = HeldCatalogs(config.gateway_id, catalogs)
    return OperatorSocket(config.metrics.port, worker_id, held, Tracing(worker_id))


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    made = Bench(config_samples.config(tmp_path, workers=2))
    yield made
    for worker in made.workers:
        await worker.stop()


async def test_the_newest_that_a_worker_has(bench: Bench) -> None:
    for worker in bench.workers:
        await worker.start()
    bench.known[0].snapshot = sample()
    newer = sample().apply([], sample().version + 1)
    bench.known[1].snapshot = newer
    head, snapshot = await from_memory.held_catalog(bench.config)
    assert snapshot == newer
    assert head == Head(
        bench.config.gateway_id, os.getpid(), newer.version, sum(1 for _ in newer.entities()), 75.0
    )


async def test_one_worker_is_enough(bench: Bench) -> None:
    await bench.workers[1].start()
    bench.known[1].snapshot = sample()
    assert (await from_memory.held_catalog(bench.config))[1] == sample()


async def test_workers_that_know_nothing(bench: Bench) -> None:
    await bench.workers[0].start()
    with pytest.raises(Unavailable):
        await from_memory.held_catalog(bench.config)


async def test_another_user_gets_nothing(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    monkeypatch.setattr(operator_socket, "_ROOT", -1)
    await bench.workers[0].start()
    bench.known[0].snapshot = sample()
    with pytest.raises(Unavailable):
        await from_memory.held_catalog(bench.config)


async def test_a_second_listener_stops_nothing(bench: Bench) -> None:
    await bench.workers[0].start()
    again = worker_socket(bench.config, 0, {})
    await again.start()  # with a warning
    await again.stop()
    bench.known[0].snapshot = sample()
    assert (await from_memory.held_catalog(bench.config))[1] == sample()


async def test_no_part_of_a_catalog_is_taken_for_all_of_it() -> None:
    lines = [
        head_line(Head("gw", 1, sample().version, len([*sample().entities()]), None)),
        *entity_lines(sample()),
    ]

    async def sent(count: int) -> AsyncIterator[bytes]:
        for line in lines[:count]:
            yield line

    for count in range(len(lines)):
        with pytest.raises(NotHeld):
            await read_held(sent(count))
    assert (await read_held(sent(len(lines))))[1] == sample()


def test_addresses_are_apart() -> None:
    places = {address(port, worker) for port in (9404, 9405) for worker in range(3)}
    assert len(places) == 6
