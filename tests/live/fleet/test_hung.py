"""Gateways that hang, or are cut off from their cluster: their clients go on at another one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.fleet.conftest import Gateways, created, fleet
from tests.live.fleet.relay import Relay
from tests.live.fleet.test_killed_gateways import CLIENTS, longest_gap
from tests.live.support import clients, processes
from tests.pace import Pace

SECONDS = clients.SECONDS
LONGEST_GAP: Final = 6.0

CUT_OFF: Final = "a worker is cut off from its clusters and refuses clients"

DONE: Final[Future[None]] = Future()
DONE.set_result(None)


@pytest.fixture(scope="module")
def relay() -> Iterator[Relay]:
    """A broker's only way to and from gateways and clients."""
    with Relay() as relay:
        advertised = {"advertised.listeners": f"PLAINTEXT://{relay.address}"}
        with KafkaCluster(1, overrides=advertised) as cluster:
            relay.upstream = cluster.addresses[1]
            yield relay


@pytest.fixture(scope="module")
def behind(relay: Relay) -> Iterator[Gateways]:
    """Two gateways behind the relay."""
    with fleet(relay.address, "gw-a", "gw-b") as (first, second):
        yield first, second


@pytest.mark.parametrize("library", ["librdkafka", "java"])
def test_a_worker_that_hangs(library: str, gateways: Gateways, tmp_path: Path, pace: Pace) -> None:
    """It is killed, and another one is started in its place."""
    topic = f"{library}-hung"
    servers = created(gateways, topic)
    gaps = []
    with ExitStack() as stack:
        running = [stack.enter_context(one) for one in CLIENTS[library](servers, topic, tmp_path)]
        for one in running:
            one.await_progress("the start", topic)
        for gateway in gateways:
            (worker,) = processes.workers(gateway)
            worker.suspend()
            gaps.append(longest_gap(running, topic, DONE))
            wait_until(lambda worker=worker: not worker.is_running(), "its end", SECONDS)  # type: ignore[misc]
            wait_until(lambda one=gateway: _readiness(one) == [], "another worker", SECONDS)  # type: ignore[misc]
            assert "has not reported for 3 s and is killed" in gateway.log()
    print(f"longest gaps of {library}: {[round(gap, 1) for gap in gaps]} s")
    assert max(gaps) < pace.stretched(LONGEST_GAP), gaps


@pytest.mark.parametrize("library", ["librdkafka", "java"])
def test_a_gateway_that_is_cut_off_from_the_cluster(
    library: str, behind: Gateways, relay: Relay, tmp_path: Path, pace: Pace
) -> None:
    """It refuses clients until the cluster responds, and they go on at the other one."""
    topic = f"{library}-cut-off"
    servers = created(behind, topic)
    gaps = []
    with ExitStack() as stack:
        running = [stack.enter_context(one) for one in CLIENTS[library](servers, topic, tmp_path)]
        for one in running:
            one.await_progress("the start", topic)
        for gateway in behind:
            own = gateway.bootstrap_servers("all")
            relay.cut(processes.workers(gateway))
            gaps.append(longest_gap(running, topic, DONE))
            wait_until(lambda own=own: not clients.accepts(own), "clients are refused", SECONDS)  # type: ignore[misc]
            wait_until(lambda one=gateway: CUT_OFF in _readiness(one), CUT_OFF, SECONDS)  # type: ignore[misc]
            relay.mend()
            wait_until(lambda own=own: clients.accepts(own), "clients are accepted", SECONDS)  # type: ignore[misc]
            wait_until(lambda one=gateway: _readiness(one) == [], "it is ready", SECONDS)  # type: ignore[misc]
    print(f"longest gaps of {library}: {[round(gap, 1) for gap in gaps]} s")
    assert max(gaps) < pace.stretched(LONGEST_GAP), gaps


def _readiness(gateway: GatewayProcess) -> list[str]:
    """The problems that /readyz tells."""
    problems: list[str] = json.loads(gateway.get("/readyz")[1])["problems"]
    return problems
