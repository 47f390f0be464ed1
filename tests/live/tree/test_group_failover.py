"""A group over two clusters while brokers of either are gone.

Each test has clusters of its own, because a cluster that is gone does not come back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.tree.conftest import LISTENERS, mounted
from tests.live.tree.group_tools import COUNT, described, fill, more

pytestmark = pytest.mark.long("kills")

LISTED_SECONDS = 20.0
"""Seconds after which a gateway knows a new topic's partitions.

It lists its clusters each 5 s, on a busy machine later, and reports no end of that.
"""


@pytest.fixture
def la() -> Iterator[KafkaCluster]:
    """Two brokers, of which the second may be killed."""
    with KafkaCluster(2, missed_quickly=True) as cluster:
        yield cluster


@pytest.fixture
def ny() -> Iterator[KafkaCluster]:
    with KafkaCluster(2, missed_quickly=True) as cluster:
        yield cluster


@pytest.fixture
def tree(la: KafkaCluster, ny: KafkaCluster) -> Iterator[GatewayProcess]:
    with GatewayProcess(mounted(la, ny), LISTENERS, []) as gateway:
        yield gateway


def test_brokers_of_both_are_killed(
    tree: GatewayProcess, la: KafkaCluster, ny: KafkaCluster
) -> None:
    servers = tree.bootstrap_servers("la")
    topics = ["f-here", ":ny:tracking:f-there"]
    fill(servers, *topics)
    groups = [f"f{number}" for number in range(4)]  # coordinators on either broker
    members = [Consumer(settings(servers, group)) for group in groups]
    try:
        for member in members:
            member.subscribe(topics)
            clients.take(member, 2 * COUNT)
            member.commit(asynchronous=False)
        for round_number, cluster in enumerate((la, ny), 1):
            cluster.kill_broker(2)
            more(servers, *topics, count=5)
            for member in members:
                clients.take(member, 10)
                wait_until(partial(committed, member), "a commit", clients.SECONDS)
                expected = [COUNT + 5 * round_number] * 2
                parts = [TopicPartition(topic, 0) for topic in topics]
                assert [each.offset for each in member.committed(parts, 60)] == expected
            cluster.restart_broker(2)
    finally:
        for member in members:
            member.close()
    for group in groups:
        direct = described(la.bootstrap_servers, group)
        assert sorted(row[0] for row in direct.values()) == [str(COUNT + 10)] * 2


def test_the_other_cluster_is_gone(
    tree: GatewayProcess, la: KafkaCluster, ny: KafkaCluster
) -> None:
    """Members continue with the topics at home: they join again, and commit offsets of both."""
    servers = tree.bootstrap_servers("la")
    topics = ["h-here", ":ny:tracking:h-there"]
    fill(servers, *topics)
    with clients.consumer(servers, "h") as first:
        first.subscribe(topics)
        clients.take(first, 2 * COUNT)
        first.commit(asynchronous=False)
    time.sleep(LISTED_SECONDS)
    ny.stop()
    more(servers, "h-here", count=5)
    with clients.consumer(servers, "h") as second:
        second.subscribe(topics)
        records = clients.take(second, 5)
        assert {record.topic() for record in records} == {"h-here"}
        second.commit(asynchronous=False)
        both = [TopicPartition(topic, 0, COUNT + 5) for topic in topics]
        second.commit(offsets=both, asynchronous=False)
        assert [each.offset for each in second.committed(both, 60)] == [COUNT + 5] * 2
    direct = described(la.bootstrap_servers, "h")
    assert sorted(row[0] for row in direct.values()) == [str(COUNT + 5)] * 2


def settings(servers: str, group: str) -> dict[str, str | int | float | bool]:
    return clients.settings(
        servers, group_id=group, auto_offset_reset="earliest", enable_auto_commit=False
    )


def committed(member: Consumer) -> bool:
    """Whether a commit succeeds; it may fail while a coordinator moves."""
    try:
        done = member.commit(asynchronous=False)
    except KafkaException:
        return False
    return all(each.error is None for each in done or ())
