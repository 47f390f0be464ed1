"""Kafka's own Java clients through the gateway."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients, java_tools

Names = Callable[[str], str]


def test_transactional_round_trip(home_a: str, kafka: KafkaCluster, unique: Names) -> None:
    """Consume, produce and commit in transactions; an aborted transaction is not read."""
    source, target, group = unique("in"), unique("out"), unique("app")
    clients.create(home_a, source, target)
    clients.await_stored(kafka, f"team-a..{source}", f"team-a..{target}")
    events = java_tools.round_trip(home_a, source, target, group, unique("tx"))

    read = [(entry["topic"], entry["value"]) for entry in events if entry["event"] == "read"]
    assert read == [(target, "a"), (target, "c")]
    offsets = [entry for entry in events if entry["event"] == "offset"]
    assert [entry["topic"] for entry in offsets] == [source]

    flat = f"team-a..{target}"
    direct = clients.consume(
        kafka.bootstrap_servers, flat, 2, unique("direct"), isolation_level="read_committed"
    )
    assert direct == ["a", "c"]
    asked = [ConsumerGroupTopicPartitions(f"team-a..{group}")]
    broker = clients.admin(kafka.bootstrap_servers)
    committed = clients.done(broker.list_consumer_group_offsets(asked))
    (offset,) = committed[f"team-a..{group}"].topic_partitions
    assert (offset.topic, str(offset.offset)) == (f"team-a..{source}", str(offsets[0]["value"]))


def test_round_trip_with_colon_names(colon: str, kafka: KafkaCluster, unique: Names) -> None:
    source, target = f"team-a:{unique('in')}", f"org:apache:kafka:{unique('out')}"
    clients.create(colon, source, target)
    clients.await_stored(kafka, source.replace(":", ".."))
    events = java_tools.round_trip(colon, source, target, unique("app"), unique("tx"))
    read = [(entry["topic"], entry["value"]) for entry in events if entry["event"] == "read"]
    assert read == [(target, "a"), (target, "c")]


@pytest.mark.parametrize("at_home", [False, True], ids=["colon", "home"])
def test_regex_subscription(
    gateway: GatewayProcess, kafka: KafkaCluster, unique: Names, tmp_path: Path, at_home: bool
) -> None:
    """KIP-848: the gateway, as the server, evaluates the regex over logical names.

    A topic created while the consumer polls is found. A topic of another namespace is not, even if
    its flat name matches.
    """
    servers = gateway.bootstrap_servers("home-a" if at_home else "colon")
    colon = gateway.bootstrap_servers("colon")
    stem = unique("orders")
    own = "" if at_home else "team-a:"
    first, later = f"{own}{stem}-1", f"{own}{stem}-2"
    foreign = f"team-b:{stem}-3"
    # As flat names, all the topics match both expressions.
    regex = f".*{stem}-[0-9]" if at_home else f"(team-a:|team-..\\.\\.){stem}-[0-9]"
    clients.create(colon, f"team-a:{stem}-1", foreign)
    clients.await_stored(kafka, f"team-a..{stem}-1", f"team-b..{stem}-3")
    clients.produce(servers, first, ["one"])
    clients.produce(colon, foreign, ["foreign"])
    with java_tools.regex_consumer(servers, unique("app"), regex, 2, tmp_path / "out") as running:
        assert running.wait_for("record", first)["value"] == "one"
        clients.create(servers, later)
        clients.produce(servers, later, ["two"])
        assert running.wait_for("record", later)["value"] == "two"
        assert running.wait_for_end() == 0
        assert set(running.topics("assigned")) == {first, later}
        assert running.topics("record") == [first, later]
