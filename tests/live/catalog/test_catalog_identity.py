"""docs/brokers.md: the catalog's own identity keeps clients' connections away from the catalog."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import (
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ConfigResource,
    ResourcePatternType,
    ResourceType,
)

from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from devkit.ports import free_ports
from devkit.waiting import wait_until
from gateway.catalog.log.topics import CATALOG_TOPIC
from tests.docs import markdown
from tests.live.access.test_broker_rights import PAGE, problems, run_commands
from tests.live.support import clients, java_tools, namespaces
from tests.live.support.secured_brokers import SecuredBrokers, login

Names = Callable[[str], str]

CATALOG_USER = "gateway-catalog"
FIRST, CLIENTS, OWN = slice(0, 1), slice(3, 6), slice(6, 10)
"""The page's commands: for the user who serves clients, and for the catalog's identity."""


def gateway_acls(brokers: SecuredBrokers) -> set[tuple[str, ...]]:
    """The ACLs that name the gateway's own topics and ids."""
    anything: Any = (
        *(ResourceType.ANY, "__kafka_gateway", ResourcePatternType.PREFIXED),
        *(None, None, AclOperation.ANY, AclPermissionType.ANY),
    )
    admin = clients.admin(brokers.kafka.bootstrap_servers)
    return {
        (
            acl.principal.removeprefix("User:"),
            acl.restype.name.replace("_", "").lower(),
            acl.permission_type.name.lower(),
            acl.operation.name.replace("_", "").lower(),
        )
        for acl in admin.describe_acls(AclBindingFilter(*anything)).result(clients.SECONDS)
    }


def documented() -> set[tuple[str, ...]]:
    """The rights in the page's table."""
    return {
        (markdown.code(whose), kind.lower(), permission.lower(), operation.lower())
        for whose, kind, _, _, permission, operations in markdown.table(
            markdown.read(PAGE), "whose"
        )
        for operation in operations.split(", ")
    }


@pytest.fixture(scope="module")
def brokers() -> Iterator[SecuredBrokers]:
    """Brokers with exactly the rights that the page grants."""
    with SecuredBrokers(super_users=()) as started:
        for which in (FIRST, CLIENTS, OWN):
            run_commands(started, which)
        wanted = documented()
        wait_until(lambda: gateway_acls(started) == wanted, f"{wanted}", clients.SECONDS)
        yield started


@pytest.fixture(scope="module")
def gateway(brokers: SecuredBrokers) -> Iterator[GatewayProcess]:
    """A gateway with both identities, whose audit and traffic logs have topics."""
    security = brokers.identity("SASL_PLAINTEXT")
    own = {**security, "sasl": {**security["sasl"], "username": CATALOG_USER}}
    overrides = {
        "catalog": {"security": own},
        "audit": {"topic": "__kafka_gateway_audit"},
        "traffic_log": {"topic": "__kafka_gateway_traffic", "window_seconds": 1},
    }
    listeners = [Listener("all", "every namespace", list_namespaces=True)]
    with brokers.gateway(security, listeners, **overrides) as started:
        yield started


def test_everything_works(brokers: SecuredBrokers, gateway: GatewayProcess, unique: Names) -> None:
    servers, root = gateway.bootstrap_servers("all"), unique("org")
    namespaces.create(servers, f"{root}:", f"{root}:a:", configs={"retention.ms": "7200000"})
    topic, other = f"{root}:a:in", f"{root}:a:out"
    namespaces.create_topic(servers, brokers.kafka, topic)
    namespaces.create_topic(servers, brokers.kafka, other)
    namespaces.alter(servers, f"{root}:a:", {"retention.ms": "3600000"})
    java_tools.round_trip(servers, topic, other, unique("readers"), unique("tx"))
    namespaces.alter(servers, topic, {"gateway.namespace": root})
    assert f"{root}:in" in clients.listed(servers)
    namespaces.delete(servers, f"{root}:in", other, f"{root}:a:", f"{root}:")
    namespaces.await_free(servers, f"{root}:")
    wanted = {CATALOG_TOPIC, "__kafka_gateway_audit", "__kafka_gateway_traffic"}
    wait_until(lambda: wanted <= brokers.kafka.topics(internal=True), f"{wanted}", clients.SECONDS)
    assert problems(gateway) == []


def test_who_serves_clients_reaches_nothing_of_it(
    brokers: SecuredBrokers, gateway: GatewayProcess
) -> None:
    """The user whose connections carry clients has no access to the catalog at the broker
    itself."""
    assert gateway.get("/readyz")[0] == 200
    settings = clients.settings(brokers.kafka.servers("SASL_PLAINTEXT"))
    settings |= login("PLAIN", "gateway")
    for topic in (CATALOG_TOPIC, "__kafka_gateway_audit", "__kafka_gateway_new"):
        assert produced(settings, topic) == "TOPIC_AUTHORIZATION_FAILED"
    # The user itself may write to topics that are not the gateway's own.
    assert produced(settings, "ordinary") in ("", "UNKNOWN_TOPIC_OR_PART")
    admin = AdminClient(settings)
    (deleted,) = admin.delete_topics([CATALOG_TOPIC]).values()
    assert "authoriz" in clients.error_text(deleted).lower()
    resource = ConfigResource(ResourceType.TOPIC, CATALOG_TOPIC)
    (configs,) = admin.describe_configs([resource]).values()
    assert "authoriz" in clients.error_text(configs).lower()
    producer = Producer(settings | {"transactional.id": CATALOG_TOPIC})
    with pytest.raises(KafkaException, match="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"):
        producer.init_transactions(clients.SECONDS)


def test_check_cluster_says_so(
    brokers: SecuredBrokers, gateway: GatewayProcess, unique: Names, tmp_path: Path
) -> None:
    topic = f"org:{unique('hollow')}"
    namespaces.create_topic(gateway.bootstrap_servers("all"), brokers.kafka, topic)
    data = brokers.identity("SASL_PLAINTEXT")
    own = gateway.plan.config["catalog"]["security"]
    told = checked(tmp_path, gateway, data, own)
    assert told["problems"] == []
    found = told["cluster"]
    assert found["clients_identity"] == {"operations": [], "transactional_id": False}
    assert {"READ", "WRITE", "DESCRIBE_CONFIGS"} <= set(found["catalog_identity"]["operations"])
    assert not {"DELETE", "ALTER"} & set(found["catalog_identity"]["operations"])
    assert (found["catalog"]["signed_with"], found["catalog"]["skipped_records"]) == (None, 0)
    # The catalog has a single replica here.
    (hollow,) = [line for line in told["warnings"] if "min.insync.replicas" in line]
    assert "acks=all" in hollow
    assert topic in hollow
    assert not any("clusters[0].security" in line for line in told["warnings"])
    # The same identity for clients and the catalog.
    told = checked(tmp_path, gateway, own, None)
    (line,) = [line for line in told["warnings"] if "clusters[0].security" in line]
    assert (
        "may READ, WRITE __kafka_gateway_catalog; give the catalog an identity of its own" in line
    )
    # Nothing grants alice any right.
    alice = {**own, "sasl": {**own["sasl"], "username": "alice"}}
    (brokers.directory / "alice").write_text("wonderland\n")
    alice["sasl"]["password"] = {"file": str(brokers.directory / "alice")}
    told = checked(tmp_path, gateway, data, alice)
    assert told["ok"] is False
    lines = [line for line in told["problems"] if "catalog.security: the catalog's" in line]
    assert "identity may not READ, WRITE, DESCRIBE_CONFIGS __kafka_gateway_catalog" in lines[0]
    assert "identity may not use the transactional id __kafka_gateway_catalog" in lines[1]
    said = namespaces.attempt(
        *("explain", "--config", str(gateway.config_path), "--name", topic, "--json")
    )
    (hollow, *_) = json.loads(said.out)["warnings"]
    assert "acks=all" in hollow
    assert "min.insync.replicas is 1" in hollow


def checked(directory: Path, gateway: GatewayProcess, security: Any, own: Any) -> Any:
    """The output of ``check --cluster`` for the gateway's configuration with these identities."""
    config = json.loads(json.dumps(gateway.plan.config))
    config["clusters"][0]["security"] = security
    config["catalog"] = {} if own is None else {"security": own}
    ports = free_ports(24)
    config["metrics"]["port"] = ports[0]
    config["listeners"][0] |= {"port": ports[1], "broker_base_port": ports[2]}
    path = directory / "gateway.yaml"
    path.write_text(json.dumps(config))
    return json.loads(namespaces.attempt("check", "--cluster", "--json", str(path)).out)


def produced(settings: Any, topic: str) -> str:
    """The error with which an anonymous client's record is rejected, or empty if it is accepted."""
    told: list[str] = []
    producer = Producer(settings | {"message.timeout.ms": 20_000})
    try:
        producer.produce(
            topic,
            b"junk",
            b"namespace/evil",
            on_delivery=lambda error, _: told.append("" if error is None else error.name()),
        )
    except KafkaException as error:
        return str(error.args[0].name())
    assert producer.flush(clients.SECONDS) == 0
    return told[0].lstrip("_")
