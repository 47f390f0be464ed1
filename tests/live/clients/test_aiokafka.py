"""aiokafka through the gateway: flat on the broker, logical in the client."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from devkit.broker import KafkaCluster
from tests.live.support import clients, namespaces
from tests.waiting import eventually

Names = Callable[[str], str]


@asynccontextmanager
async def _admin(servers: str) -> AsyncIterator[AIOKafkaAdminClient]:
    client = AIOKafkaAdminClient(bootstrap_servers=servers)
    await client.start()
    try:
        yield client
    finally:
        await client.close()


@asynccontextmanager
async def _consumer(servers: str, *topics: str, **more: object) -> AsyncIterator[AIOKafkaConsumer]:
    settings = {"auto_offset_reset": "earliest", "enable_auto_commit": False, **more}
    client = AIOKafkaConsumer(*topics, bootstrap_servers=servers, **settings)
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


async def _take(client: AIOKafkaConsumer, count: int) -> list[tuple[str, str]]:
    records: list[tuple[str, str]] = []
    async for record in client:
        records.append((record.topic, record.value.decode()))
        if len(records) == count:
            break
    return records


async def test_produce_and_consume_in_a_group(
    colon: str, kafka: KafkaCluster, unique: Names
) -> None:
    """Two members share a group, so assignments with topic names are rewritten in both
    directions."""
    topic, group = unique("orders"), unique("readers")
    logical, flat = f"org:apache:kafka:{topic}", f"org.apache.kafka..{topic}"
    clients.create(colon, logical, partitions=2)
    clients.await_stored(kafka, flat)
    async with AIOKafkaProducer(bootstrap_servers=colon) as producer:
        for partition in (0, 1):
            sent = await producer.send_and_wait(logical, b"hello", partition=partition)
            assert sent.topic == logical

    async with (
        _consumer(colon, logical, group_id=group) as one,
        _consumer(colon, logical, group_id=group) as two,
    ):
        await eventually(
            lambda: len(one.assignment()) == len(two.assignment()) == 1, "a partition for each"
        )
        assert {tp.topic for tp in one.assignment() | two.assignment()} == {logical}
        assert await _take(one, 1) == await _take(two, 1) == [(logical, "hello")]
        await one.commit()
        await two.commit()
    async with _consumer(kafka.bootstrap_servers, group_id=group) as direct:
        for partition in (0, 1):
            assert await direct.committed(TopicPartition(flat, partition)) == 1
    async with _consumer(kafka.bootstrap_servers, flat) as direct:
        assert await _take(direct, 2) == [(flat, "hello")] * 2


async def test_transactions(colon: str, kafka: KafkaCluster, unique: Names) -> None:
    topic = unique("paid")
    logical = f"team-a:{topic}"
    clients.create(colon, logical)
    async with AIOKafkaProducer(bootstrap_servers=colon, transactional_id=unique("tx")) as producer:
        await producer.begin_transaction()
        await producer.send_and_wait(logical, b"dropped")
        await producer.abort_transaction()
        async with producer.transaction():
            await producer.send_and_wait(logical, b"kept")
    async with _consumer(colon, logical, isolation_level="read_committed") as client:
        assert await _take(client, 1) == [(logical, "kept")]
    flat = f"team-a..{topic}"
    async with _consumer(kafka.bootstrap_servers, flat, isolation_level="read_committed") as direct:
        assert await _take(direct, 1) == [(flat, "kept")]


async def test_admin_client(colon: str, kafka: KafkaCluster, unique: Names) -> None:
    """Create, list, describe, configure, grow, delete."""
    topic = unique("made")
    logical, flat = f"team-a:{topic}", f"team-a..{topic}"
    async with _admin(colon) as admin:
        created = await admin.create_topics([NewTopic(logical, 1, 1)])
        assert [(entry[0], entry[1]) for entry in created.topic_errors] == [(logical, 0)]
        clients.await_stored(kafka, flat)
        names = await admin.list_topics()
        assert logical in names
        assert flat not in names

        await admin.create_partitions({logical: NewPartitions(3)})
        described = await admin.describe_topics([logical])
        assert [(entry["topic"], entry["error_code"]) for entry in described] == [(logical, 0)]

        resource = ConfigResource(ConfigResourceType.TOPIC, logical, {"retention.ms": "7654321"})
        await admin.alter_configs([resource])
        namespaces.await_value(kafka, flat, "retention.ms", "7654321")
        answers = await admin.describe_configs(
            [ConfigResource(ConfigResourceType.TOPIC, logical, {"retention.ms": None})]
        )
        (_, _, _, name, entries), *_ = answers[0].resources
        assert name == logical
        assert entries[0][:2] == ("retention.ms", "7654321")

        deleted = await admin.delete_topics([logical])
        assert [tuple(entry) for entry in deleted.topic_error_codes] == [(logical, 0)]
    clients.await_gone(kafka, flat)


async def test_home_namespace(home_a: str, kafka: KafkaCluster, unique: Names) -> None:
    """An application that knows nothing of namespaces; the broker has its group as team-a's."""
    topic, group = unique("orders"), unique("app")
    async with _admin(home_a) as admin:
        await admin.create_topics([NewTopic(topic, 1, 1)])
        clients.await_stored(kafka, f"team-a..{topic}")
        async with AIOKafkaProducer(bootstrap_servers=home_a) as producer:
            await producer.send_and_wait(topic, b"mine")
        async with _consumer(home_a, topic, group_id=group) as client:
            assert await _take(client, 1) == [(topic, "mine")]
            await client.commit()
        assert group in {entry[0] for entry in await admin.list_consumer_groups()}
        offsets = await admin.list_consumer_group_offsets(group)
        assert {tp: found.offset for tp, found in offsets.items()} == {TopicPartition(topic, 0): 1}
    async with _admin(kafka.bootstrap_servers) as direct:
        assert f"team-a..{group}" in {entry[0] for entry in await direct.list_consumer_groups()}
