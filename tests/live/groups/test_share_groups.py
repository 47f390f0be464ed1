"""Share groups (KIP-932) by Java's KafkaShareConsumer and Kafka's tools, beside the same direct."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients, java_tools, share_workers

Names = Callable[[str], str]

VALUES = ["one", "again", "two", "bad", "three"]


def share_consume(servers: str, group: str, count: int, *topics: str) -> list[dict[str, Any]]:
    """The events of ShareConsumer.java."""
    classes = java.compile_java(java_tools.SOURCES / "ShareConsumer.java")
    args = [servers, group, str(count), str(int(clients.SECONDS)), *topics]
    result = java.run_java("ShareConsumer", args, seconds=240, classes=classes)
    assert result.returncode == 0, f"{result.stdout}\n{result.stderr}"
    return java_tools.events(result)


def counts(events: list[dict[str, Any]]) -> Counter[tuple[str, str, int]]:
    """How often each record was taken, by what was done with it and which delivery it was."""
    return Counter((each["event"], each["value"], each["delivery"]) for each in events[1:])


@pytest.mark.parametrize("listener", ["home-a", "colon", "legal"])
def test_records_as_direct(
    gateway: GatewayProcess, kafka: KafkaCluster, unique: Names, listener: str
) -> None:
    """Records are accepted, released and delivered again, and rejected, as direct."""
    servers, direct = gateway.bootstrap_servers(listener), kafka.bootstrap_servers
    name, group, plain = unique("queue"), unique("workers"), unique("plain")
    topic = {"home-a": name, "colon": f"team-a:{name}", "legal": f"team-a..{name}"}[listener]
    clients.create(servers, topic)
    clients.create(direct, plain)
    clients.await_stored(kafka, f"team-a..{name}")
    flat_group = f"team-a..{group}" if listener == "home-a" else group
    share_workers.from_the_beginning(kafka, flat_group, plain)
    clients.produce(servers, topic, VALUES)
    clients.produce(direct, plain, VALUES)
    there = share_consume(direct, plain, len(VALUES), plain)
    here = share_consume(servers, group, len(VALUES), topic)
    assert counts(here) == counts(there)
    assert {each["topic"] for each in here} == {topic}


def test_two_homes_with_groups_and_topics_of_one_name(
    gateway: GatewayProcess, kafka: KafkaCluster, unique: Names
) -> None:
    """Each member gets the records of its own home; neither group shows in the other's."""
    homes = {"team-a": "home-a", "team-b": "home-b"}
    topic, group = unique("queue"), unique("workers")
    share_workers.from_the_beginning(kafka, *(f"{namespace}..{group}" for namespace in homes))
    for namespace, listener in homes.items():
        servers = gateway.bootstrap_servers(listener)
        clients.create(servers, topic)
        clients.await_stored(kafka, f"{namespace}..{topic}")
        clients.produce(servers, topic, [f"{namespace}-{number}" for number in range(3)])
    for namespace, listener in homes.items():
        events = share_consume(gateway.bootstrap_servers(listener), group, 3, topic)
        values = {each["value"] for each in events if each["event"] == "accept"}
        assert values == {f"{namespace}-{number}" for number in range(3)}
        assert {each["topic"] for each in events} == {topic}


def test_the_tool_of_share_groups(home_a: str, kafka: KafkaCluster, unique: Names) -> None:
    """kafka-share-groups lists, describes, resets and deletes a group of a home, as direct."""
    topic, group = unique("queue"), unique("workers")
    flat, flat_group = f"team-a..{topic}", f"team-a..{group}"
    clients.create(home_a, topic)
    clients.await_stored(kafka, flat)
    share_workers.from_the_beginning(kafka, flat_group)
    clients.produce(home_a, topic, ["one", "two", "three"])
    assert len(share_consume(home_a, group, 3, topic)) == 4
    direct = kafka.bootstrap_servers
    assert group in share_groups(home_a, "--list").split()
    for options in (["--describe"], ["--describe", "--state"], ["--describe", "--members"]):
        here = share_groups(home_a, *options, "--group", group)
        there = share_groups(direct, *options, "--group", flat_group)
        assert _rows(here) == [
            [cell.removeprefix("team-a..") for cell in row] for row in _rows(there)
        ]
        assert "team-a" not in here
    reset = ["--reset-offsets", "--topic", topic, "--to-earliest", "--execute", "--group", group]
    assert topic in share_groups(home_a, *reset)
    assert [each["value"] for each in share_consume(home_a, group, 3, topic)[1:]]
    assert topic in share_groups(home_a, "--delete-offsets", "--topic", topic, "--group", group)
    share_groups(home_a, "--delete", "--group", group)
    assert flat_group not in share_groups(direct, "--list").split()


def share_groups(servers: str, *args: str) -> str:
    """What kafka-share-groups prints."""
    return java_tools.run(java.SHARE_GROUPS, servers, *args).stdout


def _rows(table: str) -> list[list[str]]:
    """The rows of what the tool prints, without addresses of brokers, which differ."""
    rows = [line.split() for line in table.splitlines() if line.strip()]
    return [[cell for cell in row if ":" not in cell] for row in rows]
