"""Kafka's own tools at a home print what the same tools print at the broker, for names of one kind.

A home's topic and a topic of the broker itself have the same name here, so the output is the same
text. What it says of the time, of addresses and of other tests' names is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import pytest

from devkit import java
from devkit.broker import KafkaCluster
from devkit.waiting import wait_until
from tests.live.support import clients, java_tools

Names = Callable[[str], str]

TOOLS: Final = "org.apache.kafka.tools"
DELETE_RECORDS = f"{TOOLS}.DeleteRecordsCommand"
END_TO_END = f"{TOOLS}.EndToEndLatency"
GROUPS = f"{TOOLS}.GroupsCommand"
VERIFIABLE_PRODUCER = f"{TOOLS}.VerifiableProducer"
VERIFIABLE_CONSUMER = f"{TOOLS}.VerifiableConsumer"
VERIFIABLE_SHARE_CONSUMER = f"{TOOLS}.VerifiableShareConsumer"
SHARE_CONSUMER_PERFORMANCE = f"{TOOLS}.ShareConsumerPerformance"
CONSOLE_SHARE_CONSUMER = f"{TOOLS}.consumer.ConsoleShareConsumer"

VALUES: Final = [f"value-{number}" for number in range(6)]


class Sides:
    """A home and the broker itself."""

    def __init__(self, home: str, broker: str) -> None:
        self.both = (home, broker)

    def create(self, topic: str, *values: str, partitions: int = 1) -> None:
        """A topic with records in its partition 0."""
        for servers in self.both:
            clients.create(servers, topic, partitions=partitions)
            clients.await_led(servers, topic)
            clients.produce(servers, topic, values)

    def same(self, main_class: str, *args: str, show: Callable[[str], Any] = str.splitlines) -> Any:
        """What ``show`` makes of a tool's output, which has to be the same for both."""
        home, broker = (
            show(java_tools.run(main_class, servers, *args).stdout) for servers in self.both
        )
        assert home == broker
        return home


@pytest.fixture(scope="module")
def sides(home_a: str, kafka: KafkaCluster) -> Iterator[Sides]:
    yield Sides(home_a, kafka.bootstrap_servers)


def rows_of(*names: str) -> Callable[[str], list[list[str]]]:
    """The rows of a table that begin with one of these names, in order."""

    def rows(printed: str) -> list[list[str]]:
        cells = (line.split() for line in printed.splitlines())
        return sorted(row for row in cells if row and row[0] in names)

    return rows


def events(printed: str) -> list[dict[str, Any]]:
    """The events of a verifiable client, without their times and without what polls happened to
    return: records are summed up."""
    found = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
    for event in found:
        event.pop("timestamp", None)
        event.pop("avg_throughput", None)
    return found


def test_delete_records_and_get_offsets(sides: Sides, unique: Names, tmp_path: Path) -> None:
    topic = unique("orders")
    sides.create(topic, *VALUES, partitions=2)
    file = tmp_path / "offsets.json"
    places = [
        {"topic": topic, "partition": number, "offset": at} for number, at in ((0, 4), (1, 0))
    ]
    file.write_text(json.dumps({"version": 1, "partitions": places}))
    printed = sides.same(DELETE_RECORDS, "--offset-json-file", str(file))
    assert f"partition: {topic}-0\tlow_watermark: 4" in printed

    asked = ["--topic", topic, "--time"]
    assert sides.same(java.GET_OFFSETS, *asked, "earliest") == [f"{topic}:0:4", f"{topic}:1:0"]
    assert sides.same(java.GET_OFFSETS, *asked, "latest") == [f"{topic}:0:6", f"{topic}:1:0"]
    assert sides.same(java.GET_OFFSETS, *asked, "max-timestamp")[0].startswith(f"{topic}:0:")
    ranges = ["--topic-partitions", f"{topic}:1-", "--time", "-1"]
    assert sides.same(java.GET_OFFSETS, *ranges) == [f"{topic}:1:0"]


def test_topics(sides: Sides, unique: Names) -> None:
    """The life of a topic; a description, which has ids of brokers and the topic's own id."""
    topic = unique("orders")
    config = ["--config", "retention.ms=86400000", "--config", "max.message.bytes=1000000"]
    named = ["--topic", topic]
    wanted = [*named, "--partitions", "2", *config]
    assert sides.same(java.TOPICS, "--create", *wanted) == [f"Created topic {topic}."]
    for servers in sides.both:
        clients.await_led(servers, topic)
    assert sides.same(java.TOPICS, "--list", *named) == [topic]
    described = sides.same(java.TOPICS, "--describe", *named, show=_without_ids)
    assert len(described) == 3
    assert "PartitionCount: 2" in described[0]
    assert "retention.ms=86400000" in described[0]
    overridden = sides.same(
        java.TOPICS, "--describe", "--topics-with-overrides", *named, show=_without_ids
    )
    assert overridden == described[:1]
    assert sides.same(java.TOPICS, "--describe", "--under-replicated-partitions", *named) == []
    assert sides.same(java.TOPICS, "--create", "--if-not-exists", *wanted) == []
    assert sides.same(java.TOPICS, "--alter", *named, "--partitions", "3") == []
    wait_until(
        lambda: [_count(servers, topic) for servers in sides.both] == [3, 3],
        "three partitions",
        clients.SECONDS,
    )
    assert sides.same(java.TOPICS, "--delete", *named) == []


def _without_ids(printed: str) -> list[str]:
    return [re.sub(r"TopicId: \S+", "", line) for line in printed.splitlines()]


def _count(servers: str, topic: str) -> int:
    return len(
        clients.admin(servers).list_topics(topic, timeout=clients.SECONDS).topics[topic].partitions
    )


def test_producer_and_consumer_performance(sides: Sides, unique: Names) -> None:
    topic, count = unique("load"), "200"
    sides.create(topic)
    load = ["--topic", topic, "--num-records", count, "--record-size", "50", "--throughput", "-1"]

    def sent(printed: str) -> str:
        (last,) = re.findall(r"^(\d+ records sent), ", printed.splitlines()[-1])
        return str(last)

    assert sides.same(java.PRODUCER_PERFORMANCE, *load, show=sent) == "200 records sent"
    transactional = ["--transactional-id", unique("tx"), "--transaction-duration-ms", "50"]
    assert sides.same(java.PRODUCER_PERFORMANCE, *load, *transactional, show=sent)

    def read(printed: str) -> list[str]:
        head, row = (line.split(", ") for line in printed.splitlines()[-2:])
        columns = ("data.consumed.in.MB", "data.consumed.in.nMsg")
        return [row[head.index(column)] for column in columns]

    taken = ["--topic", topic, "--num-records", "400", "--group", unique("readers")]
    assert sides.same(java.CONSUMER_PERFORMANCE, *taken, show=read)[1] == "400"


def test_verifiable_clients(sides: Sides, unique: Names) -> None:
    """A classic group and one of KIP-848 read what the producer has written."""
    topic = unique("orders")
    sides.create(topic)
    # The producer waits for responses when Java ends, so it has a Java of its own.
    command = ["--topic", topic, "--max-messages", "10", "--value-prefix", "7"]

    def produces(servers: str) -> list[dict[str, Any]]:
        ended = java.run_java(VERIFIABLE_PRODUCER, ["--bootstrap-server", servers, *command])
        assert ended.returncode == 0, ended.stderr
        return events(ended.stdout)

    with ThreadPoolExecutor(2) as pool:
        produced, direct = pool.map(produces, sides.both)
    assert produced == direct
    acknowledged = [event for event in produced if event["name"] == "producer_send_success"]
    assert sorted(event["offset"] for event in acknowledged) == [*range(10)]
    assert {event["topic"] for event in acknowledged} == {topic}

    def consumed(printed: str) -> dict[str, Any]:
        seen = events(printed)
        offsets = [each for each in seen if each["name"] == "offsets_committed"]
        # A KIP-848 member may first be assigned nothing, by any coordinator.
        assigned = [each for each in seen if each["name"] == "partitions_assigned"]
        return {
            "assigned": assigned[-1]["partitions"],
            "values": [each["value"] for each in seen if each["name"] == "record_data"],
            "committed": offsets[-1]["offsets"],
            "failed": [each for each in offsets if not each["success"]],
        }

    asked = ["--topic", topic, "--max-messages", "10", "--verbose"]
    for protocol in ("classic", "consumer"):
        group = ["--group-protocol", protocol, "--group-id", unique(protocol)]
        assert sides.same(VERIFIABLE_CONSUMER, *asked, *group, show=consumed) == {
            "assigned": [{"topic": topic, "partition": 0}],
            "values": [f"7.{number}" for number in range(10)],
            "committed": [{"topic": topic, "partition": 0, "offset": 10}],
            "failed": [],
        }


@pytest.mark.long("kills")  # a member gets its partitions by its second heartbeat, after 5 s
def test_share_consumers(sides: Sides, unique: Names) -> None:
    """Three tools of share groups read a topic from its beginning, each in a group of its own."""
    topic, groups = unique("orders"), [unique("share") for _ in range(3)]
    sides.create(topic, *VALUES)
    for group in groups:
        sides.same(
            java.CONFIGS,
            *("--alter", "--entity-type", "groups", "--entity-name", group),
            *("--add-config", "share.auto.offset.reset=earliest"),
        )
    console, verifiable, performance = groups
    count = str(len(VALUES))
    options = ["--topic", topic, "--group", console, "--max-messages", count]
    assert sides.same(CONSOLE_SHARE_CONSUMER, *options) == VALUES

    def acknowledged(printed: str) -> int:
        seen = [event for event in events(printed) if event["name"] == "offsets_acknowledged"]
        assert all(event["success"] for event in seen)
        return sum(event["count"] for event in seen)

    asked = ["--topic", topic, "--group-id", verifiable, "--max-messages", count]
    mode = ["--acknowledgement-mode", "sync"]
    assert sides.same(VERIFIABLE_SHARE_CONSUMER, *asked, *mode, show=acknowledged) == len(VALUES)
    taken = ["--topic", topic, "--num-records", count, "--group", performance]

    def read(printed: str) -> str:
        head, row = (line.split(", ") for line in printed.splitlines()[-2:])
        return row[head.index("data.consumed.in.nMsg")]

    assert sides.same(SHARE_CONSUMER_PERFORMANCE, *taken, show=read) == count
    kinds = sorted([group, "Share", "share"] for group in groups)
    assert sides.same(GROUPS, "--list", "--share", show=rows_of(*groups)) == kinds


def test_end_to_end_latency(sides: Sides, unique: Names) -> None:
    topic = unique("latency")
    sides.create(topic)
    size = ["--num-records", "20", "--producer-acks", "all", "--record-size", "30"]

    def printed_shape(printed: str) -> list[str]:
        return [re.sub(r"[0-9.]+", "N", line) for line in printed.splitlines()]

    found = sides.same(END_TO_END, "--topic", topic, *size, show=printed_shape)
    assert "Avg latency: N ms" in found


def test_groups_of_each_kind(sides: Sides, unique: Names) -> None:
    """kafka-groups lists classic and KIP-848 groups, by kind and by protocol."""
    topic, classic, modern = unique("orders"), unique("classic"), unique("modern")
    sides.create(topic, *VALUES)
    for servers in sides.both:
        clients.consume(servers, topic, len(VALUES), classic)
        clients.consume(servers, topic, len(VALUES), modern, group_protocol="consumer")
    own = rows_of(classic, modern)
    kinds = [[classic, "Classic", "consumer"], [modern, "Consumer", "consumer"]]
    assert sides.same(GROUPS, "--list", show=own) == kinds
    assert sides.same(GROUPS, "--list", "--consumer", show=own) == kinds
    assert sides.same(GROUPS, "--list", "--share", show=own) == []
    assert sides.same(GROUPS, "--list", "--group-type", "classic", show=own) == kinds[:1]
    assert sides.same(GROUPS, "--list", "--protocol", "consumer", show=own) == kinds
    assert sides.same(GROUPS, "--list", "--streams", show=own) == []


def test_consumer_groups(sides: Sides, unique: Names) -> None:
    """Descriptions of a group, and its deletion."""
    topic, group = unique("orders"), unique("app")
    sides.create(topic, *VALUES)
    for servers in sides.both:
        clients.consume(servers, topic, len(VALUES), group)
    of_group, own = ["--group", group], rows_of(group)
    (row,) = sides.same(java.CONSUMER_GROUPS, "--describe", *of_group, show=own)
    assert row[1:6] == [topic, "0", "6", "6", "0"]
    (state,) = sides.same(
        java.CONSUMER_GROUPS, "--describe", *of_group, "--state", show=_without_addresses(own)
    )
    assert state[-2:] == ["Empty", "0"]
    members = ["--describe", *of_group, "--members", "--verbose"]
    assert sides.same(java.CONSUMER_GROUPS, *members, show=own) == []
    assert sides.same(java.CONSUMER_GROUPS, "--describe", "--all-groups", show=own) == [row]
    listed = [[group, "Empty"]]
    assert sides.same(java.CONSUMER_GROUPS, "--list", "--state", "Empty", show=own) == listed
    (deleted,) = sides.same(java.CONSUMER_GROUPS, "--delete", *of_group)
    assert group in deleted
    assert sides.same(java.CONSUMER_GROUPS, "--list", show=own) == []


def test_offsets_of_consumer_groups(sides: Sides, unique: Names, tmp_path: Path) -> None:
    """Every way to reset offsets, their export and their deletion."""
    topic, group = unique("orders"), unique("app")
    sides.create(topic, *VALUES, partitions=2)
    for servers in sides.both:
        clients.consume(servers, topic, len(VALUES), group)
    of_group, one = ["--group", group], ["--topic", f"{topic}:0"]

    def reset(*how: str) -> list[list[str]]:
        asked = ["--reset-offsets", *of_group, *how]
        found: list[list[str]] = sides.same(java.CONSUMER_GROUPS, *asked, show=rows_of(group))
        return found

    assert reset(*one, "--to-earliest", "--dry-run") == [[group, topic, "0", "0"]]
    assert reset(*one, "--shift-by", "-2", "--execute") == [[group, topic, "0", "4"]]
    assert reset("--all-topics", "--to-current", "--dry-run") == [[group, topic, "0", "4"]]
    assert reset(*one, "--to-datetime", "2020-01-01T00:00:00.000", "--dry-run")[0][3] == "0"
    assert reset(*one, "--by-duration", "PT1H", "--dry-run")[0][3] == "0"
    plan = tmp_path / "plan.csv"
    plan.write_text(f"{topic},0,3\n")
    assert reset("--from-file", str(plan), "--execute") == [[group, topic, "0", "3"]]
    exported = ["--reset-offsets", *of_group, "--all-topics", "--to-latest", "--export"]
    assert f'"{topic}",0,6' in sides.same(java.CONSUMER_GROUPS, *exported, "--dry-run")
    deleted = sides.same(java.CONSUMER_GROUPS, "--delete-offsets", *of_group, *one)
    assert any(line.split() == [topic, "0", "Successful"] for line in deleted)


def _without_addresses(rows: Callable[[str], list[list[str]]]) -> Callable[[str], list[list[str]]]:
    """Rows without the coordinator's address."""
    return lambda printed: rows(re.sub(r"127\.0\.0\.1:\d+", "ADDRESS", printed))
