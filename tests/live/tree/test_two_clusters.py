"""A tree over two clusters: names, listings, records and admin requests of both."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayError, GatewayProcess
from tests.live.support import clients, java_tools

LEGAL = "..ny.tracking.search.."


def test_topics_of_both_clusters_are_made_and_listed(
    tree: GatewayProcess, la: KafkaCluster, ny: KafkaCluster
) -> None:
    servers = tree.bootstrap_servers("la")
    clients.create(servers, "here", ":ny:tracking:there", partitions=3)
    clients.await_stored(la, "here")
    clients.await_stored(ny, "there")
    assert "there" not in clients.listed(la.bootstrap_servers)
    assert "here" in clients.listed(servers)
    assert not any("there" in name for name in clients.listed(servers))
    assert "there" in clients.listed(tree.bootstrap_servers("ny"))


def test_a_gateway_that_mounts_neither_does_not_start(
    tree: GatewayProcess, la: KafkaCluster
) -> None:
    """The other gateways number la's broker 1 as 65537, this gateway would number it 1."""
    tree.bootstrap_servers("la")
    plain = GatewayProcess(la.bootstrap_servers, [Listener("plain", "all")], [])
    with pytest.raises(GatewayError, match="has number 1 in a tree"):
        plain.start()


@pytest.mark.parametrize("before", [":ny:tracking:search:", "/ny/tracking/search/", LEGAL])
def test_records_of_the_other_cluster(tree: GatewayProcess, ny: KafkaCluster, before: str) -> None:
    servers = tree.bootstrap_servers("la")
    short = {":": "colon", "/": "slash", ".": "legal"}[before[0]]
    name = before + short
    clients.create(servers, name)
    clients.await_stored(ny, f"search..{short}")
    clients.await_led(servers, name)  # otherwise some records are retried, after later ones
    sent = [f"{short}-{number}" for number in range(100)]
    clients.produce(servers, name, sent)
    assert clients.consume(servers, name, len(sent), f"g-{short}") == sent
    direct = clients.consume(ny.bootstrap_servers, f"search..{short}", len(sent), "direct")
    assert direct == sent


def test_one_idempotent_producer_writes_to_both(
    tree: GatewayProcess, la: KafkaCluster, ny: KafkaCluster
) -> None:
    servers = tree.bootstrap_servers("la")
    topics = ["sent-to-both", ":ny:tracking:sent-to-both"]
    clients.create(servers, *topics)
    producer = Producer(clients.settings(servers, enable_idempotence=True))
    for number in range(500):
        for topic in topics:
            producer.produce(topic, str(number))
    assert producer.flush(clients.SECONDS) == 0
    sent = [str(number) for number in range(500)]
    for cluster in (la, ny):
        assert clients.consume(cluster.bootstrap_servers, "sent-to-both", 500, "direct") == sent


def test_stock_java_tools_reach_both(tree: GatewayProcess, ny: KafkaCluster) -> None:
    servers = tree.bootstrap_servers("legal")
    name = "..ny.tracking.search..java"
    java_tools.topics(servers, "--create", "--topic", name, "--partitions", "2")
    clients.await_stored(ny, "search..java")
    java_tools.console_produce(servers, name, ["one", "two", "three"])
    assert sorted(java_tools.console_consume(servers, name, 3)) == ["one", "three", "two"]
    # TopicCommand looks a topic to delete up in the listing, which only has the listener's volume.
    java_tools.topics(tree.bootstrap_servers("ny"), "--delete", "--topic", "search:java")
    clients.await_gone(ny, "search..java")
