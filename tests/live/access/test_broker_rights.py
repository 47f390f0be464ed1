"""docs/brokers.md: the rights at the brokers that the gateway's own user needs for all its work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewPartitions

from devkit import java
from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.docs import guide, markdown
from tests.live.support import clients, gateway_log, java_tools, namespaces
from tests.live.support.secured_brokers import ANY, SecuredBrokers, login

Names = Callable[[str], str]

PAGE = "docs/brokers.md"
ITSELF, CLIENTS = "the gateway itself", "its clients"

_KINDS = {
    "Topic": ResourceType.TOPIC,
    "Group": ResourceType.GROUP,
    "TransactionalId": ResourceType.TRANSACTIONAL_ID,
}

Right = tuple[ResourceType, str, ResourcePatternType, str]
"""Resource type, resource name, pattern type, and operation, in small letters."""


def rights(*whose: str) -> set[Right]:
    """The rights in the page's table."""
    return {
        (_KINDS[kind], markdown.code(name), ResourcePatternType[pattern.upper()], operation.lower())
        for meant, kind, name, pattern, operations in markdown.table(markdown.read(PAGE), "for")
        if meant in whose
        for operation in operations.split(", ")
    }


def gateway_acls(brokers: SecuredBrokers) -> set[Right]:
    """The ACLs that the broker has for the gateway's user."""
    anything: Any = (
        *(ResourceType.ANY, None, ResourcePatternType.ANY),
        *("User:gateway", None, AclOperation.ANY, AclPermissionType.ANY),
    )
    admin = clients.admin(brokers.kafka.bootstrap_servers)
    return {
        (
            acl.restype,
            acl.name,
            acl.resource_pattern_type,
            acl.operation.name.replace("_", "").lower(),
        )
        for acl in admin.describe_acls(AclBindingFilter(*anything)).result(clients.SECONDS)
    }


def await_acls(brokers: SecuredBrokers, wanted: set[Right]) -> None:
    """Wait until the brokers have exactly these ACLs of the gateway."""
    wait_until(lambda: gateway_acls(brokers) == wanted, f"{wanted}", clients.SECONDS)


WITHOUT_DESCRIBE_CONFIGS = "the brokers do not describe their 'auto.create.topics.enable'"


def run_commands(brokers: SecuredBrokers, which: slice) -> None:
    """Run some of the page's commands as they are written there."""
    for step in guide.steps(PAGE)[which]:
        tool, option, _, *words = step.words
        assert (tool, option) == ("kafka-acls", "--bootstrap-server")
        java_tools.run(java.ACLS, brokers.kafka.bootstrap_servers, *words)


@pytest.fixture(scope="module")
def brokers() -> Iterator[SecuredBrokers]:
    """Brokers at which the gateway's user has only the rights that the page grants."""
    with SecuredBrokers(super_users=()) as started:
        run_commands(started, slice(0, 3))
        await_acls(started, rights(ITSELF))
        yield started


@pytest.fixture(scope="module")
def passing(brokers: SecuredBrokers) -> Iterator[GatewayProcess]:
    """A gateway that passes its clients' logins through, except those of administrators."""
    sasl = {"mechanisms": ["PLAIN"], "pass_through": True}
    listeners = [
        Listener("admin", "asks nobody", list_namespaces=True),
        Listener(
            "through",
            "brokers decide",
            security={"security_protocol": "SASL_PLAINTEXT", "sasl": sasl},
        ),
    ]
    audit = {"topic": "__kafka_gateway_audit"}
    with brokers.gateway(brokers.identity("SASL_PLAINTEXT"), listeners, audit=audit) as started:
        yield started


def test_what_the_gateway_does_itself(
    brokers: SecuredBrokers, passing: GatewayProcess, unique: Names
) -> None:
    """Namespaces, their topics and configs, moves, background jobs; the catalog, the audit log."""
    admin, root, topic = passing.bootstrap_servers("admin"), unique("org"), unique("orders")
    namespaces.create(admin, f"{root}:a:", configs={"retention.ms": "7200000"})
    namespaces.create_topic(admin, brokers.kafka, f"{root}:a:{topic}")
    namespaces.alter(admin, f"{root}:a:", {"retention.ms": "3600000"})
    flat = f"{root}.a..{topic}"
    namespaces.await_value(brokers.kafka, flat, "retention.ms", "3600000")
    namespaces.alter(admin, f"{root}:a:{topic}", {"segment.ms": "60000"})
    assert namespaces.describe(admin, f"{root}:a:{topic}")["segment.ms"][0] == "60000"
    namespaces.create(admin, f"{root}:b:")
    namespaces.alter(admin, f"{root}:a:{topic}", {"gateway.namespace": f"{root}:b"})
    assert f"{root}:b:{topic}" in clients.listed(admin)
    namespaces.delete(admin, f"{root}:b:{topic}", f"{root}:b:", f"{root}:a:")
    clients.await_gone(brokers.kafka, flat)
    namespaces.await_free(admin, f"{root}:b:")
    assert problems(passing) == []


def test_clients_that_pass_through_have_their_own(
    brokers: SecuredBrokers, passing: GatewayProcess, unique: Names
) -> None:
    topic = f"org:{unique('orders')}"
    namespaces.create_topic(passing.bootstrap_servers("admin"), brokers.kafka, topic)
    for kind, name in ANY:
        brokers.allow("alice", kind, name, AclOperation.ALL)
    settings = clients.settings(passing.bootstrap_servers("through")) | login("PLAIN", "alice")
    assert clients.round_trip(settings, topic, unique("readers")) == ["first"]
    assert problems(passing) == []


@pytest.mark.long("kills")
def test_clients_that_are_the_gateway_there(brokers: SecuredBrokers, unique: Names) -> None:
    run_commands(brokers, slice(3, 6))
    await_acls(brokers, rights(ITSELF, CLIENTS))
    root, group = unique("team"), unique("readers")
    with brokers.gateway(brokers.identity("SASL_PLAINTEXT")) as gateway:
        servers = gateway.bootstrap_servers("all")
        source, target = f"{root}:in", f"{root}:out"
        clients.create(servers, f"{root}:", source, target)
        clients.await_stored(brokers.kafka, f"{root}..in", f"{root}..out")
        java_tools.round_trip(servers, source, target, group, unique("tx"))
        clients.produce(servers, source, ["more"], enable_idempotence=True)
        admin = clients.admin(servers)
        assert group in {
            listed.group_id for listed in admin.list_consumer_groups().result(clients.SECONDS).valid
        }
        described = clients.done(admin.describe_consumer_groups([group]))
        assert described[group].group_id == group
        wanted = [ConsumerGroupTopicPartitions(group)]
        (offsets,) = clients.done(admin.list_consumer_group_offsets(wanted)).values()
        assert {offset.topic for offset in offsets.topic_partitions} == {source}
        clients.done(admin.create_partitions([NewPartitions(source, 2)]))
        ((_, deleted),) = admin.delete_records([TopicPartition(source, 0, 1)]).items()
        assert deleted.result(clients.SECONDS).low_watermark == 1
        clients.done(admin.delete_consumer_groups([group]))
        namespaces.delete(servers, source, target)
        assert problems(gateway) == []


def problems(gateway: GatewayProcess) -> list[str]:
    """The gateway's warnings, except two kinds.

    They are about the only right that the page calls dispensable, and about clients that create a
    namespace again while it is being deleted.
    """
    return gateway_log.complaints(gateway, WITHOUT_DESCRIBE_CONFIGS, " is being deleted; ")
