"""The life of a namespace by Kafka's own command line tools.

A test goes through a whole life, because each call costs a JVM's start.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from devkit import java
from devkit.broker import KafkaCluster
from tests.live.support import clients, java_tools, namespaces

Names = Callable[[str], str]
Stored = Callable[[], set[str]]


def test_the_life_of_a_namespace_by_kafka_topics(
    admin: str, kafka: KafkaCluster, topics_on_broker: Stored, unique: Names
) -> None:
    """Create, list, describe, delete; the tool looks for each name in the listing first."""
    root, topic = unique("org"), unique("orders")
    namespace = f"{root}:apache:kafka"
    made = java_tools.topics(admin, "--create", "--topic", f"{namespace}:").stdout
    assert f"Created topic {namespace}:." in made
    assert not {stored for stored in topics_on_broker() if root in stored}
    java_tools.topics(admin, "--create", "--topic", f"{namespace}:{topic}", "--partitions", "2")
    clients.await_stored(kafka, f"{root}.apache.kafka..{topic}")

    listed = {name for name in java_tools.list_topics(admin) if name.startswith(root)}
    tiers = {f"{root}:", f"{root}:apache:", f"{namespace}:"}
    assert listed == {*tiers, f"{namespace}:{topic}"}
    without = java_tools.topics(admin, "--list", "--exclude-internal").lines
    assert {name for name in without if name.startswith(root)} == {f"{namespace}:{topic}"}

    # A single call for a namespace and its topics, because the tool takes a regular expression.
    described = java_tools.topics(admin, "--describe", "--topic", f"{namespace}:.*").stdout
    assert f"Topic: {namespace}:\t" in described
    assert f"Topic: {namespace}:{topic}\t" in described
    assert "gateway." not in described
    row = re.search(rf"Topic: {re.escape(namespace)}:{topic}\t.*", described)
    assert row is not None
    assert "PartitionCount: 2" in row[0]
    assert ".." not in described

    # A namespace that has child namespaces is not deleted, and the error names them.
    rejected = java_tools.attempt(java.TOPICS, admin, "--delete", "--topic", f"{root}:")
    assert rejected.returncode == 1
    said = rejected.stdout + rejected.stderr
    assert f"Namespace '{root}' holds namespaces" in said
    assert f"{root}:apache" in said
    # The expression that lists all of it also deletes all of it.
    java_tools.topics(admin, "--delete", "--topic", f"{root}:.*")
    assert not {name for name in clients.listed(admin) if name.startswith(root)}
    clients.await_gone(kafka, f"{root}.apache.kafka..{topic}")
    namespaces.await_free(admin, f"{root}:")


def test_a_namespace_with_topics_is_deleted_and_made_again(
    admin_legal: str, kafka: KafkaCluster, topics_on_broker: Stored, unique: Names
) -> None:
    """At a listener of legal names, where only a final colon denotes a namespace."""
    root, topic = unique("org"), unique("orders")
    java_tools.topics(admin_legal, "--create", "--topic", f"{root}:")
    namespaces.create_topic(admin_legal, kafka, f"{root}:{topic}")
    assert {name for name in java_tools.list_topics(admin_legal) if name.startswith(root)} == {
        f"{root}..",
        f"{root}..{topic}",
    }
    described = java_tools.topics(admin_legal, "--describe", "--topic", f"{root}..").stdout
    assert f"Topic: {root}..\t" in described
    java_tools.topics(admin_legal, "--delete", "--topic", f"{root}..")
    assert not {name for name in clients.listed(admin_legal) if name.startswith(root)}
    namespaces.await_free(admin_legal, f"{root}:")
    assert not namespaces.of_namespaces(topics_on_broker(), root)


def test_a_topic_before_its_namespace(colon: str, topics_on_broker: Stored, unique: Names) -> None:
    root = unique("org")
    created = ["--create", "--topic", f"{root}:apache:orders"]
    rejected = java_tools.attempt(java.TOPICS, colon, *created)
    said = rejected.stdout + rejected.stderr
    assert rejected.returncode == 1
    assert f"InvalidNamespaceException: namespace '{root}' does not exist" in said
    assert not {stored for stored in topics_on_broker() if root in stored}


def test_move_by_kafka_configs(
    admin_legal: str, colon: str, kafka: KafkaCluster, topics_on_broker: Stored, unique: Names
) -> None:
    """Setting ``gateway.namespace`` moves a topic, setting ``gateway.release`` releases it."""
    source, target, topic = unique("from"), unique("to"), unique("orders")
    stored = f"{source}.{topic}"
    namespaces.create(admin_legal, f"{source}:", f"{target}:deep:")
    with namespaces.made_at_the_broker(kafka, stored):
        clients.produce(colon, stored, ["one"])
        adopt = f"gateway.namespace={source},gateway.topic={topic}"
        _alter(admin_legal, stored, "--add-config", adopt)
        assert {name for name in clients.listed(colon) if topic in name} == {f"{source}:{topic}"}
        move = f"gateway.namespace={target}:deep"
        _alter(admin_legal, f"{source}..{topic}", "--add-config", move)
        moved = f"{target}:deep:{topic}"
        assert {name for name in clients.listed(colon) if topic in name} == {moved}
        assert clients.consume(colon, moved, 1, unique("readers")) == ["one"]
        assert stored in topics_on_broker()
        assert not {name for name in topics_on_broker() if name.startswith(target)}
        legal = f"{target}.deep..{topic}"
        deletes = ["--alter", *_of_topic(legal), "--delete-config", "gateway.namespace"]
        rejected = java_tools.attempt(java.CONFIGS, admin_legal, *deletes)
        assert "set 'gateway.release' to 'true'" in rejected.stdout + rejected.stderr
        assert {name for name in clients.listed(colon) if topic in name} == {moved}
        _alter(admin_legal, legal, "--add-config", "gateway.release=true")
        assert {name for name in clients.listed(colon) if topic in name} == {stored}


def _alter(servers: str, topic: str, *change: str) -> None:
    assert topic in java_tools.configs(servers, "--alter", *_of_topic(topic), *change).stdout


def _of_topic(topic: str) -> list[str]:
    return ["--entity-type", "topics", "--entity-name", topic]
