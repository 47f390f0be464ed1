"""Kafka Streams by its own group protocol (KIP-1071): the gateway creates the internal topics that
the coordinator misses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients, java_tools
from tests.live.support.wire import Wire

# A member's heartbeats are 5 s apart, and an assignment takes several.
pytestmark = pytest.mark.long("kills")

Names = Callable[[str], str]

PARTITIONS: Final = 2

# By listener: the prefix of the names there, and the flat prefix of the topics.
PLACES: Final = {"home-a": ("", "team-a.."), "legal": ("team-a..", "team-a..")}

OWN: Final = 1
"""The source of a topic's own configs (DescribeConfigsResponse.ConfigSource)."""

STREAMS_OWN: Final = {"cleanup.policy", "message.timestamp.type"}
"""The configs with which Streams asks for its changelog."""

COUNTED: Final = ["one=1", "two=2", "three=1", "two=3"]
"""What brokers alone count (``test_the_counts_at_the_brokers``)."""


@pytest.mark.parametrize("listener", [*PLACES])
def test_a_word_count(
    gateway: GatewayProcess, kafka: KafkaCluster, unique: Names, listener: str
) -> None:
    """A second Streams instance restores its store from the changelog. Both internal topics are in
    the application's namespace, with Streams' own configs; tools describe the group by the client's
    names."""
    servers = gateway.bootstrap_servers(listener)
    own, flat = PLACES[listener]
    application, lines, counts = (f"{own}{unique(name)}" for name in ("app", "lines", "counts"))
    clients.create(servers, lines, partitions=PARTITIONS)
    clients.create(servers, counts)
    bare = application.removeprefix(own)
    stored = [f"{flat}{name.removeprefix(own)}" for name in (lines, counts)]
    clients.await_stored(kafka, *stored)

    status, events = _word_count(servers, application, lines, counts)
    assert status == 0, events
    assert [entry["value"] for entry in events if entry["event"] == "count"] == COUNTED

    repartition, changelog = (
        f"{flat}{bare}-{name}" for name in ("by-word-repartition", "counts-changelog")
    )
    assert {name for name in kafka.topics() if bare in name} == {repartition, changelog}
    listed = java_tools.run(java.STREAMS_GROUPS, servers, "--list")
    assert application in listed.lines
    told = _state(servers, application)
    at_brokers = _state(kafka.bootstrap_servers, f"{flat}{bare}")
    assert told == [word.replace(flat, own) for word in at_brokers]
    with Wire(servers) as wire:
        (group,) = wire.ask("StreamsGroupDescribe", 0, group_ids=(application,)).groups
    parts = group.topology.subtopologies
    assert [part.source_topics for part in parts] == [(lines,), ()]
    assert parts[0].repartition_sink_topics == (f"{application}-by-word-repartition",)
    (made,) = parts[1].state_changelog_topics
    assert made.name == f"{application}-counts-changelog"
    assert {config.key for config in made.topic_configs} == STREAMS_OWN
    assert _own_configs(kafka, changelog) == STREAMS_OWN


def test_the_counts_at_the_brokers(kafka: KafkaCluster, unique: Names) -> None:
    application, lines, counts = unique("app"), unique("lines"), unique("counts")
    clients.create(kafka.bootstrap_servers, lines, partitions=PARTITIONS)
    clients.create(kafka.bootstrap_servers, counts)
    status, events = _word_count(kafka.bootstrap_servers, application, lines, counts)
    assert status == 0, events
    assert [entry["value"] for entry in events if entry["event"] == "count"] == COUNTED


def _state(servers: str, group: str) -> list[str]:
    """The words that kafka-streams-groups prints of a group, but for its coordinator's address."""
    args = ("--describe", "--group", group, "--state")
    printed = java_tools.run(java.STREAMS_GROUPS, servers, *args).stdout
    assert printed
    return [word for word in printed.split() if not word.startswith("127.0.0.1:")]


def _own_configs(kafka: KafkaCluster, flat: str) -> set[str]:
    """The keys of a topic's own configs at the broker."""
    asked = [ConfigResource(ResourceType.TOPIC, flat)]
    (future,) = clients.admin(kafka.bootstrap_servers).describe_configs(asked).values()
    configs = future.result(clients.SECONDS).values()
    return {each.name for each in configs if each.source == OWN}


def _word_count(*args: str) -> tuple[int, list[dict[str, Any]]]:
    """Run WordCount.java by the streams protocol; its exit status, and the events that it
    prints."""
    classes = java.compile_java(java_tools.SOURCES / "WordCount.java", "streams")
    args = (*args, "at_least_once", "streams")
    result = java.run_java("WordCount", args, seconds=480, classes=classes, jar_set="streams")
    return result.returncode, java_tools.events(result)
