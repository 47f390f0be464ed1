"""Gateways that hang as a whole are killed by their service manager."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import psutil
import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.fleet.conftest import LISTENERS
from tests.live.fleet.service_manager import WATCHDOG_SECONDS, ServiceManager
from tests.live.fleet.test_hung import gaps_of
from tests.live.fleet.test_killed_gateways import CLIENTS
from tests.live.support import clients, processes
from tests.pace import Pace

pytestmark = pytest.mark.long("kills")

LONGEST_GAP: Final = WATCHDOG_SECONDS + 3.0
"""Clients notice a killed gateway within 3 s."""

LIBRARIES: Final = list(CLIENTS) if os.environ.get("FLEET_PLAIN") else ["librdkafka", "java"]


@pytest.fixture(scope="module")
def managed(own: KafkaCluster) -> Iterator[Mapping[GatewayProcess, ServiceManager]]:
    """Two gateways, and the service manager of each."""
    with ExitStack() as stack:
        made = {}
        for gateway_id in ("gw-a", "gw-b"):
            manager = stack.enter_context(ServiceManager())
            gateway = GatewayProcess(
                own.bootstrap_servers,
                LISTENERS,
                ["team-a"],
                overrides={"gateway_id": gateway_id},
                environment=manager.environment,
            )
            made[stack.enter_context(gateway)] = manager
        yield made


@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.usefixtures("leaving_no_sockets")
@pytest.mark.parametrize("library", LIBRARIES)
def test_clients_of_one_that_hangs_need_not_wait_for_their_own_timeouts(
    library: str, managed: Mapping[GatewayProcess, ServiceManager], tmp_path: Path, pace: Pace
) -> None:
    @contextmanager
    def suspended(gateway: GatewayProcess) -> Iterator[None]:
        manager = managed[gateway]
        kills = manager.kills
        assert "READY=1" in manager.told
        manager.watch(gateway)
        supervisor = psutil.Process(gateway.process.command_pid)
        for process in [supervisor, *processes.workers(gateway)]:
            process.suspend()
        yield
        wait_until(lambda: manager.kills > kills, "its end", clients.SECONDS)
        manager.told.clear()
        gateway.start_again()

    gaps = gaps_of(library, library, tuple(managed), tmp_path, suspended)
    assert max(gaps) < pace.stretched(LONGEST_GAP), gaps
