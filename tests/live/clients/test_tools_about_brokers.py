"""Kafka's tools about brokers: what they serve, where they are, and what is not for clients."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from devkit.broker import KafkaCluster
from tests.live.support import clients, java_tools

Names = Callable[[str], str]

TOOLS: Final = "org.apache.kafka.tools"
API_VERSIONS = f"{TOOLS}.BrokerApiVersionsCommand"
COMPATIBILITY = f"{TOOLS}.ClientCompatibilityTest"
CLUSTER = f"{TOOLS}.ClusterTool"
DELEGATION_TOKENS = f"{TOOLS}.DelegationTokenCommand"

NOT_SERVED: Final = {
    "AlterReplicaLogDirs",
    "CreateDelegationToken",
    "RenewDelegationToken",
    "ExpireDelegationToken",
    "DescribeDelegationToken",
    "AlterClientQuotas",
    "UnregisterBroker",
    "AddRaftVoter",
    "RemoveRaftVoter",
    "InitializeShareGroupState",
    "ReadShareGroupState",
    "WriteShareGroupState",
    "DeleteShareGroupState",
    "ReadShareGroupStateSummary",
}
"""APIs of a broker that the gateway does not serve: docs/apis.md says of each why."""


def apis(servers: str) -> dict[str, tuple[int, int]]:
    """The versions of each API that a broker serves and the tool knows, by the API's name."""
    printed = java_tools.run(API_VERSIONS, servers).stdout
    rows = re.findall(r"^\s+(\w+)\(\d+\): (\d+)(?: to (\d+))? \[usable: \d+\]", printed, re.M)
    return {name: (int(low), int(high or low)) for name, low, high in rows}


def test_kafka_broker_api_versions(home_a: str, kafka: KafkaCluster) -> None:
    """All versions that the gateway serves are a broker's."""
    served, broker = apis(home_a), apis(kafka.bootstrap_servers)
    assert broker.keys() - served.keys() == NOT_SERVED
    # Answered by the gateway itself; a broker serves them with a metrics reporter (KIP-714).
    assert served.keys() - broker.keys() == {"GetTelemetrySubscriptions", "PushTelemetry"}
    both = served.keys() & broker.keys()
    assert all(served[name][1] <= broker[name][1] for name in both)
    # Kafka 4 has dropped versions 0 and 1, which the gateway translates.
    assert {name for name in both if served[name][0] < broker[name][0]} == {"CreateTopics"}
    assert served["Produce"] == broker["Produce"]


def test_kafka_cluster(home_a: str, kafka: KafkaCluster) -> None:
    """The cluster's id is the brokers' own; its endpoints are the gateway's."""
    found, direct = (
        java_tools.server().run(CLUSTER, ["cluster-id", "--bootstrap-server", servers])
        for servers in (home_a, kafka.bootstrap_servers)
    )
    assert found.stdout.startswith("Cluster ID: ")
    assert found.stdout == direct.stdout
    told = java_tools.server().run(CLUSTER, ["list-endpoints", "--bootstrap-server", home_a])
    (row,) = [line.split() for line in told.lines if line[0].isdigit()]
    (broker,) = clients.admin(home_a).list_topics(timeout=clients.SECONDS).brokers.values()
    assert row[:3] == [str(broker.id), broker.host, str(broker.port)]
    rejected = java_tools.server().run(
        CLUSTER, ["unregister", "--bootstrap-server", home_a, "--id", "99"]
    )
    assert "does not support the broker unregistration API" in rejected.stdout


def test_kafka_delegation_tokens(home_a: str, tmp_path: Path) -> None:
    """Tokens belong to principals of the brokers, so these APIs are not served."""
    config = tmp_path / "client.properties"
    config.write_text("")
    for action in (["--describe"], ["--create", "--max-life-time-period", "-1"]):
        ended = java_tools.attempt(
            DELEGATION_TOKENS, home_a, *action, "--command-config", str(config)
        )
        assert ended.returncode == 1
        assert "UnsupportedVersionException" in ended.stdout + ended.stderr


def test_kafkas_own_compatibility_test(home_a: str, kafka: KafkaCluster, unique: Names) -> None:
    """The program by which Kafka's system tests find whether a cluster has what clients expect."""
    topic = unique("compatible")
    expected = {
        "offsets-for-times-supported": True,
        "cluster-id-supported": True,
        "expect-record-too-large-exception": False,
        "create-topics-supported": True,
        "describe-configs-supported": True,
        "idempotent-producer-supported": True,
        "describe-acls-supported": True,  # rejected, as at a broker without an authorizer
    }
    options = [word for name, value in expected.items() for word in (f"--{name}", str(value))]
    ended = []
    for servers in (home_a, kafka.bootstrap_servers):
        clients.create(servers, topic)
        clients.await_led(servers, topic)
        asked = ["--topic", topic, "--num-cluster-nodes", "1", *options]
        ended.append(java_tools.attempt(COMPATIBILITY, servers, *asked))
    assert [each.returncode for each in ended] == [0, 0], ended
