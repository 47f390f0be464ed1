"""The audit log: rejections, failed logins, and changes with their authors; in files and a
topic."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess, gateway_command
from devkit.topics import create_topics
from devkit.waiting import wait_until
from tests.live.operations import audited
from tests.live.operations.audited import ADMIN, ALICE, AUDIT_TOPIC, Event
from tests.live.operations.test_metrics import Scrape
from tests.live.support import clients, java_tools

ORDERS = "org:orders"
ALICE_PRINCIPAL, ADMIN_PRINCIPAL = f"User:{ALICE}", f"User:{ADMIN}"
SCRAM_PASSWORD = "a-password-that-nobody-sees"  # noqa: S105 - made for this test

CLUSTER_AUTHORIZATION_FAILED = 31


@dataclass(frozen=True)
class World:
    """A gateway of two workers, its cluster, and the directory of its files."""

    kafka: KafkaCluster
    gateway: GatewayProcess
    directory: Path

    @property
    def servers(self) -> str:
        return self.gateway.bootstrap_servers("clients")

    def tool_login(self, user: str = ADMIN) -> list[str]:
        """The options with which Kafka's tools log in."""
        return ["--command-config", str(audited.command_config(self.directory, user))]

    def denied(self, api: str, operation: str) -> list[Event]:
        """Denials of alice, once there are some."""

        def matches(event: Event) -> bool:
            data = event["data"]
            return bool(
                event["type"] == "kafka.gateway.access.denied"
                and (data["principal"], data["api"]) == (ALICE_PRINCIPAL, api)
                and data["operation"] == operation
            )

        what = f"a denial of {operation} by {api}"
        return audited.await_events(self.directory, matches, what)

    def changed(self, kind: str, matching: Callable[[Event], bool] = lambda _: True) -> list[Event]:
        """The data of changes of a kind of entity, once some match."""

        def matches(event: Event) -> bool:
            data = event["data"]
            changed = event["type"] == "kafka.gateway.catalog.changed"
            return bool(changed and data["resource_type"] == kind and matching(data))

        events = audited.await_events(self.directory, matches, f"a change of a {kind}")
        return [event["data"] for event in events]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    directory = tmp_path_factory.mktemp("audited")
    with KafkaCluster() as kafka, audited.gateway(kafka, directory, workers=2) as gateway:
        found = World(kafka, gateway, directory)
        boss = audited.admin(found.servers)
        for name in ("org:", ORDERS):
            create_topics(boss, [NewTopic(name, 1, 1)])
        clients.await_stored(kafka, "org..orders")
        yield found


def denied_creation(world: World) -> Future[Any]:
    """The creation of ``org:mine`` by alice, which is denied."""
    alice = audited.admin(world.servers, ALICE)
    future = alice.create_topics([NewTopic("org:mine", 1, 1)])["org:mine"]
    assert clients.error_code(future) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    return future


def test_a_denied_creation(world: World) -> None:
    future = denied_creation(world)
    (event, *_) = world.denied("CreateTopics", "CREATE")
    assert event["subject"] == "TOPIC org:mine"
    data = event["data"]
    assert (data["resource_type"], data["resource"]) == ("TOPIC", "org:mine")
    assert (data["rule"], data["error"]) == ("acl", "TOPIC_AUTHORIZATION_FAILED")
    assert (data["listener"], data["client_id"]) == ("clients", "alice-client")
    assert data["address"].startswith("127.0.0.1:")
    assert data["software_name"] == "confluent-kafka-python"
    assert data["because"]
    assert data["message"] == clients.error_text(future)


def test_denied_produce_and_fetch_by_a_deny(world: World) -> None:
    """The event names the ACL that decided."""
    for permission, operation in (("allow", "Describe"), ("deny", "Write"), ("deny", "Read")):
        options = ["--add", f"--{permission}-principal", ALICE_PRINCIPAL, "--topic", ORDERS]
        acl = [*options, "--operation", operation]
        java_tools.run(java.ACLS, world.servers, *world.tool_login(), *acl)
    errors: list[int] = []
    producer = Producer(clients.settings(world.servers, **audited.login(ALICE)))

    def report(error: KafkaError | None, _: object) -> None:
        errors.append(0 if error is None else error.code())

    producer.produce(ORDERS, b"x", on_delivery=report)
    assert producer.flush(clients.SECONDS) == 0
    assert errors == [KafkaError.TOPIC_AUTHORIZATION_FAILED]
    (event, *_) = world.denied("Produce", "WRITE")
    assert event["data"]["resource"] == ORDERS
    assert "DENY WRITE" in event["data"]["because"]
    assert ALICE_PRINCIPAL in event["data"]["because"]
    with clients.consumer(world.servers, "g", **audited.login(ALICE)) as consumer:
        consumer.subscribe([ORDERS])

        def rejected() -> bool:
            record = consumer.poll(0.2)
            error = None if record is None else record.error()
            codes = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED)
            return error is not None and error.code() in codes

        wait_until(rejected, "that the consumer is refused", clients.SECONDS)
    (event, *_) = world.denied("FindCoordinator", "DESCRIBE")
    assert (event["data"]["resource_type"], event["data"]["resource"]) == ("GROUP", "g")


def test_a_denied_change_of_acls(world: World) -> None:
    """Nothing changes, so the denial is the only event."""
    everything, allow = AclOperation.ALL, AclPermissionType.ALLOW
    pattern = (ResourceType.TOPIC, "for-alice", ResourcePatternType.LITERAL)
    acl = AclBinding(*pattern, ALICE_PRINCIPAL, "*", everything, allow)
    alice = audited.admin(world.servers, ALICE)
    assert clients.error_code(alice.create_acls([acl])[acl]) == CLUSTER_AUTHORIZATION_FAILED
    (event, *_) = world.denied("CreateAcls", "ALTER")
    data = event["data"]
    assert (data["resource_type"], data["resource"]) == ("CLUSTER", "kafka-cluster")
    events = audited.in_files(world.directory)
    assert not [e for e in events if e["subject"] == "acl TOPIC:LITERAL:for-alice"]


def test_a_wrong_password(world: World) -> None:
    settings = clients.settings(world.servers, **audited.login(ALICE, "not-the-password"))
    failed = Producer(settings)

    def matches(event: Event) -> bool:
        return bool(event["type"] == "kafka.gateway.authentication.failed")

    def told() -> list[Event]:
        failed.poll(0.1)
        return [event for event in audited.in_files(world.directory) if matches(event)]

    (event, *_) = wait_until(told, "a failed login", clients.SECONDS) or []
    data = event["data"]
    assert (data["mechanism"], data["claimed_user"]) == ("PLAIN", ALICE)
    assert (data["principal"], data["listener"]) == ("User:ANONYMOUS", "clients")
    assert data["address"].startswith("127.0.0.1:")
    assert "not-the-password" not in json.dumps(event)


def test_changes_by_kafkas_own_tools(world: World) -> None:
    tool, servers = world.tool_login(), world.servers
    java_tools.topics(servers, *tool, "--create", "--topic", "shop:")
    (made,) = world.changed("namespace", lambda data: data["resource"] == "shop:")
    assert (made["action"], made["before"], made["api"]) == ("created", None, "CreateTopics")
    assert (made["principal"], made["listener"]) == (ADMIN_PRINCIPAL, "clients")
    assert made["address"].startswith("127.0.0.1:")
    config = ["--entity-type", "topics", "--entity-name", "shop:"]
    java_tools.configs(servers, *tool, "--alter", *config, "--add-config", "retention.ms=86400000")

    def has_retention(data: Event) -> bool:
        return (data["resource"], data["action"]) == ("shop:", "altered")

    (altered, *_) = world.changed("namespace", has_retention)
    assert altered["before"]["configs"] == {}
    assert altered["after"]["configs"] == {"retention.ms": "86400000"}
    assert (altered["principal"], altered["api"]) == (ADMIN_PRINCIPAL, "IncrementalAlterConfigs")
    java_tools.topics(servers, *tool, "--delete", "--topic", "shop:")
    deleted = world.changed(
        "namespace", lambda data: (data["resource"], data["action"]) == ("shop:", "deleted")
    )
    assert deleted[0]["principal"].startswith(("gateway:deletion of namespace", "User:admin"))


def test_acls_and_credentials(world: World) -> None:
    tool, servers = world.tool_login(), world.servers
    acl = ["--allow-principal", ALICE_PRINCIPAL, "--operation", "Read", "--topic", "audited:"]
    java_tools.topics(servers, *tool, "--create", "--topic", "audited:")
    java_tools.run(java.ACLS, servers, *tool, "--add", *acl)
    pattern = "TOPIC:LITERAL:audited:"
    (made, *_) = world.changed("acl", lambda data: data["resource"] == pattern)
    assert (made["action"], made["api"]) == ("created", "CreateAcls")
    assert made["after"]["entries"] == [
        {"permission": "ALLOW", "operation": "READ", "principal": ALICE_PRINCIPAL, "host": "*"}
    ]
    java_tools.run(java.ACLS, servers, *tool, "--remove", "--force", *acl)
    (gone,) = world.changed(
        "acl", lambda data: (data["resource"], data["action"]) == (pattern, "deleted")
    )
    assert (gone["after"], gone["api"]) == (None, "DeleteAcls")
    credential = f"SCRAM-SHA-256=[iterations=4096,password={SCRAM_PASSWORD}]"
    user = ["--entity-type", "users", "--entity-name", "carol"]
    java_tools.configs(servers, *tool, "--alter", *user, "--add-config", credential)
    (scram,) = world.changed("scram", lambda data: data["resource"].endswith("/carol"))
    assert scram["resource"] == "SCRAM-SHA-256/carol"
    assert scram["after"] == {"iterations": 4096}
    assert scram["api"] == "AlterUserScramCredentials"
    everything = b"".join(path.read_bytes() for path in (world.directory / "audit").iterdir())
    assert SCRAM_PASSWORD.encode() not in everything


def test_a_user_who_is_deleted_while_connected(world: World) -> None:
    """The user's connections are closed, and each of them is an event."""
    tool, servers = world.tool_login(), world.servers
    user = ["--entity-type", "users", "--entity-name", "dave"]
    credential = f"SCRAM-SHA-256=[iterations=4096,password={SCRAM_PASSWORD}]"
    java_tools.configs(servers, *tool, "--alter", *user, "--add-config", credential)
    login = audited.login("dave", SCRAM_PASSWORD) | {"sasl_mechanism": "SCRAM-SHA-256"}
    dave = AdminClient(clients.settings(servers, client_id="daves", **login))
    assert dave.list_topics(timeout=clients.SECONDS).topics == {}
    # librdkafka closes its bootstrap connection once it knows a broker, but no broker's connection.
    assert dave.list_consumer_groups().result(clients.SECONDS).errors == []
    java_tools.configs(servers, *tool, "--alter", *user, "--delete-config", "SCRAM-SHA-256")

    def is_revoked(event: Event) -> bool:
        return bool(event["type"] == "kafka.gateway.connection.revoked")

    (event, *_) = audited.await_events(world.directory, is_revoked, "a revoked connection")
    data = event["data"]
    assert (data["principal"], data["client_id"]) == ("User:dave", "daves")
    assert data["reason"]


def test_an_operators_command(world: World, tmp_path: Path) -> None:
    """The command writes the catalog itself, so it also writes the event."""
    export = tmp_path / "catalog.yaml"
    config = tmp_path / "gateway.yaml"
    config.write_text(yaml.safe_dump(world.gateway.plan.config))
    command = [gateway_command(), "catalog"]
    subprocess.run(
        [*command, "export", "--config", str(config), "--output", str(export)],
        check=True,
        timeout=clients.SECONDS,
    )
    content = yaml.safe_load(export.read_text())
    content["namespaces"]["imported"] = {}
    export.write_text(yaml.safe_dump(content))
    subprocess.run(
        [*command, "import", "--config", str(config), "--yes", str(export)],
        check=True,
        timeout=clients.SECONDS,
        capture_output=True,
    )
    (made,) = world.changed("namespace", lambda data: data["resource"] == "imported:")
    assert made["principal"].startswith("operator:")
    assert made["api"] == "kafka-gateway catalog import"
    events = audited.in_files(world.directory)
    (source,) = {e["source"] for e in events if e["data"]["principal"] == made["principal"]}
    assert source == "/kafka-gateway/gw-1/commands"


def test_every_event_is_in_the_topic_too(world: World) -> None:
    def complete() -> bool:
        in_topic = {event["id"] for _, _, event in audited.in_topic(world.kafka)}
        return in_topic >= {event["id"] for event in audited.in_files(world.directory)}

    wait_until(complete, "the topic's events", clients.SECONDS)
    records = audited.in_topic(world.kafka)
    in_files = {event["id"]: event for event in audited.in_files(world.directory)}
    for key, headers, event in records:
        assert key == event["data"]["principal"].encode()
        assert headers == {"content-type": b"application/cloudevents+json; charset=UTF-8"}
        assert in_files.get(event["id"], event) == event
    assert len({event["id"] for _, _, event in records}) == len(records)


def test_no_client_reaches_the_topic(world: World) -> None:
    """Not even a super user's client: consumers of the topic read it from the cluster itself."""
    boss = audited.admin(world.servers)
    assert AUDIT_TOPIC not in boss.list_topics(timeout=clients.SECONDS).topics
    future = boss.delete_topics([AUDIT_TOPIC])[AUDIT_TOPIC]
    assert clients.error_code(future) == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert AUDIT_TOPIC in world.kafka.topics(internal=True)


def test_metrics(world: World) -> None:
    denied_creation(world)
    world.denied("CreateTopics", "CREATE")

    def settled() -> Scrape | None:
        scrape = Scrape(world.gateway.fresh_metrics())
        events = scrape.sum("audit_events_total")
        sinks = [scrape.sum("audit_events_written_total", sink=sink) for sink in ("file", "topic")]
        return scrape if events and sinks == [events, events] else None

    scrape = wait_until(settled, "that all events are written", clients.SECONDS)
    assert scrape is not None
    assert scrape.sum("audit_events_dropped_total") == 0
    assert scrape.sum("audit_queued_events") == 0
    denials = scrape.labels("authorization_denials_total")
    create = {"listener": "clients", "operation": "CREATE", "resource_type": "TOPIC"}
    assert create in denials
    denied = scrape.sum("audit_events_total", type="kafka.gateway.access.denied")
    assert scrape.sum("authorization_denials_total") <= denied


def test_the_end_loses_nothing(tmp_path: Path, world: World) -> None:
    """Events before SIGTERM are in the files and in the topic."""
    with audited.gateway(world.kafka, tmp_path) as gateway:
        alice = audited.admin(gateway.bootstrap_servers("clients"), ALICE)
        names = [f"org:late-{number}" for number in range(300)]
        futures = alice.create_topics([NewTopic(name, 1, 1) for name in names])
        assert {clients.error_code(future) for future in futures.values()} == {
            KafkaError.TOPIC_AUTHORIZATION_FAILED
        }
    written = [event for event in audited.in_files(tmp_path) if "late-" in event["subject"]]
    assert {event["data"]["resource"] for event in written} == set(names)
    assert len(written) == len(names)
    ids = {event["id"] for _, _, event in audited.in_topic(world.kafka)}
    assert ids >= {event["id"] for event in written}
