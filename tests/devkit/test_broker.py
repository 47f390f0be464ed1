"""devkit.broker: a real broker starts, works, moves and ends."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest
from confluent_kafka.cimpl import NewTopic

from devkit import broker as broker_module
from devkit import java
from devkit.broker import BrokerError, KafkaCluster
from devkit.broker_config import HOST
from devkit.lagging import VARIABLE
from devkit.paths import PROJECT_ROOT
from devkit.ports import free_port
from devkit.waiting import wait_until

pytestmark = pytest.mark.live


def test_one_broker_serves_kafkas_own_tools_and_leaves_nothing() -> None:
    with KafkaCluster() as cluster:
        server = ["--bootstrap-server", cluster.bootstrap_servers]
        created = java.run_java(java.TOPICS, [*server, "--create", "--topic", "orders"])
        assert created.returncode == 0, created.stderr
        assert created.lines == ["Created topic orders."]
        wait_until(lambda: cluster.topics() == {"orders"}, "the topic", 120)
        assert cluster.live_brokers() == {1}
        pid = cluster.process_id(1)
        directory = Path(*_data_directory(pid).parts[:-2])
        assert directory.is_dir()
    assert not psutil.pid_exists(pid)
    assert not directory.exists()


@pytest.mark.long("kills")
def test_brokers_join_stop_and_come_back_where_they_were() -> None:
    with KafkaCluster(nodes=2, missed_quickly=True) as cluster:
        before = cluster.addresses
        joined = cluster.add_broker(4)
        # It knows that it has joined, which another broker may not know yet.
        wait_until(lambda: cluster.live_brokers() == {1, 2, 4}, "the broker to be seen", 120)
        assert cluster.bootstrap_servers == f"{before[1]},{before[2]},{joined}"
        cluster.stop_broker(2)
        assert cluster.running == [1, 4]
        wait_until(lambda: cluster.live_brokers() == {1, 4}, "the broker's end to be seen", 120)
        cluster.restart_broker(2)
        wait_until(lambda: cluster.live_brokers() == {1, 2, 4}, "the broker's return", 120)
        assert cluster.addresses[2] == before[2]
        cluster.kill_broker(4)
        wait_until(lambda: cluster.live_brokers() == {1, 2}, "the broker's death to be seen", 120)
        with pytest.raises(ValueError, match="only controller"):
            cluster.stop_broker(1)


def test_a_broker_is_killed_only_where_the_cluster_soon_misses_it() -> None:
    with pytest.raises(ValueError, match="missed_quickly"):
        KafkaCluster(nodes=2).kill_broker(2)


def test_a_broker_that_applies_changes_late(monkeypatch: pytest.MonkeyPatch) -> None:
    milliseconds = 300
    monkeypatch.setenv(VARIABLE, f"{milliseconds}")
    with KafkaCluster() as cluster:
        admin = cluster.admin()  # kept: a pending request fails when it is collected
        made = admin.create_topics([NewTopic("orders", 1, 1)])["orders"]
        began = time.monotonic()
        made.result(120)
        wait_until(lambda: "orders" in cluster.topics(), "the topic", 120, poll=0.01)
        assert time.monotonic() - began > milliseconds / 2_000


def test_a_broker_that_would_be_too_late_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "700")
    with pytest.raises(ValueError, match="400"):
        KafkaCluster().start()


def test_a_port_that_was_taken_meanwhile_costs_another_try(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with socket.create_server((HOST, 0)) as server:
        ports = iter([free_port(), server.getsockname()[1]])
        monkeypatch.setattr(broker_module, "free_port", lambda: next(ports, None) or free_port())
        with KafkaCluster() as cluster:
            assert cluster.live_brokers() == {1}
            assert cluster.addresses[1] != f"{HOST}:{server.getsockname()[1]}"


def test_a_broker_that_cannot_start_shows_its_log() -> None:
    cluster = KafkaCluster(overrides={"num.network.threads": "none"})
    with pytest.raises(BrokerError, match=r"(?s)format of node 1.*num\.network\.threads"):
        cluster.start()
    assert cluster.running == []


@pytest.mark.long("kills")
def test_a_killed_owner_takes_its_broker_along(tmp_path: Path) -> None:
    code = (
        "from devkit.broker import KafkaCluster; import threading;"
        "k = KafkaCluster().start(); print(k.process_id(1), flush=True); threading.Event().wait()"
    )
    command = [sys.executable, "-c", code]
    # A killed process cannot tidy up, so its files are in this test's directory.
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=PROJECT_ROOT, env=env
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert psutil.pid_exists(pid)
        owner.kill()
    wait_until(lambda: not psutil.pid_exists(pid), "the end of the broker", 120)


def test_a_broker_outlives_the_thread_that_started_it() -> None:
    cluster = KafkaCluster()
    try:
        starter = threading.Thread(target=cluster.start)
        starter.start()
        starter.join()
        assert cluster.live_brokers() == {1}
    finally:
        cluster.stop()


def test_help_starts_no_broker(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(broker_module, "KafkaCluster")
    with pytest.raises(SystemExit) as ended:
        broker_module.main(["--help"])
    assert ended.value.code == 0
    assert "usage: python -m devkit.broker" in capsys.readouterr().out


@pytest.mark.parametrize("argument", ["--nodes", "3"])
def test_unknown_arguments_start_no_broker(
    argument: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delattr(broker_module, "KafkaCluster")
    with pytest.raises(SystemExit) as ended:
        broker_module.main([argument])
    assert ended.value.code == 2
    assert f"unrecognized arguments: {argument}" in capsys.readouterr().err


def _data_directory(pid: int) -> Path:
    properties = Path(psutil.Process(pid).cmdline()[-1])
    match = re.search(r"^log\.dirs=(.*)$", properties.read_text(), re.MULTILINE)
    assert match
    return Path(match.group(1))
