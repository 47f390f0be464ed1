"""A worker's server: the tasks of its connections, and clients that leave."""

from __future__ import annotations

import asyncio
import gc
import json
import math
from pathlib import Path
from time import monotonic

import pytest

from gateway.acls.authorizer import AllowedBy, Verdict
from gateway.catalog.snapshot import Snapshot
from gateway.catalog.source import CatalogUnavailable
from gateway.config.models import Config
from gateway.connections.tasks import Tasks
from gateway.exchanges.exchange import Refresh
from gateway.processes import volume as volume_module
from gateway.processes.server import Server
from gateway.processes.volume import ServedVolume
from gateway.views.access import Access
from gateway.views.view import View, ViewSettings
from tests.config import config_samples


class Owner:
    """A connection for which a task runs."""

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


@pytest.mark.parametrize("was_stopped", [False, True])
async def test_the_volumes_of_a_tree_go_out_of_date_together_if_it_was_stopped(
    tmp_path: Path, was_stopped: bool
) -> None:
    """A client requests all of them over a single connection, to a node of one of them."""
    first, *others = Server(config_samples.tree(tmp_path)).served
    assert others
    ended: list[str] = []
    for each in (first, *others):
        validity = each.state.validity
        validity.until = monotonic() + (-1e-6 if was_stopped or each is first else 3600.0)

        def end(volume: ServedVolume = each) -> None:
            volume.state.validity.until = math.inf
            ended.append(volume.volume.path)
            volume.catalog_changed()

        validity.end = end
    first.state.validity.end()
    due = [first, *others] if was_stopped else [first]
    assert ended == [each.volume.path for each in due]


@pytest.mark.parametrize("turns", range(4))
@pytest.mark.filterwarnings("error")
async def test_a_client_that_leaves_early_leaves_nothing_unread(server: Server, turns: int) -> None:
    """At any turn of the event loop: a refresh of the cluster that has not begun does not count."""
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
    """If a client of a volume's node makes a request in another volume, it needs that volume's
    ACLs."""
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


async def test_a_volume_whose_catalog_came_late_is_started_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Work that began at the first try is not begun again at the second."""
    monkeypatch.setattr(volume_module, "require", lambda _: None)  # there is no cluster
    server = Server(config_samples.config(tmp_path))
    volume = server.served[0]
    began: list[str] = []

    async def begin(what: str) -> None:
        began.append(what)

    async def start(*, read_only: bool = False) -> None:
        await begin("catalog")

    async def change(decide: object) -> None:
        began.append("change")
        if began.count("change") == 1:
            raise CatalogUnavailable("it cannot be written now")

    volume.policies.start = lambda: begin("policies")  # type: ignore[method-assign]
    volume.catalog.start = start  # type: ignore[method-assign]
    volume.catalog.change = change  # type: ignore[assignment,method-assign]
    with pytest.raises(CatalogUnavailable):
        await volume.start()
    await volume.start()
    assert began.count("policies") == began.count("catalog") == 1
    await volume._jobs.stop()


async def test_a_topic_of_a_cluster_that_is_not_there_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.processes.server.RETRY_SECONDS", 0.01)
    server = Server(Config.from_json(json.dumps(config_samples.tree_values())))
    started = asyncio.Event()

    async def start() -> None:
        started.set()

    await server.start_topic(start)
    await asyncio.sleep(0.03)
    before = started.is_set()
    server.own_admin.cluster._task = asyncio.current_task()
    async with asyncio.timeout(5):
        await started.wait()
    assert not before


async def test_freezes_wait_for_what_the_changes_of_clients_have_at_brokers(
    server: Server,
) -> None:
    volume = server.served[0]
    with volume._changes.context.at_work.on(["orders"]):
        assert volume.part.at_work.concerns(lambda flat: flat == b"orders")
