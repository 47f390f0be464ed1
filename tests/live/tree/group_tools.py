"""Steps that several tests of groups over two clusters share."""

from __future__ import annotations

import json
import re
from typing import Any

from confluent_kafka import Producer

from devkit import java
from devkit.broker import KafkaCluster
from tests.live.support import clients, java_tools

COUNT = 50
"""Records that :func:`fill` writes to each partition."""


def shadow_of(cluster: KafkaCluster, topic: str, number: int) -> str:
    """A topic's shadow, as DESIGN.md names it; the id is in the spelling of Kafka's own tools."""
    lines = java_tools.topics(cluster.bootstrap_servers, "--describe", "--topic", topic).lines
    found = re.search(r"TopicId: (\S+)", " ".join(lines))
    assert found is not None, lines
    return f"__kafka_gateway_far.{number}.{found[1]}"


def described(servers: str, group: str) -> dict[tuple[str, int], tuple[str, str]]:
    """(topic, partition) to (committed offset, lag) as kafka-consumer-groups prints them."""
    rows = {}
    for line in java_tools.consumer_groups(servers, "--describe", "--group", group).lines:
        columns = line.split()
        if len(columns) >= 6 and columns[0] == group:
            rows[columns[1], int(columns[2])] = (columns[3], columns[5])
    return rows


def fill(servers: str, *topics: str, partitions: int = 1, count: int = COUNT) -> None:
    """Create topics and write so many records to each of their partitions."""
    clients.create(servers, *topics, partitions=partitions)
    clients.await_led(servers, *topics)
    more(servers, *topics, partitions=partitions, count=count)


def more(servers: str, *topics: str, partitions: int = 1, count: int = COUNT) -> None:
    """Write so many further records to each partition."""
    producer = Producer(clients.settings(servers, linger_ms=0))
    for topic in topics:
        for partition in range(partitions):
            for number in range(count):
                producer.produce(topic, f"{topic} {number}", partition=partition)
    assert producer.flush(clients.SECONDS) == 0


def read(servers: str, group: str, topics: list[str], count: int) -> dict[str, int]:
    """Subscribe, read so many records, commit; the number of records by topic."""
    with clients.consumer(servers, group) as client:
        client.subscribe(topics)
        records = clients.take(client, count)
        client.commit(asynchronous=False)
    seen: dict[str, int] = {}
    for record in records:
        seen[str(record.topic())] = seen.get(str(record.topic()), 0) + 1
    return seen


def java_group(
    servers: str,
    group: str,
    topics: list[str],
    count: int,
    *,
    protocol: str = "classic",
    transactional_id: str = "-",
    output: str = "-",
) -> tuple[int, list[dict[str, Any]]]:
    """Run GroupOverClusters.java: its exit status and the events that it prints."""
    classes = java.compile_java(java_tools.SOURCES / "GroupOverClusters.java")
    args = [servers, group, protocol, str(count), transactional_id, output, *topics]
    result = java.run_java("GroupOverClusters", args, seconds=240, classes=classes)
    events = [json.loads(line) for line in result.lines if line.startswith("{")]
    assert events, f"{result.stdout}\n{result.stderr}"
    return result.returncode, events
