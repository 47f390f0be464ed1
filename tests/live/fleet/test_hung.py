"""Gateways that hang, or are cut off from their cluster: their clients continue at another."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.fleet.conftest import Gateways, created, fleet
from tests.live.fleet.relay import CuttableRelay
from tests.live.fleet.test_killed_gateways import CLIENTS, Start, longest_gap
from tests.live.support import clients, processes, steady
from tests.live.support.steady import Steady
from tests.pace import Pace

pytestmark = pytest.mark.long("kills")

SECONDS = clients.SECONDS
LONGEST_GAP: Final = 6.0
IMPATIENT_GAP: Final = 20.0

CUT_OFF: Final = "a worker is cut off from its clusters and refuses clients"

DONE: Final[Future[None]] = Future()
DONE.set_result(None)


def impatient(servers: str, topic: str, directory: Path) -> Sequence[Steady]:
    """confluent-kafka with shorter timeouts."""
    less = {"socket_timeout_ms": 4_000, "socket_connection_setup_timeout_ms": 2_000}
    return [
        steady.producer(topic, servers, topic, ignoring=True, **less),
        steady.member(topic, servers, f"group-{topic}", topic, ignoring=True, **less),
    ]


@pytest.fixture(scope="module")
def relay() -> Iterator[CuttableRelay]:
    """A broker's only way to and from gateways and clients."""
    with CuttableRelay() as relay:
        advertised = {"advertised.listeners": f"PLAINTEXT://{relay.address}"}
        with KafkaCluster(1, overrides=advertised) as cluster:
            relay.upstream = cluster.addresses[1]
            yield relay


@pytest.fixture(scope="module")
def behind(relay: CuttableRelay) -> Iterator[Gateways]:
    """Two gateways behind the relay."""
    with fleet(relay.address, "gw-a", "gw-b") as (first, second):
        yield first, second


MEASURED: Final[Mapping[str, Start]] = (
    CLIENTS if os.environ.get("FLEET_PLAIN") else {"librdkafka-impatient": impatient}
)
"""The clients of a gateway that is stopped as a whole.

They wait as long as for a broker, mostly about a minute. ``impatient`` has the settings of
docs/high-availability.md that shorten the wait.
"""

Hang = Callable[[GatewayProcess], AbstractContextManager[None]]
"""Makes a gateway hang, and checks that it recovers at the end."""


@pytest.mark.parametrize("library", ["librdkafka", "java"])
def test_a_worker_that_hangs(library: str, gateways: Gateways, tmp_path: Path, pace: Pace) -> None:
    """The worker is killed, and the supervisor starts another in its place."""

    @contextmanager
    def suspended(gateway: GatewayProcess) -> Iterator[None]:
        (worker,) = processes.workers(gateway)
        worker.suspend()
        yield
        wait_until(lambda: not worker.is_running(), "its end", SECONDS)
        wait_until(lambda: _readiness(gateway) == [], "another worker", SECONDS)
        assert "has not reported for 3 s and is killed" in gateway.log()

    gaps = gaps_of(library, f"{library}-hung", gateways, tmp_path, suspended)
    assert max(gaps) < pace.stretched(LONGEST_GAP), gaps


@pytest.mark.parametrize("library", ["librdkafka", "java"])
def test_a_gateway_that_is_cut_off_from_the_cluster(
    library: str, behind: Gateways, relay: CuttableRelay, tmp_path: Path, pace: Pace
) -> None:
    """The gateway closes to clients until the cluster responds; they continue at the other
    gateway."""

    @contextmanager
    def cut_off(gateway: GatewayProcess) -> Iterator[None]:
        own = gateway.bootstrap_servers("all")
        relay.cut(processes.workers(gateway))
        yield
        wait_until(lambda: not clients.accepts(own), "clients are refused", SECONDS)
        wait_until(lambda: CUT_OFF in _readiness(gateway), CUT_OFF, SECONDS)
        relay.mend()
        wait_until(lambda: clients.accepts(own), "clients are accepted", SECONDS)
        wait_until(lambda: _readiness(gateway) == [], "it is ready", SECONDS)

    gaps = gaps_of(library, f"{library}-cut-off", behind, tmp_path, cut_off)
    assert max(gaps) < pace.stretched(LONGEST_GAP), gaps


@pytest.mark.parametrize("library", MEASURED)
def test_a_gateway_of_which_all_processes_stop(
    library: str, gateways: Gateways, tmp_path: Path, pace: Pace
) -> None:
    """As on a frozen machine: nothing is closed, and connections are even accepted."""

    @contextmanager
    def suspended(gateway: GatewayProcess) -> Iterator[None]:
        with processes.stopped_as_a_whole(gateway):
            yield
        wait_until(lambda: _readiness(gateway) == [], "it is ready", SECONDS)

    gaps = gaps_of(library, f"{library}-stopped-as-a-whole", gateways, tmp_path, suspended)
    if library == "librdkafka-impatient":
        assert max(gaps) < pace.stretched(IMPATIENT_GAP), gaps


def gaps_of(
    library: str, topic: str, gateways: Sequence[GatewayProcess], directory: Path, hang: Hang
) -> Sequence[float]:
    """The longest gap of a library's clients as each gateway hangs in turn."""
    servers = created(gateways, topic)
    gaps = []
    with ExitStack() as stack:
        start = {**CLIENTS, **MEASURED}[library]
        running = [stack.enter_context(one) for one in start(servers, topic, directory)]
        for one in running:
            one.await_progress("the start", topic)
        for gateway in gateways:
            with hang(gateway):
                gaps.append(longest_gap(running, topic, DONE))
    print(f"longest gaps of {library}: {[round(gap, 1) for gap in gaps]} s")
    return gaps


def _readiness(gateway: GatewayProcess) -> list[str]:
    """The problems that /readyz reports."""
    problems: list[str] = json.loads(gateway.get("/readyz")[1])["problems"]
    return problems
