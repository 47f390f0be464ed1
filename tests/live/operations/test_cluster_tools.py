"""Kafka's tools for operators through the gateway, beside the same tools at the broker.

An administrator reassigns partitions, elects leaders, reads the quorum and the features; a home's
clients see the reassignments of the home's topics, and nothing of the rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devkit.broker import KafkaCluster
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients, java_tools
from tests.live.support.wire import Wire

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
ELECT = "org.apache.kafka.tools.LeaderElectionCommand"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"

LISTENERS = (
    Listener("colon", "for administrators"),
    Listener("home", "team-a is home", home="team-a"),
    Listener("other", "team-b is home", home="team-b"),
)
ORDERS, FLAT = "team-a:orders", "team-a..orders"
BATCH, BATCHES = "x" * 100_000, 30
"""More than a follower gets by one Fetch, which no throttle holds back."""


@pytest.fixture(scope="module")
def brokers() -> Iterator[KafkaCluster]:
    """Two brokers: partitions move between them."""
    with KafkaCluster(nodes=2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def served(brokers: KafkaCluster) -> Iterator[GatewayProcess]:
    with GatewayProcess(brokers.bootstrap_servers, LISTENERS, ("team-a", "team-b")) as process:
        clients.create(process.bootstrap_servers("colon"), ORDERS, replicas=1)
        clients.await_stored(brokers, FLAT)
        clients.await_led(process.bootstrap_servers("colon"), ORDERS)
        yield process


@pytest.fixture
def admin(served: GatewayProcess) -> str:
    return served.bootstrap_servers("colon")


@pytest.fixture
def home(served: GatewayProcess) -> str:
    return served.bootstrap_servers("home")


def reassign(servers: str, *args: str) -> str:
    return java_tools.run(REASSIGN, servers, *args).stdout


def plan(path: Path, topic: str, *replicas: int) -> str:
    """A file that says where partition 0 of a topic is to be."""
    partition = {"topic": topic, "partition": 0, "replicas": replicas}
    path.write_text(json.dumps({"version": 1, "partitions": [partition]}))
    return str(path)


def replicas_of(servers: str, topic: str) -> tuple[int, ...]:
    """The replicas of partition 0, as Metadata shows them."""
    with Wire(clients.any_broker(servers)) as wire:
        (found,) = wire.ask("Metadata", 9, topics=[{"name": topic}]).topics
    return tuple(found.partitions[0].replica_nodes)


def listed(servers: str, topics: Any = None) -> dict[str, tuple[int, ...]]:
    """The replicas of reassignments of partition 0, by topic."""
    with Wire(clients.any_broker(servers)) as wire:
        found = wire.ask("ListPartitionReassignments", 0, topics=topics)
    assert found.error_code == 0
    return {topic.name: tuple(topic.partitions[0].replicas) for topic in found.topics}


def test_kafka_reassign_partitions(
    admin: str, brokers: KafkaCluster, served: GatewayProcess, tmp_path: Path
) -> None:
    """generate, execute and verify, with names with colons."""
    topics = tmp_path / "topics.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": ORDERS}]}))
    wanted = ["--topics-to-move-json-file", str(topics), "--broker-list", "1,2"]
    generated = reassign(admin, "--generate", *wanted)
    assert '"topic":"team-a:orders"' in generated
    assert FLAT not in generated
    (now,) = replicas_of(admin, ORDERS)
    moved = plan(tmp_path / "plan.json", ORDERS, 3 - now)
    begun = reassign(admin, "--execute", "--reassignment-json-file", moved)
    assert "Successfully started partition reassignment for team-a:orders-0" in begun

    def done() -> bool:
        verify = ["--verify", "--preserve-throttles", "--reassignment-json-file", moved]
        return "Reassignment of partition team-a:orders-0 is completed." in reassign(admin, *verify)

    wait_until(done, "the reassignment", clients.SECONDS)
    assert replicas_of(brokers.bootstrap_servers, FLAT) == (3 - now,)


@pytest.fixture
def held(admin: str, brokers: KafkaCluster) -> Iterator[str]:
    """A topic of team-a of which replicas are copied at a byte a second."""
    flat = "team-a..held"
    clients.create(admin, "team-a:held", replicas=1)
    clients.await_stored(brokers, flat)
    clients.await_led(admin, "team-a:held")
    clients.produce(admin, "team-a:held", [BATCH] * BATCHES)
    rates = [f"{side}.replication.throttled.rate" for side in ("leader", "follower")]
    of_topic = [f"{side}.replication.throttled.replicas" for side in ("leader", "follower")]
    alter(brokers, "topics", flat, "--add-config", ",".join(f"{each}=*" for each in of_topic))
    nodes = ("1", "2")
    for node in nodes:
        alter(brokers, "brokers", node, "--add-config", ",".join(f"{each}=1" for each in rates))
    yield "team-a:held"
    for node in nodes:
        alter(brokers, "brokers", node, "--delete-config", ",".join(rates))


def alter(brokers: KafkaCluster, kind: str, name: str, *change: str) -> None:
    direct = brokers.bootstrap_servers
    java_tools.configs(direct, "--alter", "--entity-type", kind, "--entity-name", name, *change)


def test_a_reassignment_is_listed_and_cancelled(
    admin: str, home: str, held: str, served: GatewayProcess, tmp_path: Path
) -> None:
    before = replicas_of(admin, held)
    both = (*before, 3 - before[0])
    reassign(
        admin, "--execute", "--reassignment-json-file", plan(tmp_path / "both.json", held, *both)
    )
    assert listed(admin) == {held: both}
    assert listed(home) == {"held": both}
    assert listed(served.bootstrap_servers("other")) == {}
    assert listed(home, [{"name": "held", "partition_indexes": [0, 1]}]) == {"held": both}
    assert listed(admin, [{"name": held, "partition_indexes": [1]}]) == {}
    assert f"held-0: replicas: {both[0]},{both[1]}. adding: {both[1]}." in reassign(home, "--list")
    back = plan(tmp_path / "back.json", "held", *before)
    ended = ["--cancel", "--preserve-throttles", "--reassignment-json-file"]
    denied = java_tools.attempt(REASSIGN, home, *ended, back)
    assert denied.returncode != 0
    assert listed(home) == {"held": both}
    assert f"{held}-0" in reassign(admin, *ended, plan(tmp_path / "back.json", held, *before))
    assert listed(admin) == {}
    assert replicas_of(admin, held) == before


def test_kafka_leader_election(admin: str, home: str) -> None:
    args = ["--election-type", "preferred"]
    one = [*args, "--topic", ORDERS, "--partition", "0"]
    assert "Valid replica already elected" in java_tools.run(ELECT, admin, *one).stdout
    java_tools.run(ELECT, admin, *args, "--all-topic-partitions")
    for asked in (
        [*args, "--topic", "orders", "--partition", "0"],
        [*args, "--all-topic-partitions"],
    ):
        denied = java_tools.attempt(ELECT, home, *asked)
        assert denied.returncode != 0
        assert "Not authorized to perform leader election" in denied.stdout + denied.stderr


def test_kafka_metadata_quorum(admin: str, home: str, brokers: KafkaCluster) -> None:
    """Voters have no endpoints; all else is as at the broker."""
    direct = clients.any_broker(brokers.bootstrap_servers)
    found, expected = (
        java_tools.run(QUORUM, each, "describe", "--status").stdout for each in (admin, direct)
    )
    assert '"endpoints"' in expected
    assert "endpoints" not in found
    assert "127.0.0.1" not in found
    for line in ("ClusterId", "LeaderId", "LeaderEpoch", "CurrentObservers"):
        (one,) = (each for each in found.splitlines() if each.startswith(line))
        assert one in expected.splitlines()
    assert 'CurrentVoters:          [{"id": 1}]' in found
    replicated = java_tools.run(QUORUM, admin, "describe", "--replication").lines
    assert [row.split()[0] for row in replicated[1:]] == ["1", "2"]
    denied = java_tools.attempt(QUORUM, home, "describe", "--status")
    assert denied.returncode != 0
    assert "ClusterAuthorizationException" in denied.stdout + denied.stderr


def test_kafka_features(admin: str, home: str, brokers: KafkaCluster) -> None:
    direct = brokers.bootstrap_servers
    described = (java_tools.run(FEATURES, each, "describe").lines for each in (admin, direct))
    # The epoch is the offset of the cluster's metadata, which grows meanwhile.
    found, expected = ([re.sub(r"Epoch: \d+", "", line) for line in each] for each in described)
    assert found == expected
    assert expected
    upgrade = ["upgrade", "--feature", "group.version=1", "--dry-run"]
    assert "group.version can be upgraded to 1." in java_tools.run(FEATURES, admin, *upgrade).stdout
    wrong = ["upgrade", "--feature", "no.such=1"]
    told = [java_tools.attempt(FEATURES, each, *wrong) for each in (admin, direct)]
    assert told[0] == told[1]
    denied = java_tools.attempt(FEATURES, home, *upgrade)
    assert denied.returncode != 0
    assert "a home namespace is in force" in denied.stdout + denied.stderr


def test_listings_of_kafka_configs(
    admin: str, home: str, served: GatewayProcess, brokers: KafkaCluster
) -> None:
    """Groups that have configs; ``test_client_metrics`` has subscriptions of client metrics."""
    setting = "consumer.session.timeout.ms=50000"
    java_tools.configs(
        home, "--alter", "--entity-type", "groups", "--entity-name", "app", "--add-config", setting
    )
    direct = brokers.bootstrap_servers
    shown = {"colon": "team-a..app", "home": "app"}

    def are_there() -> bool:
        listing = java_tools.configs(direct, "--describe", "--entity-type", "groups").stdout
        return "team-a..app" in listing

    wait_until(are_there, "the config of the group", clients.SECONDS)
    for listener, group in shown.items():
        servers = served.bootstrap_servers(listener)
        found = java_tools.configs(servers, "--describe", "--entity-type", "groups").stdout
        assert f"Dynamic configs for group {group} are:" in found
        assert setting in found
    other = served.bootstrap_servers("other")
    assert "app" not in java_tools.configs(other, "--describe", "--entity-type", "groups").stdout
    resources = {
        4: {"1", "2"},
        8: {"1", "2"},
        2: java_tools.list_topics(admin),
        32: {"team-a..app"},
        16: set(),
    }
    for kind, names in resources.items():
        assert config_resources(admin, kind) == {(kind, name) for name in names}
    assert config_resources(home) == {
        *((kind, node) for kind in (4, 8) for node in "12"),
        *((2, topic) for topic in java_tools.list_topics(home)),
        (32, "app"),
    }


def config_resources(servers: str, *kinds: int) -> set[tuple[int, str]]:
    with Wire(clients.any_broker(servers)) as wire:
        found = wire.ask("ListConfigResources", 1, resource_types=list(kinds)).config_resources
    assert len(found) == len({*found})
    return {(each.resource_type, each.resource_name) for each in found}
