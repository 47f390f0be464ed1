"""Groups of several brokers: each is read from, and carried to, its own coordinator."""

from __future__ import annotations

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from tests.live.support import clients, namespaces
from tests.live.support.fixtures import own_gateway, own_kafka

pytestmark = pytest.mark.long("brokers")

HOME = "crm"
GROUPS = [f"app-{number}" for number in range(8)]


kafka = own_kafka(nodes=2)
gateway = own_gateway(Listener("outside", "no home"), namespaces=[HOME])


def coordinators(servers: str, groups: list[str]) -> dict[str, int]:
    """The node of each group's coordinator."""
    described = clients.admin(servers).describe_consumer_groups(groups)
    return {group: found.coordinator.id for group, found in clients.done(described).items()}


def offsets(servers: str, group: str) -> dict[tuple[str, int], int]:
    """The offsets that a group has committed."""
    asked = clients.admin(servers).list_consumer_group_offsets(
        [ConsumerGroupTopicPartitions(group)]
    )
    found = clients.done(asked)[group].topic_partitions
    return {(one.topic, one.partition): one.offset for one in found or ()}


def test_groups_of_two_brokers(kafka: KafkaCluster, servers: str) -> None:
    brokers = kafka.bootstrap_servers
    clients.create(brokers, "calls", partitions=2, replicas=2)
    clients.await_stored(kafka, "calls")
    for number, group in enumerate(GROUPS):
        with clients.consumer(brokers, group) as client:
            positions = [TopicPartition("calls", p, 100 * number + p) for p in range(2)]
            client.commit(offsets=positions, asynchronous=False)
    inside = [f"{HOME}..{group}" for group in GROUPS]
    nodes = coordinators(brokers, [*GROUPS, *inside])
    assert set(nodes.values()) == {1, 2}
    moves = {(nodes[one], nodes[other]) for one, other in zip(GROUPS, inside, strict=True)}
    assert len(moves) > 1  # from a broker to another, too

    to = ["--bootstrap-server", servers]
    said = namespaces.attempt("topics", *to, "--adopt", "--topic", "calls", "--to-namespace", HOME)
    assert said.status == 0
    told = said.err.replace("\n  ", "; ").splitlines()  # each group with its next step
    warned = [line for line in told if "has offsets on calls" in line]
    assert [line.split("'")[1] for line in warned] == GROUPS
    for group, target in zip(GROUPS, inside, strict=True):
        # The printed line is the command to run next.
        (line,) = (line for line in warned if f"'{group}'" in line)
        words = line.partition(": kafka-gateway adopt ")[2].split()
        assert words[:2] == to
        namespaces.command("adopt", *words)
        assert offsets(brokers, target) == offsets(brokers, group) != {}
