"""DescribeLogDirs by kafka-log-dirs and kafka-python.

It returns the size of a view's topics on the two disks of a broker, and nothing about the disks
themselves.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kafka.admin import KafkaAdminClient

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients, java_tools

LISTENERS = (
    Listener("colon", "every namespace"),
    Listener("home", "team-a is home", home="team-a"),
)
PARTITIONS = 6
ORDERS, FLAT = "team-a:orders", "team-a..orders"
OTHER, OTHER_FLAT = "team-b:other", "team-b..other"

Sizes = dict[str, dict[str, int]]
"""Bytes by partition, by directory."""


@pytest.fixture(scope="module")
def disks(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ...]:
    parent = tmp_path_factory.mktemp("disks")
    return parent / "two", parent / "one"


@pytest.fixture(scope="module")
def brokers(disks: tuple[Path, ...]) -> Iterator[KafkaCluster]:
    """A broker with two log directories."""
    with KafkaCluster(overrides={"log.dirs": ",".join(map(str, disks))}) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def served(brokers: KafkaCluster) -> Iterator[GatewayProcess]:
    """A gateway in front of it, with a topic in each of two namespaces."""
    with GatewayProcess(brokers.bootstrap_servers, LISTENERS, ("team-a", "team-b")) as process:
        colon = process.bootstrap_servers("colon")
        clients.create(colon, ORDERS, partitions=PARTITIONS)
        clients.create(colon, OTHER)
        clients.await_stored(brokers, FLAT, OTHER_FLAT)
        clients.await_led(colon, ORDERS, OTHER)
        clients.produce(colon, ORDERS, [str(number) for number in range(100)])
        yield process


def described_log_dirs(servers: str, *args: str) -> str:
    """The JSON that kafka-log-dirs prints."""
    return java_tools.run(java.LOG_DIRS, servers, "--describe", *args).stdout


def sizes(printed: str) -> Sizes:
    """The directories of the only broker."""
    (line,) = (line for line in printed.splitlines() if line.startswith("{"))
    (broker,) = json.loads(line)["brokers"]
    assert not any(each["error"] for each in broker["logDirs"])
    return {
        each["logDir"]: {one["partition"]: one["size"] for one in each["partitions"]}
        for each in broker["logDirs"]
    }


def of_topic(found: Sizes, flat: str, shown: str) -> Sizes:
    """A topic's part of the broker's own response, as the gateway must return it."""
    return {
        f"log-dir-{number}": {
            f"{shown}-{name.removeprefix(f'{flat}-')}": size
            for name, size in found[path].items()
            if name.startswith(f"{flat}-")
        }
        for number, path in enumerate(sorted(found), 1)
    }


def test_kafka_log_dirs_under_a_home(
    served: GatewayProcess, brokers: KafkaCluster, disks: tuple[Path, ...]
) -> None:
    printed = described_log_dirs(served.bootstrap_servers("home"))
    expected = of_topic(sizes(described_log_dirs(brokers.bootstrap_servers)), FLAT, "orders")
    found = sizes(printed)
    assert found == expected
    assert sum(len(each) for each in found.values()) == PARTITIONS
    assert all(found.values()), "a broker fills its directories evenly"
    assert sum(sum(each.values()) for each in found.values()) > 0
    assert str(disks[0].parent) not in printed
    assert "team-" not in printed


def test_kafka_log_dirs_of_one_topic(served: GatewayProcess, brokers: KafkaCluster) -> None:
    found = sizes(described_log_dirs(served.bootstrap_servers("colon"), "--topic-list", OTHER))
    assert found == of_topic(
        sizes(described_log_dirs(brokers.bootstrap_servers)), OTHER_FLAT, OTHER
    )


def test_kafka_log_dirs_of_everything(served: GatewayProcess, disks: tuple[Path, ...]) -> None:
    printed = described_log_dirs(served.bootstrap_servers("colon"))
    topics = {name.rpartition("-")[0] for each in sizes(printed).values() for name in each}
    assert topics == {ORDERS, OTHER}, "and neither the catalog nor Kafka's own"
    assert str(disks[0].parent) not in printed


@pytest.mark.parametrize(
    "asked", [None, {"orders": [0, 2], "missing": [0], "..team-b..other": [0]}]
)
def test_kafka_python(served: GatewayProcess, asked: dict[str, list[int]] | None) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=served.bootstrap_servers("home"))) as admin:
        (broker,) = admin.describe_log_dirs(asked)
    found: list[dict[str, Any]] = broker["log_dirs"]
    assert sorted(each["log_dir"] for each in found) == ["log-dir-1", "log-dir-2"]
    topics = [topic for each in found for topic in each["topics"]]
    assert {topic["name"] for topic in topics} == {"orders"}
    indexes = sorted(p["partition_index"] for topic in topics for p in topic["partitions"])
    assert indexes == ([0, 2] if asked else [*range(PARTITIONS)])
    assert {each["total_bytes"] for each in found} == {-1}
    assert {each["usable_bytes"] for each in found} == {-1}


def test_disks_without_a_home(served: GatewayProcess) -> None:
    with closing(KafkaAdminClient(bootstrap_servers=served.bootstrap_servers("colon"))) as admin:
        (broker,) = admin.describe_log_dirs()
    assert all(each["total_bytes"] > each["usable_bytes"] > 0 for each in broker["log_dirs"])
