"""confluent-kafka (librdkafka) through the gateway: flat on the broker, logical in the client."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupTopicPartitions,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    OffsetSpec,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from devkit.broker import KafkaCluster
from devkit.waiting import wait_until
from tests.live.support import clients, namespaces

Names = Callable[[str], str]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
@pytest.mark.parametrize(
    ("namespace", "prefix"), [("team-a", "team-a.."), ("org:apache:kafka", "org.apache.kafka..")]
)
def test_produce_and_consume_in_a_group(
    colon: str, kafka: KafkaCluster, unique: Names, namespace: str, prefix: str, protocol: str
) -> None:
    topic = unique("orders")
    logical, flat, group = f"{namespace}:{topic}", prefix + topic, unique("readers")
    clients.create(colon, logical)
    clients.await_stored(kafka, flat)
    sent = ["one", "two", "three"]
    clients.produce(colon, logical, sent)

    assert clients.consume(colon, logical, 3, group, group_protocol=protocol) == sent
    assert clients.consume(kafka.bootstrap_servers, flat, 3, unique("direct")) == sent
    # A member that joins later continues from the group's offsets.
    clients.produce(colon, logical, ["four"])
    assert clients.consume(colon, logical, 1, group, group_protocol=protocol) == ["four"]


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acks(colon: str, kafka: KafkaCluster, unique: Names, acks: str) -> None:
    topic = unique("acks")
    clients.create(colon, f"team-a:{topic}")
    clients.await_led(colon, f"team-a:{topic}")  # with acks=0 no client retries
    clients.produce(colon, f"team-a:{topic}", ["a", "b"], acks=acks)
    read = clients.consume(kafka.bootstrap_servers, f"team-a..{topic}", 2, unique("direct"))
    assert read == ["a", "b"]


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
def test_compressed_records_pass(colon: str, unique: Names, codec: str) -> None:
    topic = f"team-a:{unique('packed')}"
    clients.create(colon, topic)
    sent = [f"{n}-{'x' * 500}" for n in range(50)]
    clients.produce(colon, topic, sent, compression_type=codec)
    assert clients.consume(colon, topic, 50, unique("readers")) == sent


def test_many_topics_and_partitions_in_one_request(
    colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    """Topic names of several lengths in a Produce and a Fetch request, each with several
    partitions."""
    topics = [f"team-a:{unique('short')}", f"org:apache:kafka:{unique('longer')}", unique("bare")]
    clients.create(colon, *topics, partitions=3)
    producer = Producer(clients.settings(colon, linger_ms=200))
    sent = {(topic, n, f"{topic}-{n}-{i}") for topic in topics for n in range(3) for i in range(5)}
    for topic, partition, value in sent:
        producer.produce(topic, value, partition=partition)
    assert producer.flush(clients.SECONDS) == 0

    with clients.consumer(colon, unique("readers")) as client:
        client.subscribe(topics)
        records = clients.take(client, len(sent))
    seen = {(r.topic(), r.partition(), (r.value() or b"").decode()) for r in records}
    assert seen == sent
    flat = {topics[0].replace(":", ".."), topics[2]}
    clients.await_stored(kafka, *flat)


def test_a_consumer_sees_a_topic_created_later(colon: str, unique: Names) -> None:
    """librdkafka requests all topics, because it evaluates its regex itself."""
    group, stem = unique("readers"), unique("late")
    with clients.consumer(colon, group, topic_metadata_refresh_interval_ms=300) as client:
        client.subscribe([f"^team-a:{stem}-.*"])
        wait_until(lambda: _has_no_topic(client), "a listing without the topic", clients.SECONDS)
        clients.create(colon, f"team-a:{stem}-1", f"team-b:{stem}-1")
        clients.produce(colon, f"team-b:{stem}-1", ["foreign"])
        clients.produce(colon, f"team-a:{stem}-1", ["own"])
        record = clients.take(client, 1)[0]
        assert (record.topic(), record.value()) == (f"team-a:{stem}-1", b"own")
        assert client.poll(0.5) is None


def _has_no_topic(client: Consumer) -> bool:
    """Whether a consumer reports now, as it does once, that no topic matches its subscription."""
    message = client.poll(0.1)
    error = None if message is None else message.error()
    return error is not None and error.code() == clients.UNKNOWN_TOPIC_OR_PARTITION


def test_create_list_describe_delete(colon: str, kafka: KafkaCluster, unique: Names) -> None:
    topic = unique("made")
    logical, flat = f"org:apache:kafka:{topic}", f"org.apache.kafka..{topic}"
    clients.create(colon, logical, partitions=2)
    clients.await_stored(kafka, flat)
    assert logical in clients.listed(colon)
    assert flat not in clients.listed(colon)

    admin = clients.admin(colon)
    described = admin.list_topics(topic=logical, timeout=clients.SECONDS)
    assert set(described.topics) == {logical}
    assert set(described.topics[logical].partitions) == {0, 1}

    clients.done(admin.delete_topics([logical], operation_timeout=30))
    clients.await_gone(kafka, flat)
    assert logical not in clients.listed(colon)


def test_a_topic_that_exists_is_not_made_again(colon: str, unique: Names) -> None:
    logical = f"team-a:{unique('twice')}"
    clients.create(colon, logical)
    future = clients.admin(colon).create_topics([NewTopic(logical, 1)])[logical]
    assert clients.error_code(future) == 36  # TOPIC_ALREADY_EXISTS
    text = clients.error_text(future)
    assert logical in text
    assert "team-a.." not in text


def test_create_partitions(colon: str, kafka: KafkaCluster, unique: Names) -> None:
    topic = unique("grows")
    clients.create(colon, f"team-a:{topic}")
    admin = clients.admin(colon)
    clients.done(admin.create_partitions([NewPartitions(f"team-a:{topic}", 4)]))
    flat = f"team-a..{topic}"
    clients.await_partitions(kafka, flat, 4)


def test_configs(colon: str, kafka: KafkaCluster, unique: Names) -> None:
    topic = unique("configured")
    clients.create(colon, f"team-a:{topic}")
    admin = clients.admin(colon)
    asked = ConfigResource(ResourceType.TOPIC, f"team-a:{topic}")
    asked.add_incremental_config(
        ConfigEntry("retention.ms", "1234567", incremental_operation=AlterConfigOpType.SET)
    )
    assert [r.name for r in admin.incremental_alter_configs([asked])] == [f"team-a:{topic}"]
    for future in admin.incremental_alter_configs([asked]).values():
        future.result(clients.SECONDS)
    namespaces.await_value(kafka, f"team-a..{topic}", "retention.ms", "1234567")

    for servers, name in (
        (colon, f"team-a:{topic}"),
        (kafka.bootstrap_servers, f"team-a..{topic}"),
    ):
        resource = ConfigResource(ResourceType.TOPIC, name)
        ((found, future),) = clients.admin(servers).describe_configs([resource]).items()
        assert found.name == name
        assert future.result(clients.SECONDS)["retention.ms"].value == "1234567"


def test_group_offsets(home_a: str, kafka: KafkaCluster, unique: Names) -> None:
    """List, describe, read, alter and delete a group's offsets; the broker's group id is
    prefixed."""
    topic, group = unique("orders"), unique("app")
    clients.create(home_a, topic)
    clients.produce(home_a, topic, ["a", "b", "c"])
    assert clients.consume(home_a, topic, 3, group) == ["a", "b", "c"]
    admin = clients.admin(home_a)

    listed = admin.list_consumer_groups().result(clients.SECONDS)
    assert group in {entry.group_id for entry in listed.valid or ()}
    broker = clients.admin(kafka.bootstrap_servers)
    direct = broker.list_consumer_groups().result(clients.SECONDS)
    assert f"team-a..{group}" in {entry.group_id for entry in direct.valid or ()}

    described = clients.done(admin.describe_consumer_groups([group]))[group]
    assert described.group_id == group

    assert _offsets(home_a, group) == {(topic, 0): 3}
    assert _offsets(kafka.bootstrap_servers, f"team-a..{group}") == {(f"team-a..{topic}", 0): 3}

    new = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 1)])
    clients.done(admin.alter_consumer_group_offsets([new]))
    assert clients.consume(home_a, topic, 2, group) == ["b", "c"]

    clients.done(admin.delete_consumer_groups([group]))
    assert _offsets(kafka.bootstrap_servers, f"team-a..{group}") == {}


def test_list_offsets_and_delete_records(colon: str, unique: Names) -> None:
    topic = f"team-a:{unique('pruned')}"
    clients.create(colon, topic)
    clients.produce(colon, topic, ["a", "b", "c"])
    admin = clients.admin(colon)
    partition = TopicPartition(topic, 0)
    latest = admin.list_offsets({partition: OffsetSpec.latest()})  # type: ignore[no-untyped-call]
    assert latest[partition].result(clients.SECONDS).offset == 3

    deleted = admin.delete_records([TopicPartition(topic, 0, 2)])
    assert [result.result(clients.SECONDS).low_watermark for result in deleted.values()] == [2]
    earliest = admin.list_offsets({partition: OffsetSpec.earliest()})  # type: ignore[no-untyped-call]
    assert earliest[partition].result(clients.SECONDS).offset == 2
    assert clients.consume(colon, topic, 1, unique("readers")) == ["c"]


def test_transactions(home_a: str, kafka: KafkaCluster, unique: Names) -> None:
    """Committed records are read, aborted records are not, and offsets are committed with them."""
    source, target, group = unique("in"), unique("out"), unique("app")
    clients.create(home_a, source, target)
    clients.produce(home_a, source, ["a", "b"])
    producer = Producer(clients.settings(home_a, transactional_id=unique("tx")))
    producer.init_transactions(clients.SECONDS)
    with clients.consumer(home_a, group) as client:
        client.subscribe([source])
        clients.take(client, 2)
        for value, offset, commit in (("kept", 1, True), ("dropped", 2, False)):
            producer.begin_transaction()
            producer.produce(target, value)
            producer.send_offsets_to_transaction(
                [TopicPartition(source, 0, offset)], client.consumer_group_metadata()
            )
            if commit:
                producer.commit_transaction(clients.SECONDS)
            else:
                producer.flush(clients.SECONDS)
                producer.abort_transaction(clients.SECONDS)
    producer.begin_transaction()
    producer.produce(target, "last")
    producer.commit_transaction(clients.SECONDS)

    read = clients.consume(home_a, target, 2, unique("readers"), isolation_level="read_committed")
    assert read == ["kept", "last"]
    assert _offsets(kafka.bootstrap_servers, f"team-a..{group}") == {(f"team-a..{source}", 0): 1}


def test_describe_cluster_shows_the_gateway(colon: str, kafka: KafkaCluster) -> None:
    cluster = clients.admin(colon).describe_cluster().result(clients.SECONDS)
    shown = {f"{node.host}:{node.port}" for node in cluster.nodes}
    assert len(shown) == 1
    assert shown.isdisjoint(kafka.addresses.values())
    assert shown.isdisjoint({colon})


def _offsets(servers: str, group: str) -> dict[tuple[str, int], int]:
    """The offsets that a group has committed, as ``servers`` reports them."""
    asked = [ConsumerGroupTopicPartitions(group)]
    found = clients.done(clients.admin(servers).list_consumer_group_offsets(asked))[group]
    return {(tp.topic, tp.partition): tp.offset for tp in found.topic_partitions}
