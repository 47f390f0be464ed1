"""kafka-python, which rejects ``:`` itself, at a home listener and in the legal spelling."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewTopic

from devkit.broker import KafkaCluster
from tests.live.support import clients, namespaces

Names = Callable[[str], str]


@contextmanager
def _consumer(servers: str, *topics: str, **more: object) -> Iterator[Any]:
    settings = {
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "consumer_timeout_ms": 120_000,
        **more,
    }
    with closing(KafkaConsumer(*topics, bootstrap_servers=servers, **settings)) as client:
        yield client


def _produce(servers: str, topic: str, *values: bytes) -> None:
    with closing(KafkaProducer(bootstrap_servers=servers)) as producer:
        for value in values:
            assert producer.send(topic, value).get(clients.SECONDS).topic == topic


def _take(client: Any, count: int) -> list[tuple[str, bytes]]:
    records = [(record.topic, record.value) for record in itertools.islice(client, count)]
    assert len(records) == count
    return records


def test_produce_and_consume_in_a_group(home_a: str, kafka: KafkaCluster, unique: Names) -> None:
    topic, group = unique("orders"), unique("app")
    clients.create(home_a, topic)
    flat = f"team-a..{topic}"
    clients.await_stored(kafka, flat)
    _produce(home_a, topic, b"one", b"two")

    with _consumer(home_a, topic, group_id=group) as client:
        assert _take(client, 2) == [(topic, b"one"), (topic, b"two")]
        assert client.assignment() == {TopicPartition(topic, 0)}
        client.commit()
    with _consumer(kafka.bootstrap_servers, group_id=f"team-a..{group}") as direct:
        assert direct.committed(TopicPartition(flat, 0)) == 2
    assert clients.consume(kafka.bootstrap_servers, flat, 2, unique("direct")) == ["one", "two"]


def test_the_legal_spelling_reaches_any_namespace(
    legal: str, colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    topic = unique("orders")
    spelled = f"org.apache.kafka..{topic}"
    clients.create(legal, spelled)
    clients.await_stored(kafka, spelled)
    _produce(legal, spelled, b"one")
    with _consumer(legal, spelled, group_id=unique("app")) as client:
        assert _take(client, 1) == [(spelled, b"one")]
    assert clients.consume(colon, f"org:apache:kafka:{topic}", 1, unique("readers")) == ["one"]


def test_admin_client(home_a: str, home_b: str, kafka: KafkaCluster, unique: Names) -> None:
    """Create, list, describe, configure, groups, delete."""
    topic, group = unique("made"), unique("app")
    flat = f"team-a..{topic}"
    with closing(KafkaAdminClient(bootstrap_servers=home_a)) as admin:
        admin.create_topics([NewTopic(topic, 2, 1)])
        clients.await_stored(kafka, flat)
        names = set(admin.list_topics())
        assert topic in names
        assert {name for name in names if topic in name} == {topic}
        assert topic not in clients.listed(home_b)
        described = admin.describe_topics([topic])
        assert [entry["name"] for entry in described] == [topic]
        assert len(described[0]["partitions"]) == 2

        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "7654321"})
        admin.alter_configs([resource])
        namespaces.await_value(kafka, flat, "retention.ms", "7654321")
        shown = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        assert "7654321" in str(shown)
        assert flat not in str(shown)

        _produce(home_a, topic, b"one")
        with _consumer(home_a, topic, group_id=group) as client:
            _take(client, 1)
            client.commit()
        assert group in str(admin.list_groups())
        assert "team-a.." not in str(admin.list_groups())
        offsets = admin.list_group_offsets([group])
        assert topic in str(offsets)
        assert flat not in str(offsets)
        admin.delete_groups([group])
        assert group not in str(admin.list_groups())

        admin.delete_topics([topic])
    clients.await_gone(kafka, flat)
