"""Reserved topics, groups and transactional ids: Kafka's own, and the gateways'."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    ResourceType,
)
from confluent_kafka.cimpl import NewPartitions, NewTopic

from devkit.broker import KafkaCluster
from devkit.gateway_process import GatewayProcess
from devkit.waiting import wait_until
from tests.live.support import by_hand, clients
from tests.live.support.by_hand import ALL_ACKS, TIMEOUT, UNKNOWN_TOPIC_OR_PARTITION
from tests.live.support.wire import Wire

Names = Callable[[str], str]

INVALID_TOPIC_EXCEPTION = 17
GROUP_AUTHORIZATION_FAILED = 30
TOPIC_ALREADY_EXISTS = 36
TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53

CATALOG = "__kafka_gateway_catalog"
TRAFFIC_LOG = "__kafka_gateway_traffic"
MARK = "__kafka_gateway_catalog_mark"
SHARE_STATE = "__share_group_state"
INTERNAL = ["__consumer_offsets", "__transaction_state", CATALOG, MARK, TRAFFIC_LOG]
"""The reserved topics that the broker has.

These are Kafka's own, the gateways' catalog with the mark that it exists, and their traffic log.
"""

_RESERVED = re.compile(r"(^|[:.])__")
"""Matches reserved names, with a namespace before them or without."""

_FIRST_PAGE: dict[str, object] = {"response_partition_limit": 2_000, "cursor": None}


@pytest.mark.parametrize("listener", ["colon", "legal", "admin", "narrow", "home-a"])
def test_reserved_topics_do_not_exist_by_name(
    gateway: GatewayProcess, colon: str, kafka: KafkaCluster, unique: Names, listener: str
) -> None:
    """The catalog and other reserved topics are hidden from every client.

    No client can list, create, alter or delete them, even under such a name at home.
    """
    _make_internal_topics(colon, kafka, unique)
    before = _stored_reserved(kafka)
    # A broker makes the topic of share groups' state when a test first uses such a group.
    assert before.keys() - {SHARE_STATE} == {*INTERNAL}
    configs = _dynamic_configs(kafka, CATALOG)
    assert configs["cleanup.policy"] == "compact"
    servers = gateway.bootstrap_servers(listener)
    assert not {name for name in _everything(servers) if _RESERVED.search(name)}
    reserved = [*INTERNAL, SHARE_STATE, f"__kafka_gateway_{unique('x')}"]
    _assert_not_there(servers, reserved)
    admin = clients.admin(servers)
    for name in reserved:
        future = admin.create_topics([NewTopic(name, 1)])[name]
        assert clients.error_code(future) == INVALID_TOPIC_EXCEPTION
        (grown,) = admin.create_partitions([NewPartitions(name, 3)]).values()
        assert clients.error_code(grown) == UNKNOWN_TOPIC_OR_PARTITION
        for resource in _alterations(name):
            (altered,) = admin.incremental_alter_configs([resource]).values()
            assert clients.error_code(altered) == UNKNOWN_TOPIC_OR_PARTITION
        resource = ConfigResource(ResourceType.TOPIC, name)
        (described,) = admin.describe_configs([resource]).values()
        assert clients.error_code(described) == UNKNOWN_TOPIC_OR_PARTITION
    assert _stored_reserved(kafka) == before
    assert not {name for name in kafka.topics() if name.startswith("team-a..__")}
    assert _dynamic_configs(kafka, CATALOG) == configs


def test_reserved_topics_do_not_exist_by_id(colon: str, kafka: KafkaCluster, unique: Names) -> None:
    _make_internal_topics(colon, kafka, unique)
    for name in INTERNAL:
        topic_id = by_hand.topic_id(kafka.bootstrap_servers, name)
        by_hand.assert_unknown_id(colon, topic_id)
        assert by_hand.topic_id(kafka.bootstrap_servers, name) == topic_id


def test_no_namespace_holds_reserved_topics(colon: str, kafka: KafkaCluster) -> None:
    """Its topics would be stored under a reserved name."""
    before = _stored_reserved(kafka)
    for name in ("__kafka_gateway:", "__kafka_gateway_x:", "__kafka_gateway_x:y:"):
        future = clients.admin(colon).create_topics([NewTopic(name, 1)])[name]
        assert clients.error_code(future) == INVALID_TOPIC_EXCEPTION
        future = clients.admin(colon).create_topics([NewTopic(f"{name}t", 1)])[f"{name}t"]
        assert clients.error_code(future) == INVALID_TOPIC_EXCEPTION
    assert _stored_reserved(kafka) == before


@pytest.mark.parametrize("name", ["__kafka_gateway_x", CATALOG])
def test_reserved_groups_and_transactional_ids_are_rejected(colon: str, name: str) -> None:
    """With the catalog's own transactional id, a client could fence the catalog's writers."""
    with Wire(clients.any_broker(colon)) as wire:
        group = wire.ask("FindCoordinator", 3, key=name, key_type=0)
        assert int(group.error_code) == GROUP_AUTHORIZATION_FAILED
        transaction = wire.ask("FindCoordinator", 3, key=name, key_type=1)
        assert int(transaction.error_code) == TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        started = wire.ask("InitProducerId", 3, transactional_id=name, producer_id=-1)
        assert int(started.error_code) == TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def _make_internal_topics(servers: str, kafka: KafkaCluster, unique: Names) -> None:
    """Make Kafka create its own topics, by the first group and the first transaction.

    The traffic log's topic is another gateway's, which may have been there before.
    """
    admin = clients.admin(kafka.bootstrap_servers)
    (made,) = admin.create_topics([NewTopic(TRAFFIC_LOG, 1)]).values()
    there = made.exception(clients.SECONDS) is None
    assert there or clients.error_code(made) == TOPIC_ALREADY_EXISTS
    wait_until(lambda: TRAFFIC_LOG in _stored_reserved(kafka), TRAFFIC_LOG, clients.SECONDS)
    topic = f"team-a:{unique('orders')}"
    clients.create(servers, topic)
    clients.produce(servers, topic, ["one"])
    clients.consume(servers, topic, 1, unique("readers"))
    producer = Producer(clients.settings(servers, transactional_id=unique("tx")))
    producer.init_transactions(clients.SECONDS)


def _assert_not_there(servers: str, names: Sequence[str]) -> None:
    """Assert that these names are unknown to clients that create, read or delete topics."""
    with Wire(clients.any_broker(servers)) as wire:
        asked = [{"name": name} for name in names]
        answer = wire.ask("Metadata", 9, topics=asked, allow_auto_topic_creation=True)
        assert {int(t.error_code) for t in answer.topics} == {UNKNOWN_TOPIC_OR_PARTITION}
        described = wire.ask("DescribeTopicPartitions", 0, topics=asked, **_FIRST_PAGE).topics
        assert {int(t.error_code) for t in described} == {UNKNOWN_TOPIC_OR_PARTITION}
        for name in names:
            (data,) = wire.ask("Fetch", 12, **by_hand.fetch({"topic": name})).responses
            assert int(data.partitions[0].error_code) == UNKNOWN_TOPIC_OR_PARTITION
            records = [{"name": name, "partition_data": [{"index": 0, "records": b""}]}]
            (data,) = wire.ask(
                "Produce", 9, acks=ALL_ACKS, topic_data=records, transactional_id=None
            ).responses
            assert int(data.partition_responses[0].error_code) == UNKNOWN_TOPIC_OR_PARTITION
        gone = wire.ask("DeleteTopics", 5, topic_names=tuple(names), timeout=TIMEOUT).responses
        assert {int(t.error_code) for t in gone} == {UNKNOWN_TOPIC_OR_PARTITION}


def _alterations(name: str) -> list[ConfigResource]:
    """Alterations that would spoil the catalog's topic or move it into a namespace."""
    changes = {"cleanup.policy": "delete", "gateway.namespace": "team-a"}
    return [
        ConfigResource(
            ResourceType.TOPIC,
            name,
            incremental_configs=[
                ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
            ],
        )
        for key, value in changes.items()
    ]


def _stored_reserved(kafka: KafkaCluster) -> dict[str, int]:
    """The reserved topics on the broker, with the number of their partitions.

    The catalogs that other tests create for themselves there are left out.
    """
    topics = clients.admin(kafka.bootstrap_servers).list_topics(timeout=clients.SECONDS).topics
    reserved = {name: t for name, t in topics.items() if name.startswith("__")}
    others = f"{CATALOG}-test-"
    return {name: len(t.partitions) for name, t in reserved.items() if not name.startswith(others)}


def _dynamic_configs(kafka: KafkaCluster, topic: str) -> dict[str, str]:
    """The configs that were set on a topic of the broker itself."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    (future,) = clients.admin(kafka.bootstrap_servers).describe_configs([resource]).values()
    entries = future.result(clients.SECONDS).values()
    source = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {entry.name: entry.value for entry in entries if entry.source == source}


def _everything(servers: str) -> set[str]:
    """All names in a listing, including Kafka's own topics."""
    return set(clients.admin(servers).list_topics(timeout=clients.SECONDS).topics)
