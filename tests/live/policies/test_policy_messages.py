"""Which policies apply, and where each is set.

Explain, topics --create --validate-only and Kafka's own tools show it.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from devkit import java
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients, java_tools, namespaces
from tests.live.support.fixtures import COLON, own_gateway

Names = Callable[[str], str]

POLICIES = {
    "everywhere": {"configs": {"forbidden": ["flush.ms", "flush.messages"]}},
    "namespaces": {"org": {"partitions": {"max": 3}, "producer": {"acks": "require"}}},
}
ROWS = [
    "policy limit mode source",
    "configs.forbidden flush.ms, flush.messages enforce policies.everywhere",
    "partitions.max 3 enforce policies.namespaces.org",
    "producer.acks require policies.namespaces.org",
    "producer.idempotence observe the default",
]
VALUE = (
    'gateway.policies=configs.forbidden="flush.ms, flush.messages" (policies.everywhere, enforce); '
    "partitions.max=3 (policies.namespaces.org, enforce); "
    "producer.acks=require (policies.namespaces.org); producer.idempotence=observe (the default) "
)


gateway = own_gateway(
    COLON, Listener("legal", "all", "legal"), namespaces=["org"], policies=POLICIES
)


def rows(printed: str) -> list[str]:
    """The output from the table of policies onwards, with single spaces between columns."""
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    return lines[lines.index(ROWS[0]) :]


@pytest.mark.parametrize("listener", ["colon", "legal"])
def test_validate_only(gateway: GatewayProcess, unique: Names, listener: str) -> None:
    address = gateway.bootstrap_servers(listener)
    stem = unique("told")
    name = f"org:{stem}" if listener == "colon" else f"org..{stem}"
    words = ["topics", "--bootstrap-server", address, "--create", "--validate-only"]
    asked = [*words, "--topic", name, "--config", "retention.ms=60000"]
    said = namespaces.attempt(*asked, "--partitions", "3")
    assert (said.status, said.err) == (0, "")
    assert said.out.splitlines()[:2] == [
        f"Topic {name} could be created.",
        "PartitionCount: 3\tReplicationFactor: 1",
    ]
    assert "retention.ms" in said.out
    assert "DYNAMIC_TOPIC_CONFIG" in said.out
    assert rows(said.out) == ROWS
    rejected = namespaces.attempt(*asked, "--partitions", "64")
    assert (rejected.status, rows(rejected.out)) == (1, ROWS)
    assert "has 64 partitions, and at most 3 are allowed here" in rejected.err
    assert "[POLICY_VIOLATION]" in rejected.err
    told = json.loads(namespaces.attempt(*asked, "--partitions", "64", "--json").out)
    assert (told["error"], len(told["policies"])) == ("POLICY_VIOLATION", 4)
    below = namespaces.attempt(*words, "--namespace", "org:new")
    assert (below.status, rows(below.out)) == (0, ROWS)


def test_explain(gateway: GatewayProcess) -> None:
    file = str(gateway.config_path)
    said = namespaces.attempt("explain", "--config", file, "--name", "org:any")
    assert said.status == 0
    assert [line.removesuffix(f" in {file}") for line in rows(said.out)] == ROWS


def test_kafka_s_tools(gateway: GatewayProcess, unique: Names) -> None:
    """kafka-configs shows policies among the defaults, kafka-topics not at all."""
    address = gateway.bootstrap_servers("legal")
    stored = f"org..{unique('told')}"
    java_tools.run(java.TOPICS, address, "--create", "--topic", stored)
    clients.await_known(clients.admin(address), stored)
    for name in ("org..", stored):
        words = ["--describe", "--entity-type", "topics", "--entity-name", name]
        assert VALUE in java_tools.run(java.CONFIGS, address, *words, "--all").stdout
        assert "gateway.policies" not in java_tools.run(java.CONFIGS, address, *words).stdout
    described = java_tools.run(java.TOPICS, address, "--describe", "--topic", stored).stdout
    assert "gateway." not in described
