"""The same jobs give the same results: on one machine and on a cluster, from files and from a
topic.

The cluster is real, a master and two workers as processes; so is the Kafka. A single driver runs
all jobs of a combination, because a driver takes longer to start than a job.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import NewTopic

from devkit.broker import KafkaCluster
from devkit.spark_cluster import Application, SparkCluster
from devkit.spark_jars import spark_jars
from devkit.waiting import wait_until
from spark.session import KAFKA_JARS
from tests.spark import all_kinds
from tests.spark.drivers import Answers, answers, run_all_jobs, spark_submit
from tests.spark.lines import finished_file

pytestmark = [pytest.mark.live, pytest.mark.long("spark"), pytest.mark.timeout(1800)]

_TOPIC = "traffic-of-the-cluster"
_LOCAL = "local[2]"

_BAD = (
    "2 lines are no records: corrupt",
    "1 lines are no records: missing_field",
    "1 lines are no records: unknown_version",
)


class Found(NamedTuple):
    """The output of a driver: the tables of all jobs, and the report's page."""

    tables: Answers
    page: str


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory for the drivers' input and output."""
    made = tmp_path_factory.mktemp("cluster")
    (made / "catalog.json").write_text(json.dumps(all_kinds.CATALOG))
    (made / "topics").write_text(f"{all_kinds.NEVER_NAMED}\n")
    return made


@pytest.fixture(scope="module")
def files(directory: Path) -> str:
    """The log as files: an open file, and two finished files."""
    lines = all_kinds.lines()
    logs = directory / "logs"
    logs.mkdir()
    finished_file(logs / "traffic-g-w0-1.jsonl.gz", lines[:1000])
    finished_file(logs / "traffic-g-w1-1.jsonl.gz", lines[1000:1800])
    (logs / "traffic-g-w0-2.jsonl").write_text("".join(f"{one}\n" for one in lines[1800:]))
    return str(logs)


@pytest.fixture(scope="module")
def topic(kafka: KafkaCluster) -> str:
    """The same lines in a topic of three partitions."""
    admin = kafka.admin()
    [created] = admin.create_topics([NewTopic(_TOPIC, 3, 1)]).values()
    created.result()
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    lines = all_kinds.lines()
    # Some records come twice, as if a response was lost: they count once.
    again = [line for line in lines[:500] if line not in all_kinds.BAD_LINES]
    for number, line in enumerate([*lines, *again]):
        producer.produce(_TOPIC, line.encode(), partition=number % 3)
    assert producer.flush(60) == 0
    return f"kafka://{kafka.bootstrap_servers}/{_TOPIC}"


@pytest.fixture(scope="module")
def cluster() -> Iterator[SparkCluster]:
    """A master and two workers."""
    with SparkCluster() as running:
        yield running


@pytest.fixture(scope="module")
def of_files(directory: Path, cluster: SparkCluster, files: str) -> Mapping[str, Found]:
    """The output of both drivers for the files."""
    return _on_both("files", files, directory, cluster)


@pytest.fixture(scope="module")
def of_topic(directory: Path, cluster: SparkCluster, topic: str) -> Mapping[str, Found]:
    """The output of both drivers for the topic."""
    return _on_both("topic", topic, directory, cluster)


def _on_both(what: str, source: str, directory: Path, cluster: SparkCluster) -> Mapping[str, Found]:
    """Run both side by side, because a driver waits for its tasks half of the time."""
    masters = {"local": _LOCAL, "cluster": cluster.master}
    with ThreadPoolExecutor(len(masters)) as pool:
        running = {
            name: pool.submit(_all_jobs, f"{name}-{what}", master, source, directory)
            for name, master in masters.items()
        }
    return {name: one.result() for name, one in running.items()}


def _all_jobs(name: str, master: str, source: str, directory: Path) -> Found:
    arguments = ["--master", master, "--input", source, *_of_access(directory)]
    printed = run_all_jobs(name, arguments, directory, {KAFKA_JARS: str(spark_jars())})
    for line in _BAD:
        assert line in printed.splitlines()
    return Found(answers(directory, name), (directory / name / "report.html").read_text())


def _of_access(directory: Path) -> list[str]:
    return ["--catalog", str(directory / "catalog.json"), "--topics", str(directory / "topics")]


def _ended(cluster: SparkCluster) -> list[Application]:
    """The applications of the cluster, once all have ended."""

    def ended() -> list[Application]:
        found = cluster.applications()
        return [] if any(one.state == "RUNNING" for one in found) else found

    return wait_until(ended, "the end of the applications", 120)


def test_every_job_has_an_answer(of_files: Mapping[str, Found]) -> None:
    tables = of_files["local"].tables
    assert set(tables) == {
        "namespaces",
        "over_time",
        "clients",
        "usage_hour",
        "usage_day",
        "chargeback",
        "latency",
        "denials",
        "idle_topics",
        "flows_graph",
        "unused_acls",
        "guarantees",
        "policies",
        "replication",
    }
    assert all(tables.values())
    flows = [one for line in all_kinds.lines() if (one := _flow(line))]
    everything = [row for row in map(json.loads, tables["usage_day"]) if row["tier"] == "(all)"]
    for column, field in {"bytes_in": "bytes_in", "requests": "led_requests"}.items():
        assert sum(row[column] for row in everything) == sum(flow[field] for flow in flows)
    assert any(all_kinds.NEVER_NAMED in row for row in tables["idle_topics"])


def _flow(line: str) -> dict[str, int] | None:
    if line in all_kinds.BAD_LINES:
        return None
    record: dict[str, int] = json.loads(line)
    return record if str(record["kind"]) == "flow" else None


def test_from_files(of_files: Mapping[str, Found], cluster: SparkCluster) -> None:
    assert of_files["cluster"] == of_files["local"]
    assert _ended(cluster)[0] == Application("all jobs", "FINISHED", 2)


def test_from_a_topic(
    of_files: Mapping[str, Found], of_topic: Mapping[str, Found], cluster: SparkCluster
) -> None:
    assert of_topic["local"] == of_files["local"]
    assert of_topic["cluster"] == of_files["local"]
    assert _ended(cluster)[1] == Application("all jobs", "FINISHED", 2)


def test_submitted_with_the_wheel(
    of_files: Mapping[str, Found], cluster: SparkCluster, topic: str, directory: Path
) -> None:
    spark_submit("submitted", "usage", cluster.master, ["--input", topic], directory)
    tables = answers(directory, "submitted")
    assert set(tables) == {"usage_hour", "usage_day", "chargeback"}
    expected = of_files["local"].tables
    assert tables == {name: expected[name] for name in tables}
    assert _ended(cluster)[-1] == Application("kafka-gateway usage", "FINISHED", 2)
