"""Kafka's own command line tools through the gateway.

A test goes through the life of a topic, because each call costs a JVM's start.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from devkit import java
from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from tests.live.support import clients, java_tools, namespaces

Names = Callable[[str], str]


def test_topics_with_colon_names(colon: str, kafka: KafkaCluster, unique: Names) -> None:
    """kafka-topics looks a name up in the listing before it describes, alters or deletes it."""
    topic = unique("orders")
    logical, flat = f"org:apache:kafka:{topic}", f"org.apache.kafka..{topic}"
    _life_of_a_topic(colon, kafka, logical, flat)


def test_topics_with_legal_names(legal: str, kafka: KafkaCluster, unique: Names) -> None:
    flat = f"team-a..{unique('orders')}"
    _life_of_a_topic(legal, kafka, flat, flat)


def test_console_clients_and_groups(
    home_a: str, colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    """Records by the console clients; a group at home is listed, described, reset and deleted."""
    topic, group = unique("orders"), unique("app")
    flat, flat_group = f"team-a..{topic}", f"team-a..{group}"
    clients.create(home_a, topic)
    clients.await_stored(kafka, flat)
    java_tools.console_produce(home_a, topic, ["one", "two", "three"])
    read = java_tools.console_consume(home_a, topic, 3, "--group", group)
    assert read == ["one", "two", "three"]
    assert java_tools.console_consume(colon, f"team-a:{topic}", 3) == read

    assert group in java_tools.consumer_groups(home_a, "--list").lines
    described = java_tools.consumer_groups(home_a, "--describe", "--group", group).stdout
    assert _row(described, group)[:5] == [group, topic, "0", "3", "3"]
    assert flat not in described
    direct = java_tools.consumer_groups(
        kafka.bootstrap_servers, "--describe", "--group", flat_group
    ).stdout
    assert _row(direct, flat_group)[:5] == [flat_group, flat, "0", "3", "3"]

    reset = ["--reset-offsets", "--group", group, "--topic", topic, "--to-offset", "1", "--execute"]
    assert _row(java_tools.consumer_groups(home_a, *reset).stdout, group)[:4] == [
        group,
        topic,
        "0",
        "1",
    ]
    assert java_tools.console_consume(home_a, topic, 2, "--group", group) == ["two", "three"]
    deleted = java_tools.consumer_groups(home_a, "--delete", "--group", group).stdout
    assert group in deleted
    assert "team-a.." not in deleted
    groups = clients.admin(kafka.bootstrap_servers).list_consumer_groups().result(clients.SECONDS)
    assert flat_group not in {entry.group_id for entry in groups.valid or ()}


def test_groups_and_configs_at_a_legal_listener(
    legal: str, kafka: KafkaCluster, unique: Names
) -> None:
    """Tools that reject or split colons accept the legal spelling at this listener."""
    topic, group = f"team-a..{unique('orders')}", unique("app")
    clients.create(legal, topic)
    clients.await_stored(kafka, topic)
    clients.produce(legal, topic, ["one", "two"])
    assert clients.consume(legal, topic, 2, group) == ["one", "two"]
    reset = ["--reset-offsets", "--group", group, "--topic", f"{topic}:0", "--to-earliest"]
    moved = java_tools.consumer_groups(legal, *reset, "--execute").stdout
    assert _row(moved, group)[:4] == [group, topic, "0", "0"]

    of_topic = ["--entity-type", "topics", "--entity-name", topic]
    altered = java_tools.configs(legal, "--alter", *of_topic, "--add-config", "retention.ms=4321")
    assert topic in altered.stdout
    namespaces.await_value(kafka, topic, "retention.ms", "4321")
    assert "retention.ms=4321" in java_tools.configs(legal, "--describe", *of_topic).stdout
    direct = java_tools.configs(kafka.bootstrap_servers, "--describe", *of_topic).stdout
    assert "retention.ms=4321" in direct


@pytest.mark.parametrize(("listener", "end"), [("admin", ":"), ("admin-legal", "..")])
def test_tools_ask_whatever_is_listed_without_waiting(
    gateway: GatewayProcess, admin: str, kafka: KafkaCluster, unique: Names, listener: str, end: str
) -> None:
    """Tools need not wait for a listed namespace.

    Java would wait 60 s for a partition without a leader, and a page of AKHQ would fail.
    """
    servers, org = gateway.bootstrap_servers(listener), unique("org")
    namespaces.create(admin, f"{org}:")
    namespaces.create_topic(admin, kafka, f"{org}:orders")
    clients.produce(admin, f"{org}:orders", ["one", "two"])
    namespace, topic = f"{org}{end}", f"{org}{end}orders"

    for at, offsets in (
        ("latest", {namespace: 0, topic: 2}),
        ("earliest", {namespace: 0, topic: 0}),
    ):
        told = java_tools.run(
            java.GET_OFFSETS, servers, "--topic", f"{re.escape(org)}.*", "--time", at
        )
        assert set(told.lines) == {f"{name}:0:{offset}" for name, offset in offsets.items()}
        assert "Skip" not in told.stdout + told.stderr
    found = java_tools.topics(servers, "--describe", "--topic", f"{re.escape(org)}.*").stdout
    assert f"Topic: {namespace}\tPartitionCount: 1" in found
    wrong = java_tools.topics(servers, "--describe", "--unavailable-partitions").stdout
    assert namespace not in wrong

    classes = java.compile_java(java_tools.SOURCES / "TopicPage.java")
    args = [servers, org, unique("group"), "30"]
    page = java.run_java("TopicPage", args, classes=classes)
    assert page.returncode == 0, page.stderr
    lines = {tuple(line.split(" ")) for line in page.lines}
    for what, offset in (("latest", "2"), ("begins", "0"), ("ends", "2")):
        assert {(what, f"{namespace}-0", "0"), (what, f"{topic}-0", offset)} <= lines
    # Offset -1: there is no newest record.
    assert {("newest", f"{namespace}-0", "-1"), ("producers", f"{namespace}-0", "0")} <= lines
    for name in (namespace, topic):
        assert {("led", name, "true"), ("configs", name, "true")} <= lines
    assert ("stored", f"{topic}-0", "true") in lines
    assert ("committed", args[2], "true") in lines


def test_a_namespace_that_does_not_exist_is_named(colon: str, unique: Names) -> None:
    topic = f"nowhere:{unique('orders')}"
    result = java_tools.attempt(java.TOPICS, colon, "--create", "--topic", topic)
    assert result.returncode == 1
    said = result.stdout + result.stderr
    assert "InvalidNamespaceException: namespace 'nowhere' does not exist" in said


def _life_of_a_topic(servers: str, kafka: KafkaCluster, name: str, flat: str) -> None:
    created = java_tools.topics(servers, "--create", "--topic", name, "--partitions", "2").stdout
    assert f"Created topic {name}." in created
    clients.await_stored(kafka, flat)

    names = java_tools.list_topics(servers)
    assert name in names
    assert not {listed for listed in names if listed.startswith("__")}

    described = java_tools.topics(servers, "--describe", "--topic", name).stdout
    assert f"Topic: {name}\t" in described
    assert "PartitionCount: 2" in described
    assert name == flat or flat not in described

    java_tools.topics(servers, "--alter", "--topic", name, "--partitions", "3")
    clients.await_partitions(kafka, flat, 3)

    java_tools.topics(servers, "--delete", "--topic", name)
    clients.await_gone(kafka, flat)


def _row(table: str, first: str) -> list[str]:
    """The cells of the only row of a tool's table that begins with ``first``."""
    rows = [line.split() for line in table.splitlines()]
    (found,) = [row for row in rows if row and row[0] == first]
    return found


def test_acls_without_an_authorizer(colon: str) -> None:
    said = namespaces.attempt("acls", "--bootstrap-server", colon, "--list")
    assert said.status == 1
    assert "No Authorizer is configured" in said.err
    assert "give the gateways an authorization block in their configuration" in said.err
    rejected = java_tools.attempt(java.ACLS, colon, "--list")
    assert "SecurityDisabledException" in rejected.stdout + rejected.stderr
