"""Configs of brokers and groups of two clusters, by virtual node ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from confluent_kafka.admin import ConfigResource, ResourceType

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.support.wire import Wire

BROKER, LOGGER, GROUP = 4, 8, 32
INVALID_REQUEST = 42
OF_LA, OF_NY = 1 << 16 | 1, 2 << 16 | 1


@pytest.fixture(scope="module")
def nodes(tree: GatewayProcess) -> Mapping[int, str]:
    """The gateway's address for each broker that Metadata lists."""
    metadata = clients.admin(tree.bootstrap_servers("la")).list_topics(timeout=clients.SECONDS)
    assert {OF_LA, OF_NY} == {*metadata.brokers}
    return {node_id: f"{one.host}:{one.port}" for node_id, one in metadata.brokers.items()}


def described(wire: Wire, *resources: tuple[int, str]) -> list[Any]:
    named = [{"resource_type": kind, "resource_name": name} for kind, name in resources]
    asked = [{**one, "configuration_keys": None} for one in named]
    results: list[Any] = list(wire.ask("DescribeConfigs", 4, resources=asked).results)
    assert [(one.resource_type, one.resource_name) for one in results] == [*resources]
    return results


def test_an_admin_client_describes_every_broker(tree: GatewayProcess) -> None:
    for listener in ("la", "ny"):
        admin = clients.admin(tree.bootstrap_servers(listener))
        for node_id in (OF_LA, OF_NY):
            resource = ConfigResource(ResourceType.BROKER, str(node_id))
            (future,) = admin.describe_configs([resource]).values()
            found = future.result(timeout=clients.SECONDS)
            assert found["node.id"].value == str(node_id)
            assert found["log.dirs"].value is None


@pytest.mark.parametrize(("own", "other"), [(OF_LA, OF_NY), (OF_NY, OF_LA)])
@pytest.mark.parametrize("kind", [BROKER, LOGGER])
def test_a_broker_answers_for_itself_alone(
    nodes: Mapping[int, str], la: KafkaCluster, kind: int, own: int, other: int
) -> None:
    """An id of the other cluster, or a broker's own id, is not this node's."""
    with Wire(la.bootstrap_servers) as wire:
        (kafkas,) = described(wire, (kind, "99"))
    with Wire(nodes[own]) as wire:
        found = described(wire, *((kind, str(each)) for each in (own, other, 1, own + 1)))
    assert [int(one.error_code) for one in found] == [0, *[INVALID_REQUEST] * 3]
    assert found[0].configs
    assert not any(one.configs for one in found[1:])
    for one in found[1:]:
        expected = kafkas.error_message.replace("expected 1", f"expected {own}")
        assert one.error_message == expected.replace("99", one.resource_name)


@pytest.mark.parametrize("node_id", [OF_LA, OF_NY])
def test_groups_of_both_clusters_at_each_node(
    nodes: Mapping[int, str], la: KafkaCluster, ny: KafkaCluster, node_id: int
) -> None:
    timeouts = {"configs-la": f"{50_000 + node_id % 7}", "configs-ny": f"{51_000 + node_id % 7}"}
    config = "consumer.session.timeout.ms"
    names = {"configs-la": "configs-la", "configs-ny": ":ny:tracking:configs-ny"}
    with Wire(nodes[node_id]) as wire:
        resources = [
            {
                "resource_type": GROUP,
                "resource_name": names[own],
                "configs": [{"name": config, "value": timeout, "config_operation": 0}],
            }
            for own, timeout in timeouts.items()
        ]
        answer = wire.ask("IncrementalAlterConfigs", 1, resources=resources, validate_only=False)
        assert [int(one.error_code) for one in answer.responses] == [0, 0]

        def values(at: Wire, *groups: str) -> list[str]:
            results = described(at, *((GROUP, group) for group in groups))
            return [c.value for one in results for c in one.configs if c.name == config]

        wanted = [*timeouts.values()]
        wait_until(lambda: values(wire, *names.values()) == wanted, "configs", clients.SECONDS)
    for (own, timeout), cluster in zip(timeouts.items(), (la, ny), strict=True):
        with Wire(cluster.bootstrap_servers) as direct:
            assert values(direct, own) == [timeout]
