"""What a worker's server does for its connections: their tasks, and their clients that leave."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest

from gateway.acls.authorizer import AllowedBy, Verdict
from gateway.catalog.snapshot import Snapshot
from gateway.connections.clients import Tasks
from gateway.exchanges.exchange import Refresh
from gateway.processes.server import Server
from gateway.views.access import Access
from gateway.views.view import View, ViewSettings
from tests.config import config_samples


class Owner:
    """A connection that a task is run for."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []

    def fail(self, error: Exception) -> None:
        self.errors.append(error)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(config_samples.config(tmp_path))


async def test_a_task_that_fails_ends_its_connection() -> None:
    async def fail() -> None:
        raise KeyError("a defect")

    owner = Owner()
    task = Tasks().spawn(owner, fail())
    await asyncio.wait([task])
    await asyncio.sleep(0)
    (error,) = owner.errors
    assert isinstance(error, KeyError)


@pytest.mark.parametrize("turns", range(4))
@pytest.mark.filterwarnings("error")
async def test_a_client_that_leaves_early_leaves_nothing_unread(server: Server, turns: int) -> None:
    """At any turn of the event loop: a reading of the cluster that has not begun is none."""
    owner, read = Owner(), 0

    async def refresh() -> None:
        nonlocal read
        read += 1
        await asyncio.sleep(60)

    server.served[0].catalog.refresh = refresh  # type: ignore[method-assign]
    server.served[0].cluster.refresh = refresh  # type: ignore[method-assign]
    task = Tasks().spawn(owner, server.clients._refresh(server.served[0].state, Refresh.TOPICS))
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    gc.collect()
    assert task.cancelled()
    assert owner.errors == []
    assert read == (2 if turns > 1 else 0)


async def test_acls_that_lanes_needed_are_their_clusters(tmp_path: Path) -> None:
    """What a client of one volume's node does in another one needs that one's ACLs."""
    server = Server(config_samples.tree(tmp_path))
    used = AllowedBy()
    used.add(Verdict(True, "ALLOW READ for User:alice on TOPIC:LITERAL:search:clicks"))
    ny = server.served[1].state
    access = Access(View(ViewSettings("la"), Snapshot()), "User:alice", "")
    access.allowed_by = used
    ny.lane_accesses.add(access)
    (needed,) = server.collect().acls
    assert (needed.principal, needed.place.cluster, needed.place.mount) == (
        "User:alice",
        "ny",
        "ny:tracking",
    )
    assert not ny.lane_accesses
    assert not server.collect().acls
