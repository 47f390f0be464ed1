"""A single admin request that names topics or groups of two clusters."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import TopicCollection
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic
from kafka.admin import KafkaAdminClient
from kafka.admin import NewTopic as PythonTopic

from devkit import java
from devkit.broker import KafkaCluster
from devkit.broker_security import ANONYMOUS
from devkit.gateway_config import MountedCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import clients, java_tools, namespaces
from tests.live.tree.conftest import LISTENERS, mounted
from tests.live.tree.volumes import LA, NY

SECONDS = clients.SECONDS
UNKNOWN_TOPIC, TOPIC_ALREADY_EXISTS, INVALID_PARTITIONS, INVALID_CONFIG = 3, 36, 37, 40
ANY_HOST: Any = None
BEFORE = ":ny:tracking:search:"


@pytest.fixture(scope="module")
def gateway(la: KafkaCluster, ny: KafkaCluster) -> Iterator[GatewayProcess]:
    """A gateway where all users are super users in both volumes, and ACLs can be stored."""
    own = {LA: ("la", "slash", "legal"), NY: ("ny",)}
    clusters = []
    for each in mounted(la, ny):
        (others,) = (names for mount, names in own.items() if mount != each.mount)
        trust = {"trust": [{"listener": name} for name in others]}
        settings = {**each.settings, **trust}
        clusters.append(MountedCluster(each.mount, each.number, each.brokers, settings))
    overrides = {"authorization": {"super.users": [ANONYMOUS]}}
    with GatewayProcess(clusters, LISTENERS, [], overrides=overrides) as process:
        yield process


@pytest.fixture(scope="module")
def servers(gateway: GatewayProcess) -> str:
    return gateway.bootstrap_servers("la")


@pytest.fixture(scope="module")
def legal(gateway: GatewayProcess) -> str:
    return gateway.bootstrap_servers("legal")


def test_topics_are_created_grown_and_deleted(
    servers: str, la: KafkaCluster, ny: KafkaCluster
) -> None:
    admin = clients.admin(servers)
    topics = ["admin1", f"{BEFORE}admin1", "admin2", f"{BEFORE}admin2"]
    clients.create(servers, *topics)
    again = admin.create_topics(
        [NewTopic(each, 1) for each in (*topics[:2], "admin3", f"{BEFORE}admin3")]
    )
    assert clients.error_code(again["admin1"]) == TOPIC_ALREADY_EXISTS
    assert clients.error_code(again[f"{BEFORE}admin1"]) == TOPIC_ALREADY_EXISTS
    assert again["admin3"].exception(SECONDS) is None
    assert again[f"{BEFORE}admin3"].exception(SECONDS) is None
    clients.await_stored(la, "admin1", "admin2", "admin3")
    clients.await_stored(ny, *(f"search..admin{number}" for number in (1, 2, 3)))

    counts = {"admin1": 3, f"{BEFORE}admin1": 1, f"{BEFORE}admin2": 4, "admin-none": 2}
    grown = admin.create_partitions([NewPartitions(name, count) for name, count in counts.items()])
    assert grown["admin1"].exception(SECONDS) is None
    assert grown[f"{BEFORE}admin2"].exception(SECONDS) is None
    assert clients.error_code(grown[f"{BEFORE}admin1"]) == INVALID_PARTITIONS
    assert clients.error_code(grown["admin-none"]) == UNKNOWN_TOPIC

    clients.await_led(servers, *topics)
    clients.await_partitions(la, "admin1", 3)
    clients.await_partitions(ny, "search..admin2", 4)
    wanted = [*topics, f"{BEFORE}none"]

    def described() -> dict[str, Future[Any]] | None:
        # A cluster may take longer than the half second for which the gateway waits.
        told = admin.describe_topics(TopicCollection(wanted))
        failed = (future.exception(SECONDS) for future in told.values())
        late = any("LEADER_NOT_AVAILABLE" in str(error) for error in failed)
        return None if late else told

    found = wait_until(described, "answers of both clusters", SECONDS)
    assert found is not None
    partitions = {name: len(found[name].result(SECONDS).partitions) for name in topics}
    assert partitions == dict(zip(topics, (3, 1, 1, 4), strict=True))
    assert clients.error_code(found[f"{BEFORE}none"]) == UNKNOWN_TOPIC

    deleted = {**admin.delete_topics([*topics, f"{BEFORE}none", "admin3", f"{BEFORE}admin3"])}
    assert clients.error_code(deleted.pop(f"{BEFORE}none")) == UNKNOWN_TOPIC
    assert set(clients.done(deleted)) == {*topics, "admin3", f"{BEFORE}admin3"}
    clients.await_gone(la, "admin1", "admin2", "admin3")
    clients.await_gone(ny, *(f"search..admin{number}" for number in (1, 2, 3)))


def test_configs_are_described_and_altered(
    servers: str, la: KafkaCluster, ny: KafkaCluster
) -> None:
    topics = ["configs", f"{BEFORE}configs"]
    clients.create(servers, *topics)
    clients.await_led(servers, *topics)
    admin = clients.admin(servers)

    def entry(name: str, key: str, value: str) -> ConfigResource:
        change = ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        return ConfigResource(ResourceType.TOPIC, name, incremental_configs=[change])

    changes = [
        entry("configs", "retention.ms", "1000001"),
        entry(f"{BEFORE}configs", "retention.ms", "1000002"),
        entry(f"{BEFORE}none", "retention.ms", "1"),
    ]
    altered = {
        each.name: future for each, future in admin.incremental_alter_configs(changes).items()
    }
    assert altered["configs"].exception(SECONDS) is None
    assert altered[f"{BEFORE}configs"].exception(SECONDS) is None
    assert clients.error_code(altered[f"{BEFORE}none"]) == UNKNOWN_TOPIC
    bad = admin.incremental_alter_configs(
        [
            entry("configs", "retention.ms", "none"),
            entry(f"{BEFORE}configs", "cleanup.policy", "compact"),
        ]
    )
    outcomes = {each.name: future for each, future in bad.items()}
    assert clients.error_code(outcomes["configs"]) == INVALID_CONFIG
    assert outcomes[f"{BEFORE}configs"].exception(SECONDS) is None
    namespaces.await_value(la, "configs", "retention.ms", "1000001")
    namespaces.await_value(ny, "search..configs", "cleanup.policy", "compact")

    resources = [ConfigResource(ResourceType.TOPIC, name) for name in (*topics, f"{BEFORE}none")]
    told = {each.name: future for each, future in admin.describe_configs(resources).items()}
    assert told["configs"].result(SECONDS)["retention.ms"].value == "1000001"
    assert told[f"{BEFORE}configs"].result(SECONDS)["retention.ms"].value == "1000002"
    assert told[f"{BEFORE}configs"].result(SECONDS)["cleanup.policy"].value == "compact"
    assert clients.error_code(told[f"{BEFORE}none"]) == UNKNOWN_TOPIC

    whole = [
        ConfigResource(ResourceType.TOPIC, name, set_config={"retention.ms": "1000003"})
        for name in topics
    ]
    with pytest.deprecated_call():
        outcomes_of_all = admin.alter_configs(whole)
    for future in outcomes_of_all.values():
        assert future.exception(SECONDS) is None
    for cluster, flat in (la, "configs"), (ny, "search..configs"):
        namespaces.await_value(cluster, flat, "retention.ms", "1000003")
        direct = ConfigResource(ResourceType.TOPIC, flat)
        (future,) = clients.admin(cluster.bootstrap_servers).describe_configs([direct]).values()
        values = future.result(SECONDS)
        assert values["retention.ms"].value == "1000003"
        assert values["cleanup.policy"].value == "delete"


def _acl(name: str, principal: str = "User:ann") -> AclBinding:
    return AclBinding(
        ResourceType.TOPIC,
        name,
        ResourcePatternType.LITERAL,
        principal,
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )


def _filter(name: Any) -> AclBindingFilter:
    return AclBindingFilter(
        ResourceType.TOPIC,
        name,
        ResourcePatternType.LITERAL,
        "User:ann",
        ANY_HOST,
        AclOperation.ANY,
        AclPermissionType.ANY,
    )


def test_acls_of_both(servers: str) -> None:
    admin = clients.admin(servers)
    own, other = _acl("acl"), _acl(f"{BEFORE}acl")
    for future in admin.create_acls([own, other, _acl("acl2"), _acl(f"{BEFORE}acl2")]).values():
        assert future.exception(SECONDS) is None
    assert admin.describe_acls(_filter(f"{BEFORE}acl")).result(SECONDS) == [other]
    assert admin.describe_acls(_filter("acl")).result(SECONDS) == [own]
    listed = {each.name for each in admin.describe_acls(_filter(None)).result(SECONDS)}
    assert listed == {"acl", "acl2"}, "a filter without a name is of the listener's volume"

    gone = admin.delete_acls([_filter(f"{BEFORE}acl"), _filter("acl2"), _filter(f"{BEFORE}none")])
    deleted = {each.name: future.result(SECONDS) for each, future in gone.items()}
    assert deleted == {f"{BEFORE}acl": [other], "acl2": [_acl("acl2")], f"{BEFORE}none": []}
    assert admin.describe_acls(_filter(f"{BEFORE}acl")).result(SECONDS) == []
    left = admin.describe_acls(_filter(f"{BEFORE}acl2")).result(SECONDS)
    assert [each.name for each in left] == [f"{BEFORE}acl2"]


def test_javas_tools(
    gateway: GatewayProcess, legal: str, la: KafkaCluster, ny: KafkaCluster
) -> None:
    """If a tool looks a name up in the listing first, it needs a listener of the name's volume."""
    own, other = "tools", "..ny.tracking.search..tools"
    for name in own, other:
        java_tools.topics(legal, "--create", "--topic", name, "--partitions", "2")
    clients.await_stored(la, "tools")
    clients.await_stored(ny, "search..tools")
    entity = ["--entity-type", "topics", "--entity-name", other]
    java_tools.configs(legal, "--alter", *entity, "--add-config", "retention.ms=77777")
    namespaces.await_value(ny, "search..tools", "retention.ms", "77777")
    rule = [
        "--allow-principal",
        "User:joe",
        "--operation",
        "Read",
        "--topic",
        own,
        "--topic",
        other,
    ]
    java_tools.run(java.ACLS, legal, "--add", *rule)
    for name in own, other:
        shown = java_tools.run(java.ACLS, legal, "--list", "--topic", name).stdout
        assert "User:joe" in shown
        assert f"name={name}," in shown
    java_tools.run(java.ACLS, legal, "--remove", "--force", *rule)
    for name in own, other:
        assert "joe" not in java_tools.run(java.ACLS, legal, "--list", "--topic", name).stdout
    at_ny = gateway.bootstrap_servers("ny")
    java_tools.topics(at_ny, "--alter", "--topic", "search:tools", "--partitions", "3")
    clients.await_partitions(ny, "search..tools", 3)
    shown = java_tools.topics(at_ny, "--describe", "--topic", "search:tools").stdout
    assert "PartitionCount: 3" in shown
    java_tools.topics(at_ny, "--delete", "--topic", "search:tools")
    java_tools.topics(legal, "--delete", "--topic", own)
    clients.await_gone(la, "tools")
    clients.await_gone(ny, "search..tools")


def test_kafka_pythons_admin(legal: str, la: KafkaCluster, ny: KafkaCluster) -> None:
    own, other = "python", "..ny.tracking.search..python"
    client = KafkaAdminClient(bootstrap_servers=legal)
    try:
        client.create_topics([PythonTopic(own, 1, 1), PythonTopic(other, 2, 1)])
        clients.await_stored(la, "python")
        clients.await_stored(ny, "search..python")
        clients.await_led(legal, own, other)
        found = {each["name"]: each for each in client.describe_topics([own, other])}
        assert {name: len(each["partitions"]) for name, each in found.items()} == {own: 1, other: 2}
        client.delete_topics([own, other])
        clients.await_gone(la, "python")
        clients.await_gone(ny, "search..python")
    finally:
        client.close()
