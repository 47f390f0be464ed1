"""Spark's Kafka source and sink: streams that go on from their checkpoints, and batches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.paths import PROJECT_ROOT
from devkit.spark_jars import spark_jars
from spark.session import KAFKA_JARS
from tests.live.support import clients
from tests.live.support.spark_streams import Place, write_plan

pytestmark = [pytest.mark.timeout(1200), pytest.mark.long("brokers"), pytest.mark.spark]

Names = Callable[[str], str]

PARTITIONS: Final = 2

# By listener: the prefix of the source and of the target there, then those at the brokers.
PREFIXES: Final = {
    "home-a": ("", "", "team-a..", "team-a.."),
    "colon": ("team-a:", "team-b:", "team-a..", "team-b.."),
    "legal": ("team-a..", "team-b..", "team-a..", "team-b.."),
}


@pytest.fixture
def places(
    gateway: GatewayProcess, kafka: KafkaCluster, unique: Names, tmp_path: Path
) -> dict[str, Place]:
    """A source and a target at each listener, and at the broker itself, with names of one kind."""
    made = {}
    for listener, prefixes in {**PREFIXES, "direct": ("", "", "", "")}.items():
        at_broker = listener == "direct"
        servers = kafka.bootstrap_servers if at_broker else gateway.bootstrap_servers(listener)
        stem = unique(listener)
        source, target = f"{prefixes[0]}in-{stem}", f"{prefixes[1]}out-{stem}"
        clients.create(servers, source, target, partitions=PARTITIONS)
        clients.await_led(servers, source, target)
        pattern = f".*in-{stem}"
        made[listener] = Place(servers, source, target, pattern, str(tmp_path / listener))
    return made


def test_streams_and_batches(places: dict[str, Place], kafka: KafkaCluster, tmp_path: Path) -> None:
    """The same records, offsets and batches as at the broker, before and after a restart."""
    plan = tmp_path / "plan.json"
    write_plan(plan, places)
    produce(places, ["a", "b", "c", "d", "e", "f"])
    first = run(plan, places)
    direct = first["direct"]
    assert direct["copied"] == {"batches": 2, "records": 6}
    assert [row[3] for row in sorted(direct["target"], key=str)] == ["A", "C", "E", "B", "D", "F"]
    assert [row[2:] for row in direct["between"]] == [
        [1, "c"],
        [2, "e"],
        [0, "b"],
        [1, "d"],
        [2, "f"],
    ]
    assert [row[3] for row in direct["assigned"]] == ["b", "d", "f"]
    assert direct["pattern"] == direct["by time"]
    assert len(direct["pattern"]) == 6
    assert {name: found == direct for name, found in first.items()} == dict.fromkeys(places, True)

    produce(places, ["g", "h"])
    second = run(plan, places)
    assert second["direct"]["copied"] == {"batches": 1, "records": 2}
    assert len(second["direct"]["target"]) == 8
    assert {name: found == second["direct"] for name, found in second.items()} == dict.fromkeys(
        places, True
    )
    for listener, (_, _, source, target) in PREFIXES.items():
        own = {each for each in kafka.topics() if f"-{listener}-" in each}
        place = places[listener]
        assert {source + _bare(place.source), target + _bare(place.target)} <= own


def produce(places: dict[str, Place], values: list[str]) -> None:
    """Produce each second value to each partition."""
    for place in places.values():
        producer = Producer(clients.settings(place.servers))
        for partition in range(PARTITIONS):
            for value in values[partition::PARTITIONS]:
                producer.produce(place.source, value, partition=partition)
        assert producer.flush(clients.SECONDS) == 0


def run(plan: Path, places: dict[str, Place]) -> dict[str, Any]:
    """Run the program; what it found, with names as at the broker's side."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.live.support.spark_streams", str(plan)],
        cwd=PROJECT_ROOT,
        env={**os.environ, KAFKA_JARS: str(spark_jars())},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
    text = ended.stdout.splitlines()[-1]
    found: dict[str, Any] = json.loads(text)
    return {name: _named(each, places[name]) for name, each in found.items()}


def _named(found: dict[str, Any], place: Place) -> dict[str, Any]:
    """The topic of each row as ``in`` or ``out``, if it is named as the place names it."""
    names = {place.source: "in", place.target: "out"}
    return {
        key: [[names.get(row[0], row[0]), *row[1:]] for row in rows]
        if isinstance(rows, list)
        else rows
        for key, rows in found.items()
    }


def _bare(name: str) -> str:
    return name.rpartition(":")[2].rpartition("..")[2]
