"""The traffic log's totals are exact, over two workers, many clients and a restart.

Its sums equal those of the brokers, of the clients, of the metrics and of Spark.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from devkit.broker import KafkaCluster
from devkit.paths import PROJECT_ROOT
from devkit.traffic_sums import Record, of_records, read_files
from tests.live.operations.traffic_story import (
    ABORTED,
    COMMITTED,
    CONTROL,
    TRAFFIC_TOPIC,
    TRANSACTIONAL,
    Story,
    Teller,
)
from tests.live.operations.traffic_totals import added, end_offsets, read_topic

pytestmark = [pytest.mark.timeout(1200), pytest.mark.long("brokers")]  # Spark sums them up

RUNS = 2

FIELDS = {
    "bytes_in": "bytes_in",
    "bytes_out": "bytes_out",
    "records_in": "records",
    "records_out": "records_out",
    "requests": "led_requests",
}
"""Fields of records by column of ``spark.usage``."""


@pytest.fixture(scope="module")
def story(kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """The whole traffic; the gateway has ended."""
    return Teller(kafka, tmp_path_factory.mktemp("traffic")).tell()


@pytest.fixture(scope="module")
def records(story: Story) -> list[Record]:
    """All records in the files."""
    return read_files(story.directory)


def test_both_workers_took_part_in_both_runs(story: Story, records: list[Record]) -> None:
    first = {record["id"] for record in story.runs[0]}
    parts = {(record["id"] in first, record["worker_id"]) for record in records}
    assert parts == {(True, 0), (True, 1), (False, 0), (False, 1)}
    assert {path.suffix for path in story.directory.iterdir()} == {".gz", ".jsonl"}


def test_produced_is_what_clients_were_told_and_brokers_have(
    story: Story, records: list[Record], kafka: KafkaCluster
) -> None:
    topics = story.topics
    for client, told in story.produced.items():
        assert added(records, "records", client_id=client) == told, client
        assert added(records, "records", client_id=client, flat_topic=topics[client]) == told
    stored = end_offsets(kafka, set(topics.values()))
    stored[TRANSACTIONAL] -= RUNS * CONTROL
    logged = {topic: added(records, "records", flat_topic=topic) for topic in stored}
    assert logged == stored
    assert logged[TRANSACTIONAL] == RUNS * (COMMITTED + ABORTED)
    assert added(records, "records") == sum(story.produced.values())


def test_what_the_producers_asked_for(records: list[Record]) -> None:
    def asked(client: str) -> set[str]:
        fields = ("acks_0", "acks_1", "acks_all", "idempotent", "transactional")
        return {one for one in fields if added(records, one, client_id=client)}

    assert asked("c-acks0") == asked("aio-acks0") == asked("c-raised") == {"acks_0"}
    assert asked("c-acks1") == asked("python") == {"acks_1"}
    assert asked("aio") == {"acks_all"}
    assert asked("c-idempotent") == asked("endless") == {"acks_all", "idempotent"}
    assert asked("java-producer") == {"acks_all", "idempotent"}
    assert asked("transactions") == {"acks_all", "idempotent", "transactional"}


def test_consumed_is_what_readers_were_given(story: Story, records: list[Record]) -> None:
    """A reader of committed records skips records of an aborted transaction that it received."""
    sent = {
        (client, topic): added(records, "records_out", client_id=client, flat_topic=topic)
        for client, topic in story.read
    }
    given = Counter(story.read)
    for runs, client in ((1, "early-committed"), (2, "late-committed")):
        assert given[client, TRANSACTIONAL] == runs * COMMITTED
        given[client, TRANSACTIONAL] += runs * ABORTED
    assert sent == given


def test_the_metrics_have_counted_the_same(story: Story, records: list[Record]) -> None:
    first = {record["id"] for record in story.runs[0]}
    later = [record for record in records if record["id"] not in first]
    for run, counted in zip((story.runs[0], later), story.metrics, strict=True):
        assert of_records(run) == counted
    assert of_records(records) == story.metrics[0] + story.metrics[1]
    assert story.dropped == []


def test_javas_clients_have_counted_the_same_bytes(story: Story, records: list[Record]) -> None:
    assert [one["client"] for one in story.java] == ["java-producer", "java-consumer"]
    for one in story.java:
        logged = [added(records, f"bytes_{way}", client_id=one["client"]) for way in ("in", "out")]
        assert logged == [one["out"], one["in"]], one["client"]


def test_the_topic_has_the_same_records(
    story: Story, records: list[Record], kafka: KafkaCluster
) -> None:
    written = [
        (key, record)
        for key, record in read_topic(kafka, TRAFFIC_TOPIC)
        if record["gateway_id"] == "totals"
    ]
    assert all(key == record["id"].encode() for key, record in written)
    in_topic = {record["id"]: record for _, record in written}
    assert in_topic == {record["id"]: record for record in records}


@pytest.mark.spark
def test_spark_finds_the_same(story: Story, records: list[Record], tmp_path: Path) -> None:
    """The sums of ``spark.usage`` over all records, by day and client."""
    command = [sys.executable, "-m", "spark.usage", "--master", "local[1]", "--quiet"]
    places = ["--input", str(story.directory), "--output", str(tmp_path), "--format", "json"]
    ended = subprocess.run(
        [*command, *places],
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert "no records" not in ended.stderr
    found: Counter[tuple[str, str]] = Counter()
    for path in (tmp_path / "usage_day").glob("*.json"):
        for row in map(json.loads, path.read_text().splitlines()):
            if row["tier"] == "(all)":
                for name in FIELDS:
                    found[row["client_id"], name] += row[name]
    assert +found == _sums_by_client(records)


def _sums_by_client(records: list[Record]) -> Counter[tuple[str, str]]:
    found: Counter[tuple[str, str]] = Counter()
    for record in records:
        if record["kind"] == "flow":
            for name, source in FIELDS.items():
                found[record["client_id"], name] += record[source]
    return +found
