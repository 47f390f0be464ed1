"""Kafka Streams: a word count with a repartition topic and a store that has a changelog."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions
from confluent_kafka.admin import ConfigResource, ResourceType

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients, java_tools

Names = Callable[[str], str]

PARTITIONS: Final = 2

# By listener: the prefixes of the application id, the input and the output there, and then the flat
# prefixes of the application's topics and of the output.
PLACES: Final = {
    "home-a": ("", "", "", "team-a..", "team-a.."),
    "legal": ("team-a..", "team-a..", "team-b..", "team-a..", "team-b.."),
    "colon": ("team-a..", "team-a:", "team-b:", "team-a..", "team-b.."),
}


@pytest.mark.parametrize(
    ("listener", "guarantee"),
    [
        ("home-a", "exactly_once_v2"),
        ("legal", "at_least_once"),
        ("colon", "exactly_once_v2"),
    ],
    ids=["home", "legal", "colon"],
)
def test_a_word_count(
    gateway: GatewayProcess,
    kafka: KafkaCluster,
    unique: Names,
    listener: str,
    guarantee: str,
) -> None:
    """A second Streams instance continues the count of the first.

    All topics that the application creates are in its namespace. kafka-streams-application-reset
    then deletes them by their listed names.
    """
    servers = gateway.bootstrap_servers(listener)
    own, source, target, flat, flat_target = PLACES[listener]
    application, lines, counts = unique("app"), unique("lines"), unique("counts")
    clients.create(servers, f"{source}{lines}", partitions=PARTITIONS)
    clients.create(servers, f"{target}{counts}")
    clients.await_stored(kafka, f"team-a..{lines}", f"{flat_target}{counts}")

    status, events = _word_count(
        servers, f"{own}{application}", f"{source}{lines}", f"{target}{counts}", guarantee
    )
    assert status == 0, events
    counted = [entry["value"] for entry in events if entry["event"] == "count"]
    assert counted == ["one=1", "two=2", "three=1", "two=3"]
    deleted = [entry["topic"] for entry in events if entry["event"] == "deleted"]
    assert set(deleted) == {f"{own}{application}-by-word-repartition"}

    repartition = f"{flat}{application}-by-word-repartition"
    changelog = f"{flat}{application}-counts-changelog"
    assert {name for name in kafka.topics() if application in name} == {repartition, changelog}
    assert _policies(kafka, repartition, changelog) == ["delete", "compact"]
    assert _committed(kafka, f"{flat}{application}") == {f"team-a..{lines}", repartition}
    transactional = {name for name in _transactional_ids(kafka) if application in name}
    assert bool(transactional) is (guarantee == "exactly_once_v2")
    assert all(name.startswith(f"{flat}{application}-") for name in transactional)

    reset = java_tools.run(
        java.STREAMS_RESET,
        servers,
        *("--application-id", f"{own}{application}", "--input-topics", f"{source}{lines}"),
    )
    if listener == "colon":
        # The tool looks for names that begin with team-a..app-, but the listing has team-a:app-...
        assert "Deleting inferred internal topics []" in reset.stdout
        assert kafka.topics() >= {repartition, changelog}
    else:
        clients.await_gone(kafka, repartition, changelog)


def test_application_ids_in_namespaces_are_legal_names(
    gateway: GatewayProcess, kafka: KafkaCluster, unique: Names
) -> None:
    """Streams rejects an application id with a colon itself, because it makes topic names of the
    id."""
    servers = gateway.bootstrap_servers("colon")
    application, lines, counts = unique("app"), unique("lines"), unique("counts")
    clients.create(servers, f"team-a:{lines}", f"team-a:{counts}")
    clients.await_stored(kafka, f"team-a..{lines}", f"team-a..{counts}")
    status, events = _word_count(
        servers, f"team-a:{application}", f"team-a:{lines}", f"team-a:{counts}", "at_least_once"
    )
    assert status == 1
    assert "InvalidTopicException" in {entry["topic"] for entry in events}
    assert not [name for name in kafka.topics() if application in name]


def _word_count(*args: str) -> tuple[int, list[dict[str, Any]]]:
    """Run WordCount.java; its exit status, and the events that it prints."""
    classes = java.compile_java(java_tools.SOURCES / "WordCount.java", "streams")
    result = java.run_java("WordCount", args, seconds=480, classes=classes, jar_set="streams")
    return result.returncode, java_tools.events(result)


def _policies(kafka: KafkaCluster, *flat: str) -> list[str]:
    """The cleanup.policy of each topic, as the broker reports it."""
    asked = [ConfigResource(ResourceType.TOPIC, name) for name in flat]
    described = clients.admin(kafka.bootstrap_servers).describe_configs(asked)
    configs = {each.name: future.result(clients.SECONDS) for each, future in described.items()}
    return [configs[name]["cleanup.policy"].value for name in flat]


def _committed(kafka: KafkaCluster, group: str) -> set[str]:
    """The topics for which a group has offsets on the broker."""
    asked = [ConsumerGroupTopicPartitions(group)]
    broker = clients.admin(kafka.bootstrap_servers)
    found = clients.done(broker.list_consumer_group_offsets(asked))
    return {place.topic for place in found[group].topic_partitions or ()}


def _transactional_ids(kafka: KafkaCluster) -> set[str]:
    """The transactional ids of the broker."""
    listed = java_tools.run(java.TRANSACTIONS, kafka.bootstrap_servers, "list")
    return {line.split()[0] for line in listed.lines[1:]}
