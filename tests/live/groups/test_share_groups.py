"""Share groups (KIP-932) by Java's KafkaShareConsumer and Kafka's tools, beside the same direct."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients, java_tools

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


def from_the_beginning(kafka: KafkaCluster, *groups: str) -> None:
    """Let share groups (flat names) begin at the first record."""
    for group in groups:
        of_group = ["--entity-type", "groups", "--entity-name", group]
        added = ["--add-config", "share.auto.offset.reset=earliest"]
        java_tools.configs(kafka.bootstrap_servers, "--alter", *of_group, *added)


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
    from_the_beginning(kafka, flat_group, plain)
    clients.produce(servers, topic, VALUES)
    clients.produce(direct, plain, VALUES)
    there = share_consume(direct, plain, len(VALUES), plain)
    here = share_consume(servers, group, len(VALUES), topic)
    assert counts(here) == counts(there)
    assert {each["topic"] for each in here} == {topic}
