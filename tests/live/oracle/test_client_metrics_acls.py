"""The rights to client metrics (KIP-714), beside a broker with StandardAuthorizer and a plugin.

The same user with the same ACLs gets the same error codes of both: for describing, altering and
listing subscriptions, and for following them, which needs no right.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final, NamedTuple
from uuid import uuid4

import pytest

from devkit import java
from devkit.broker import KafkaCluster
from devkit.broker_security import BrokerSecurity
from devkit.waiting import wait_until
from gateway.acl_model import (
    CLUSTER_NAME,
    AclBinding,
    AclEntry,
    Operation,
    PatternType,
    Permission,
    ResourcePattern,
    ResourceType,
)
from tests.live.support import authorized, clients, java_tools
from tests.live.support.wire import Wire

TYPE: Final = 16
USER: Final = "alice"
CLUSTER: Final = ResourcePattern(ResourceType.CLUSTER, PatternType.LITERAL, CLUSTER_NAME)
DENIED: Final = 31
"""CLUSTER_AUTHORIZATION_FAILED."""

EMPTY: Final = b"\x0a\x00"
"""A MetricsData of one empty ResourceMetrics."""


class Codes(NamedTuple):
    """The error codes that a user gets."""

    describes: int
    alters: int
    alters_all: int
    lists: int
    gets: int
    pushes: int


@pytest.fixture(scope="module")
def sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The addresses of the broker and of the gateway."""
    classes = java.compile_java(java_tools.SOURCES / "TelemetryReceiver.java")
    security = BrokerSecurity(
        plain_users=authorized.PASSWORDS, authorizer=True, super_users=authorized.SUPER_USERS
    )
    plugin = {"metric.reporters": "TelemetryReceiver"}
    listener = authorized.listener(tmp_path_factory.mktemp("secrets"))
    with (
        KafkaCluster(overrides=plugin, classes=classes, security=security) as broker,
        KafkaCluster() as plain,  # the ACLs of this catalog are those of the cluster
        authorized.gateway(plain.bootstrap_servers, listener) as gateway,
    ):
        ours = gateway.bootstrap_servers(authorized.USERS_LISTENER)
        found = broker.servers("SASL_PLAINTEXT"), ours
        for address in found:
            with Wire(address) as wire:
                authorized.prove(wire, authorized.ADMIN)
                assert altered(wire, "all", "5000") == 0
                wait_until(partial(_is_there, wire), "the subscription", clients.SECONDS)
        yield found


def altered(wire: Wire, name: str, interval: str | None) -> int:
    """The code of setting the interval, or of deleting it."""
    config = {"name": "interval.ms", "value": interval, "config_operation": int(interval is None)}
    resource = {"resource_type": TYPE, "resource_name": name, "configs": [config]}
    (found,) = wire.ask("IncrementalAlterConfigs", 1, resources=[resource]).responses
    return int(found.error_code)


def _is_there(wire: Wire) -> bool:
    found = wire.ask("ListConfigResources", 1, resource_types=[TYPE])
    return any(one.resource_name == "all" for one in found.config_resources)


def codes(address: str) -> Codes:
    """What the user gets of a side."""
    with Wire(address) as wire:
        authorized.prove(wire, USER)
        resource: dict[str, Any] = {"resource_type": TYPE, "resource_name": "all"}
        described = wire.ask(
            "DescribeConfigs", 4, resources=[{**resource, "configuration_keys": None}]
        )
        values = [{"name": "interval.ms", "value": "5000"}]
        alters_all = wire.ask("AlterConfigs", 2, resources=[{**resource, "configs": values}])
        listed = wire.ask("ListConfigResources", 1, resource_types=[TYPE])
        got = wire.ask("GetTelemetrySubscriptions", 0, client_instance_id=uuid4())
        pushed = wire.ask(
            "PushTelemetry",
            0,
            client_instance_id=got.client_instance_id,
            subscription_id=got.subscription_id,
            metrics=EMPTY,
        )
        return Codes(
            int(described.results[0].error_code),
            altered(wire, "all", "5000"),
            int(alters_all.responses[0].error_code),
            int(listed.error_code),
            int(got.error_code),
            int(pushed.error_code),
        )


RIGHTS: Final = {
    None: Codes(DENIED, DENIED, DENIED, DENIED, 0, 0),
    Operation.DESCRIBE: Codes(DENIED, DENIED, DENIED, DENIED, 0, 0),
    Operation.ALTER: Codes(DENIED, DENIED, DENIED, DENIED, 0, 0),
    Operation.DESCRIBE_CONFIGS: Codes(0, DENIED, DENIED, 0, 0, 0),
    Operation.ALTER_CONFIGS: Codes(0, 0, 0, 0, 0, 0),
}
"""By the operation on the cluster that the user is allowed."""


@pytest.mark.parametrize("operation", RIGHTS)
def test_rights_are_a_brokers(sides: tuple[str, str], operation: Operation | None) -> None:
    acls = []
    if operation is not None:
        entry = AclEntry(f"User:{USER}", "*", operation, Permission.ALLOW)
        acls.append(AclBinding(CLUSTER, entry))
    for address in sides:
        authorized.delete_acls(address)
        authorized.add_acls(address, acls)
    for address in sides:  # a broker applies ACLs after it has answered

        def is_so(address: str = address) -> bool:
            return codes(address) == RIGHTS[operation]

        wait_until(is_so, f"{RIGHTS[operation]} of {address}", clients.SECONDS)
