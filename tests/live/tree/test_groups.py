"""Consumer groups that read topics of two clusters: all of their offsets are at home."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaException,
    Producer,
    TopicPartition,
)

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients, java_tools, processes
from tests.live.tree.group_tools import COUNT, described, fill, more, read, shadow_of


def test_all_offsets_are_at_home(tree: GatewayProcess, la: KafkaCluster, ny: KafkaCluster) -> None:
    servers = tree.bootstrap_servers("legal")
    here, there = "g1-here", "..ny.tracking.search..g1-there"
    fill(servers, here, there)
    assert read(servers, "g1", [here, there], 2 * COUNT) == {here: COUNT, there: COUNT}
    shadow = shadow_of(ny, "search..g1-there", 2)
    wanted = {(here, 0): (str(COUNT), "0"), (there, 0): (str(COUNT), "0")}
    assert described(servers, "g1") == wanted
    # At the home broker itself: the shadow is empty.
    direct = described(la.bootstrap_servers, "g1")
    assert {topic: row[0] for (topic, _), row in direct.items()} == {
        here: str(COUNT),
        shadow: str(COUNT),
    }
    assert "g1" not in java_tools.consumer_groups(ny.bootstrap_servers, "--list").lines
    # The shadows are invisible.
    assert not any("_far." in name for name in java_tools.list_topics(servers))
    more(servers, here, there, count=7)
    assert described(servers, "g1") == {
        (here, 0): (str(COUNT), "7"),
        (there, 0): (str(COUNT), "7"),
    }
    # The group continues from its committed offsets.
    assert read(servers, "g1", [here, there], 14) == {here: 7, there: 7}


def test_offsets_are_reset_and_deleted(tree: GatewayProcess, la: KafkaCluster) -> None:
    servers = tree.bootstrap_servers("legal")
    there = "..ny.tracking..g2-there"
    fill(servers, "g2-here", there)
    read(servers, "g2", ["g2-here", there], 2 * COUNT)
    reset = ["--group", "g2", "--topic", there, "--reset-offsets", "--to-earliest", "--execute"]
    java_tools.consumer_groups(servers, *reset)
    assert described(servers, "g2")[there, 0] == ("0", str(COUNT))
    assert described(servers, "g2")["g2-here", 0] == (str(COUNT), "0")
    assert read(servers, "g2", ["g2-here", there], COUNT) == {there: COUNT}
    java_tools.consumer_groups(servers, "--delete-offsets", "--group", "g2", "--topic", there)
    assert set(described(servers, "g2")) == {("g2-here", 0)}
    java_tools.consumer_groups(servers, "--delete", "--group", "g2")


def test_members_share_partitions_of_both_and_rebalance(
    tree: GatewayProcess, la: KafkaCluster
) -> None:
    servers = tree.bootstrap_servers("la")
    topics = ["g3-here", ":ny:tracking:search:g3-there"]
    fill(servers, *topics, partitions=4)
    everything = {(topic, partition) for topic in topics for partition in range(4)}

    def assigned(client: Consumer) -> set[tuple[str, int]]:
        client.poll(0.1)
        return {(each.topic, each.partition) for each in client.assignment()}

    def settle(members: list[Consumer]) -> None:
        def settled() -> bool:
            shares = [assigned(member) for member in members]
            return (
                set().union(*shares) == everything
                and sum(map(len, shares)) == len(everything)
                and all(shares)
            )

        wait_until(settled, "an assignment of everything", clients.SECONDS)

    with ExitStack() as stack:
        first = stack.enter_context(clients.consumer(servers, "g3", group_instance_id="one"))
        first.subscribe(topics)
        settle([first])
        second = stack.enter_context(clients.consumer(servers, "g3", group_instance_id="two"))
        second.subscribe(topics)
        settle([first, second])
        third = Consumer(clients.settings(servers, group_id="g3"))
        third.subscribe(topics)
        settle([first, second, third])
        third.close()
        settle([first, second])
        offsets = [TopicPartition(topic, partition, 5) for topic, partition in everything]
        owned = {(each.topic, each.partition) for each in first.assignment()}
        first.commit(
            offsets=[each for each in offsets if (each.topic, each.partition) in owned],
            asynchronous=False,
        )
    listed = clients.admin(servers).list_consumer_group_offsets(
        [ConsumerGroupTopicPartitions("g3")]
    )
    found = listed["g3"].result(clients.SECONDS).topic_partitions
    assert {(each.topic, each.partition): each.offset for each in found} == dict.fromkeys(owned, 5)


def test_a_topic_gets_partitions(tree: GatewayProcess, ny: KafkaCluster) -> None:
    servers = tree.bootstrap_servers("la")
    there = ":ny:tracking:g4-there"
    fill(servers, there)
    with clients.consumer(servers, "g4") as client:
        client.assign([TopicPartition(there, 0, 0)])
        client.commit(offsets=[TopicPartition(there, 0, 3)], asynchronous=False)
        java_tools.topics(
            ny.bootstrap_servers, "--alter", "--topic", "g4-there", "--partitions", "5"
        )

        def committed() -> bool:
            try:
                done: Any = client.commit(offsets=[TopicPartition(there, 4, 9)], asynchronous=False)
            except KafkaException:
                return False
            return all(each.error is None for each in done)

        wait_until(committed, "a commit of the new partition", clients.SECONDS)
        found = client.committed([TopicPartition(there, each) for each in (0, 4)], clients.SECONDS)
        assert [each.offset for each in found] == [3, 9]


@pytest.mark.long("kills")
def test_a_group_outlives_the_gateway(
    tree: GatewayProcess, la: KafkaCluster, ny: KafkaCluster
) -> None:
    servers = tree.bootstrap_servers("la")
    topics = ["g5-here", ":ny:tracking:g5-there"]
    fill(servers, *topics)
    with clients.consumer(servers, "g5", group_instance_id="one") as client:
        client.subscribe(topics)
        clients.take(client, 2 * COUNT)
        client.commit(asynchronous=False)
        tree.kill()
        tree.start_again()
        processes.forget_killed(la, ny)
        producer = Producer(clients.settings(servers))
        for topic in topics:
            producer.produce(topic, "after", partition=0)
        assert producer.flush(clients.SECONDS) == 0
        records = clients.take(client, 2)
        assert sorted(str(record.topic()) for record in records) == sorted(topics)
        client.commit(asynchronous=False)
        found = client.committed([TopicPartition(topic, 0) for topic in topics], clients.SECONDS)
        assert [each.offset for each in found] == [COUNT + 1, COUNT + 1]


@pytest.mark.parametrize("group", ["g6", ":ny:tracking:g6-far"])
def test_the_home_is_where_the_group_is(
    tree: GatewayProcess, la: KafkaCluster, ny: KafkaCluster, group: str
) -> None:
    servers = tree.bootstrap_servers("la")
    topics = [f"g6-here-{len(group)}", f":ny:tracking:g6-there-{len(group)}"]
    fill(servers, *topics)
    assert read(servers, group, topics, 2 * COUNT) == dict.fromkeys(topics, COUNT)
    home, other = (ny, la) if group.startswith(":") else (la, ny)
    direct = described(home.bootstrap_servers, group.rpartition(":")[2])
    assert [row[0] for row in direct.values()] == [str(COUNT)] * 2
    assert sum("_far." in topic for topic, _ in direct) == 1
    listed = java_tools.consumer_groups(other.bootstrap_servers, "--list").lines
    assert group.rpartition(":")[2] not in listed
