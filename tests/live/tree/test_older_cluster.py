"""The tests of two clusters, with a Kafka 3.9 beside a 4.3; and tests of the older cluster
alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from protocol.schema import api_key_of
from tests.live.support import clients
from tests.live.support.wire import Wire
from tests.live.tree.conftest import LISTENERS, mounted
from tests.live.tree.test_two_clusters import (
    test_one_idempotent_producer_writes_to_both,
    test_records_of_the_other_cluster,
    test_stock_java_tools_reach_both,
    test_topics_of_both_clusters_are_made_and_listed,
)

__all__ = [
    "test_one_idempotent_producer_writes_to_both",
    "test_records_of_the_other_cluster",
    "test_stock_java_tools_reach_both",
    "test_topics_of_both_clusters_are_made_and_listed",
]

PRODUCE = api_key_of("ProduceRequest")
BY_ID = 13
"""The first version of Produce that names topics by their ids (KIP-516)."""


@pytest.fixture(scope="module")
def la() -> Iterator[KafkaCluster]:
    """The cluster in Los Angeles, which no other gateway has numbered."""
    with KafkaCluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def ny() -> Iterator[KafkaCluster]:
    """The cluster in New York, of Kafka 3.9."""
    with KafkaCluster(jar_set="kafka-3.9") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def tree(la: KafkaCluster, ny: KafkaCluster) -> Iterator[GatewayProcess]:
    """A gateway in front of both clusters."""
    with GatewayProcess(mounted(la, ny), LISTENERS, []) as gateway:
        yield gateway


def last_versions(address: str) -> dict[int, int]:
    """The last version of each API that an address advertises."""
    with Wire(address) as wire:
        answer = wire.ask("ApiVersions", 0)
    return {int(each.api_key): int(each.max_version) for each in answer.api_keys}


def test_each_node_advertises_what_its_own_cluster_serves(tree: GatewayProcess) -> None:
    """DESIGN: a node serves its cluster's versions for records, and common versions of the rest."""
    servers = tree.bootstrap_servers("la")
    clients.create(servers, "new", ":ny:tracking:old")
    new, old = (clients.leader_address(servers, name) for name in ("new", ":ny:tracking:old"))
    of_new, of_old = last_versions(new), last_versions(old)
    assert of_old[PRODUCE] < BY_ID <= of_new[PRODUCE]
    common = api_key_of("MetadataRequest")
    assert of_new[common] == of_old[common] == last_versions(servers)[common]


@pytest.mark.parametrize("home", ["la", "ny"])
def test_a_group_of_either_cluster_reads_topics_of_both(tree: GatewayProcess, home: str) -> None:
    """Its offsets of the other cluster's topic stay at home, whichever Kafka is older."""
    servers = tree.bootstrap_servers(home)
    topics = [f":{volume}:tracking:grouped-{home}" for volume in ("la", "ny")]
    clients.create(servers, *topics)
    clients.await_led(servers, *topics)
    for topic in topics:
        clients.produce(servers, topic, [f"{topic}-{number}" for number in range(20)])
    with clients.consumer(servers, "readers") as client:
        client.subscribe(topics)
        first = clients.values(clients.take(client, 40))
        client.commit(asynchronous=False)
    assert sorted(first) == sorted(f"{topic}-{number}" for topic in topics for number in range(20))
    for topic in topics:
        clients.produce(servers, topic, [f"{topic}-later"])
    with clients.consumer(servers, "readers") as client:
        client.subscribe(topics)
        later = clients.values(clients.take(client, 2))
    assert sorted(later) == sorted(f"{topic}-later" for topic in topics)
