"""Client metrics (KIP-714) in a tree: every node of a listener asks for what the listener's volume
is subscribed to."""

from __future__ import annotations

from functools import partial
from typing import Any, Final
from uuid import uuid4

from prometheus_client.parser import text_string_to_metric_families

from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients, java_tools
from tests.live.support.wire import Wire
from tests.live.tree.volumes import LA
from tests.telemetry.payloads import gauge, point, pushed

CLIENT_METRICS: Final = "org.apache.kafka.tools.ClientMetricsCommand"
NAME: Final = "of-the-tree"


def nodes(servers: str) -> dict[int, str]:
    """A node's address of each cluster, by the cluster's number."""
    brokers = clients.admin(servers).list_topics(timeout=clients.SECONDS).brokers
    return {node >> 16: f"{each.host}:{each.port}" for node, each in brokers.items()}


def got(address: str) -> Any:
    with Wire(address) as wire:
        return wire.ask("GetTelemetrySubscriptions", 0, client_instance_id=uuid4())


def is_told(address: str) -> bool:
    """Whether a node asks for metrics: another worker may have made the subscription."""
    return bool(got(address).requested_metrics)


def test_what_the_listeners_volume_is_subscribed_to(tree: GatewayProcess) -> None:
    servers = tree.bootstrap_servers("la")
    change = ("--metrics", "*", "--interval", "60000", "--match", "client_id=wire")
    java_tools.run(CLIENT_METRICS, servers, "--alter", "--name", NAME, *change)
    try:
        found = nodes(servers)
        assert found.keys() == {1, 2}
        told = {}
        for number, address in found.items():
            wait_until(partial(is_told, address), address, clients.SECONDS)
            with Wire(address) as wire:
                told[number] = wire.ask("GetTelemetrySubscriptions", 0, client_instance_id=uuid4())
                kept = wire.ask(
                    "PushTelemetry",
                    0,
                    client_instance_id=told[number].client_instance_id,
                    subscription_id=told[number].subscription_id,
                    metrics=pushed(gauge("org.apache.kafka.test.node", point(float(number)))),
                )
                assert kept.error_code == 0
        assert {one.requested_metrics for one in told.values()} == {("*",)}

        status, text = tree.get("/metrics/clients")
        assert status == 200
        samples = [
            sample
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.name == "kafka_client_test_node"
        ]
        assert {sample.value for sample in samples} == {1.0, 2.0}
        assert {sample.labels["listener"] for sample in samples} == {"la"}
        assert {sample.labels["namespace"] for sample in samples} == {LA}

        for address in nodes(tree.bootstrap_servers("ny")).values():
            assert got(address).requested_metrics == ()
    finally:
        java_tools.run(CLIENT_METRICS, servers, "--delete", "--name", NAME)
