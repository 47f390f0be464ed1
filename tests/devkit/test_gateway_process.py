"""devkit.gateway_process: the gateway starts, serves, stops, and reports the reason if it does
not."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from devkit import gateway_config, gateway_process
from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayError, GatewayProcess
from devkit.paths import PROJECT_ROOT
from devkit.ports import free_port, free_ports
from tests.live.support.wire import Wire

pytestmark = pytest.mark.live

_LISTENERS = (Listener("colon", "all"),)


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCluster]:
    with KafkaCluster() as cluster:
        yield cluster


@pytest.fixture
def gateway(kafka: KafkaCluster) -> GatewayProcess:
    return GatewayProcess(kafka.bootstrap_servers, _LISTENERS, ["team-a"])


def test_it_serves_and_stops_clean(gateway: GatewayProcess) -> None:
    with gateway:
        assert gateway.get("/readyz")[0] == 200
        assert "kafka_gateway_" in gateway.metrics()
        pid = gateway.process.command_pid
        directory = gateway.traffic_log_directory
        assert directory.is_dir()
    assert not psutil.pid_exists(pid)
    assert not directory.exists()


@pytest.mark.long("kills")
def test_fresh_metrics_have_all_that_was_before(gateway: GatewayProcess) -> None:
    with gateway:
        for count in range(1, 4):
            with Wire(gateway.bootstrap_servers("colon")) as wire:
                wire.ask("Metadata", 4, topics=[], allow_auto_topic_creation=False)
            lines = gateway.fresh_metrics().splitlines()
            (line,) = (one for one in lines if 'requests_total{api="Metadata"' in one)
            assert float(line.rpartition(" ")[2]) == count


@pytest.mark.long("kills")
def test_it_is_killed_and_started_again_on_the_same_ports(gateway: GatewayProcess) -> None:
    with gateway:
        supervisor = psutil.Process(gateway.process.command_pid)
        processes = [supervisor, *supervisor.children()]
        assert len(processes) == 2
        plan = gateway.plan
        gateway.kill()
        gone, alive = psutil.wait_procs(processes, timeout=60)
        assert (len(gone), alive) == (2, [])
        gateway.start_again()
        assert gateway.plan == plan
        assert gateway.get("/readyz")[0] == 200
        gateway.wait_for_log(" ready: ", 2)
        assert gateway.log().count(" ready: ") == 2


def test_a_port_that_was_taken_meanwhile_costs_another_try(
    gateway: GatewayProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        taken = server.getsockname()[1]
        first = iter([range(taken, taken + 9)])
        monkeypatch.setattr(
            gateway_config, "free_ports", lambda count: next(first, None) or free_ports(count)
        )
        with gateway:
            assert gateway.bootstrap_servers("colon") != f"127.0.0.1:{taken}"


def test_a_rejected_configuration_shows_what_the_gateway_says() -> None:
    overrides = {"no_such_key": 1}
    brokers = f"127.0.0.1:{free_port()}"
    gateway = GatewayProcess(brokers, _LISTENERS, [], overrides=overrides)
    with pytest.raises(GatewayError, match=r"(?s)ended with status [1-9].*no_such_key"):
        gateway.start()


def test_without_the_command_the_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(GatewayError, match="run make"):
        gateway_process.gateway_command()


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """A command that prints which sources it would import."""
    made = tmp_path / "kafka-gateway"
    made.write_text('#!/bin/sh\necho "$1, path: ${PYTHONPATH-none}"\nexit 78\n')
    made.chmod(0o755)
    return made


def test_this_environments_command_runs_these_sources(
    monkeypatch: pytest.MonkeyPatch, command: Path
) -> None:
    """Another checkout may be the one that is installed."""
    monkeypatch.setattr(gateway_process, "gateway_command", lambda: str(command))
    gateway = GatewayProcess(f"127.0.0.1:{free_port()}", _LISTENERS, [])
    with pytest.raises(GatewayError, match=f"serve, path: {PROJECT_ROOT}"):
        gateway.start()


def test_the_command_of_another_environment_sees_no_sources(
    monkeypatch: pytest.MonkeyPatch, command: Path
) -> None:
    monkeypatch.setenv(gateway_process.COMMAND, str(command))
    monkeypatch.setenv("PYTHONPATH", "/these/sources")
    assert gateway_process.gateway_command() == str(command)
    gateway = GatewayProcess(f"127.0.0.1:{free_port()}", _LISTENERS, [])
    with pytest.raises(GatewayError, match=r"(?s)ended with status 78.*serve, path: none"):
        gateway.start()
