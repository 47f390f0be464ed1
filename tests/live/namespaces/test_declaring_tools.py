"""Tools that hold a cluster to a declaration, and topics of namespaces.

Strimzi's Topic Operator deletes configs that it did not set, and Terraform's providers report
configs that they did not declare. Their effect on the topic is compared with the same at a broker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from gateway.acl_model import AclBinding, AclEntry, Operation, Permission, pattern_of
from tests.live.namespaces.test_config_tools import described, dynamic, reconcile, replace
from tests.live.support import authorized, clients, namespaces
from tests.live.support.fixtures import own_gateway, own_kafka
from tests.live.support.namespaces import describe

Names = Callable[[str], str]

DECLARED = {"segment.ms": "600000", "cleanup.policy": "compact"}
INHERITED = {"retention.ms": "3600000", "max.message.bytes": "123456"}

kafka = own_kafka()
gateway = own_gateway()


@pytest.fixture(scope="module", autouse=True)
def _format(gateway: GatewayProcess) -> None:
    """Allow links in the catalog, which is irreversible: hence a cluster of this file's own."""
    config = str(gateway.config_path)
    namespaces.command("catalog", "upgrade", "--format", "3", "--config", config)


def own(servers: str, name: str) -> dict[str, str]:
    """The configs that are set on a topic, which Terraform's providers compare with a
    declaration."""
    entries = described(servers, name)
    return {key: entries[key].value or "" for key in dynamic(entries)}


@pytest.fixture(params=["created", "moved", "moved with an alias", "adopted", "linked"])
def topic(request: pytest.FixtureRequest, colon: str, kafka: KafkaCluster, unique: Names) -> str:
    """A topic with configs of its own, in a namespace with configs, beside another topic."""
    root, name = unique("org"), unique("orders")
    namespaces.create(colon, f"{root}:", configs=INHERITED)
    namespaces.create_topic(colon, kafka, f"{root}:other")
    run = ["topics", "--bootstrap-server", colon]
    match request.param:
        case "created":
            namespaces.create_topic(colon, kafka, f"{root}:{name}", DECLARED)
        case "adopted":
            namespaces.create_topic(colon, kafka, name, DECLARED)
            namespaces.command(*run, "--adopt", "--topic", name, "--to-namespace", root)
        case "linked":
            namespaces.create_topic(colon, kafka, f"{root}:{name}", DECLARED)
            namespaces.create(colon, f"{root}-2:")
            link = ["--link", "--topic", f"{root}:{name}", "--to-namespace", f"{root}-2"]
            namespaces.command(*run, *link)
        case how:
            namespaces.create(colon, f"{root}-1:", configs={"segment.bytes": "2000000"})
            namespaces.create_topic(colon, kafka, f"{root}-1:{name}", DECLARED)
            move = ["--move", "--topic", f"{root}-1:{name}", "--to-namespace", root]
            alias = ["--alias-until", "2090-01-01"] if "alias" in how else []
            namespaces.command(*run, *move, *alias)
    return f"{root}:{name}"


@pytest.fixture
def twin(kafka: KafkaCluster, unique: Names) -> Iterator[tuple[str, str]]:
    """A topic of the broker's with the same configs, and its address."""
    name = unique("twin")
    namespaces.create(kafka.bootstrap_servers, name, configs=DECLARED)
    clients.await_stored(kafka, name)
    yield kafka.bootstrap_servers, name
    namespaces.delete(kafka.bootstrap_servers, name)


def test_a_topic_operator_changes_nothing_of_the_namespace(
    colon: str, topic: str, twin: tuple[str, str]
) -> None:
    root = topic.rpartition(":")[0]
    before = describe(colon, f"{root}:"), describe(colon, f"{root}:other")
    gateways = {key: one for key, one in describe(colon, topic).items() if key[:8] == "gateway."}
    for spec in ({"segment.ms": "600000"}, {"segment.ms": "600000"}, {}, {}, DECLARED):
        done = reconcile(colon, topic, spec)
        assert done == reconcile(*twin, spec)
        assert own(colon, topic) == own(*twin) == spec
        assert (describe(colon, f"{root}:"), describe(colon, f"{root}:other")) == before
        found = describe(colon, topic)
        assert {key: one for key, one in found.items() if key[:8] == "gateway."} == gateways
        assert {key: found[key][0] for key in INHERITED} == INHERITED
    # It inherits later configs of the namespace, except those that it has itself.
    namespaces.alter(colon, f"{root}:", {"retention.ms": "7200000", "segment.ms": "700000"})
    assert describe(colon, topic)["retention.ms"][0] == "7200000"
    assert own(colon, topic) == DECLARED


def test_a_specification_may_say_what_the_namespace_says(
    colon: str, topic: str, twin: tuple[str, str]
) -> None:
    """If a tool sets a config to the inherited value, the config is set on the topic, and stays."""
    root = topic.rpartition(":")[0]
    for servers, name in ((colon, topic), twin):
        namespaces.alter(servers, name, {"retention.ms": INHERITED["retention.ms"]})
    spec = {**DECLARED, "retention.ms": INHERITED["retention.ms"]}
    assert own(colon, topic) == own(*twin) == spec
    assert reconcile(colon, topic, spec) == reconcile(*twin, spec) == (set(), set())
    namespaces.alter(colon, f"{root}:", {"retention.ms": "1800000"})
    assert own(colon, topic) == spec


def test_terraform_reads_what_was_declared(colon: str, topic: str, twin: tuple[str, str]) -> None:
    """After a creation, and after each way to apply a change.

    IncrementalAlterConfigs, and AlterConfigs, which replaces all configs.
    """
    assert own(colon, topic) == own(*twin) == DECLARED
    changed = {"segment.ms": "900000", "retention.ms": "-1"}
    for servers, name in ((colon, topic), twin):
        replace(servers, name, changed)
    assert own(colon, topic) == own(*twin) == changed
    for servers, name in ((colon, topic), twin):
        namespaces.alter(servers, name, {"cleanup.policy": "delete"}, drop=["retention.ms"])
    declared = {"segment.ms": "900000", "cleanup.policy": "delete"}
    assert own(colon, topic) == own(*twin) == declared


ACLS = (
    "TOPIC:LITERAL:org:orders",
    "TOPIC:PREFIXED:org:a",
    "TOPIC:LITERAL:org:",
    "TOPIC:PREFIXED:org:",
    "TOPIC:LITERAL:*",
    "TOPIC:LITERAL:plain",
    "GROUP:LITERAL:billing",
    "GROUP:PREFIXED:org:",
    "TRANSACTIONAL_ID:PREFIXED:tx-",
    "CLUSTER:LITERAL:kafka-cluster",
)


def test_terraform_reads_the_acls_that_were_declared(
    kafka: KafkaCluster, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """By a filter for each type of resource, without a name, as Terraform's Kafka provider
    lists."""
    listener = authorized.listener(tmp_path_factory.mktemp("secrets"))
    with authorized.gateway(kafka.bootstrap_servers, listener, ["org"]) as gateway:
        servers = gateway.bootstrap_servers(authorized.USERS_LISTENER)
        authorized.delete_acls(servers)
        entry = AclEntry("User:alice", "*", Operation.DESCRIBE, Permission.ALLOW)
        declared = [AclBinding(pattern_of(pattern), entry) for pattern in ACLS]
        authorized.add_acls(servers, declared)
        try:
            assert read_acls(gateway) == set(ACLS)
            authorized.add_acls(servers, declared)  # applied again
            assert read_acls(gateway) == set(ACLS)
        finally:
            authorized.delete_acls(servers)


def read_acls(gateway: GatewayProcess) -> set[str]:
    servers = gateway.bootstrap_servers(authorized.USERS_LISTENER)
    found: set[str] = set()
    for kind in (
        ResourceType.TOPIC,
        ResourceType.GROUP,
        ResourceType.TRANSACTIONAL_ID,
        ResourceType.BROKER,
    ):
        every = AclBindingFilter(
            kind,
            None,  # type: ignore[arg-type]
            ResourcePatternType.ANY,
            None,  # type: ignore[arg-type]
            None,  # type: ignore[arg-type]
            AclOperation.ANY,
            AclPermissionType.ANY,
        )
        acls = authorized.admin(servers).describe_acls(every).result(clients.SECONDS)
        for one in acls:
            name = "CLUSTER" if kind is ResourceType.BROKER else kind.name
            found.add(f"{name}:{one.resource_pattern_type.name}:{one.name}")
    return found
