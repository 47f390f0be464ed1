"""Steps of tests with two sites: fill topics, read them whole, and compare them."""

from __future__ import annotations

import contextlib
import hashlib
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import ConfigResource, ConfigSource, OffsetSpec, ResourceType
from confluent_kafka.cimpl import NewTopic

from devkit.topics import create_topics
from devkit.waiting import wait_until
from tests.live.support import clients
from tests.live.support.clients import SECONDS, settings

IDENTITY: Final = {
    "replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
}
"""The settings of MirrorMaker with which topics keep their names."""

BACK: Final = {"A->B.emit.heartbeats.enabled": "false"}
"""The settings of MirrorMaker with which a flow from B to A does not start connectors of a former
flow from A to B (MirrorMakerConfig.clusterPairs), as in config/mirror-back.properties."""

LAG: Final = 10
"""``offset.lag.max`` of devkit.mirror_maker: how far offsets at the end may be behind."""

_FIRST_TIMESTAMP: Final = int(time.time() * 1000) - 3_600_000
"""Recent enough that brokers do not delete the records (``retention.ms``)."""

_BATCH: Final = 5_000


@dataclass(frozen=True, slots=True)
class Partition:
    """The records of a partition: how many there are, and a digest of all their bytes."""

    records: int
    digest: str


@dataclass(frozen=True, slots=True)
class Content:
    """A topic: its partitions' records, and the configs set on it."""

    partitions: tuple[Partition, ...]
    configs: Mapping[str, str]


def create(
    servers: str, topics: Iterable[str], partitions: int, configs: Mapping[str, str] | None = None
) -> None:
    """Create topics of so many partitions with these configs, and wait until they can be used."""
    names = list(topics)
    wanted = [NewTopic(name, partitions, 1, config=dict(configs or {})) for name in names]
    create_topics(clients.admin(servers), wanted)
    clients.await_led(servers, *names)


def fill(servers: str, topic: str, count: int, partitions: int, *, first: int = 0) -> None:
    """Produce records ``first`` and up.

    Their content depends on their number alone: keys and values that are null or empty, bytes of
    every kind, headers, timestamps.
    """
    producer = Producer(settings(servers, linger_ms=20, acks="all"))
    for number in range(first, first + count):
        key, value, headers = record(number)
        while True:
            try:
                producer.produce(
                    topic,
                    value,
                    key,
                    partition=number % partitions,
                    headers=headers,
                    timestamp=_FIRST_TIMESTAMP + number,
                )
                break
            except BufferError:
                producer.poll(1)
        if not number % 1000:
            producer.poll(0)
    assert producer.flush(SECONDS) == 0, f"records for {topic} were not acknowledged"


def record(number: int) -> tuple[bytes | None, bytes | None, list[tuple[str, str | bytes | None]]]:
    """Key, value and headers of a record."""
    noise = random.Random(number)
    key = None if number % 7 == 0 else b"" if number % 11 == 0 else b"key-%d" % (number % 1000)
    value = b"%d;" % number + noise.randbytes(number % 90)
    if number % 13 == 0:
        return key, None, [("number", b"%d" % number)]
    headers: list[tuple[str, str | bytes | None]] = [("h", noise.randbytes(8)), ("h", None)]
    return key, value, headers if number % 5 == 0 else []


def content(servers: str, topic: str) -> Content:
    """A topic's present content, read to its end."""
    count = len(clients.admin(servers).list_topics(topic, timeout=SECONDS).topics[topic].partitions)
    return Content(_read(servers, topic, count), set_configs(servers, topic))


def _read(servers: str, topic: str, count: int) -> tuple[Partition, ...]:
    digests = [hashlib.sha256() for _ in range(count)]
    records = [0] * count
    ended: set[int] = set()
    with clients.consumer(servers, "reader", enable_partition_eof=True) as consumer:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(count)])

        def read() -> bool:
            for one in consumer.consume(_BATCH, timeout=0.1):
                number = int(one.partition() or 0)
                error = one.error()
                if error is not None:
                    assert error.code() == KafkaError._PARTITION_EOF, error
                    ended.add(number)
                    continue
                bytes_of_it = (one.key(), one.value(), one.headers(), one.timestamp())
                digests[number].update(repr(bytes_of_it).encode())
                records[number] += 1
            return len(ended) == count

        wait_until(read, f"the end of {topic}", SECONDS, poll=0)
    return tuple(
        Partition(number, digest.hexdigest())
        for number, digest in zip(records, digests, strict=True)
    )


def set_configs(servers: str, topic: str) -> dict[str, str]:
    """The configs that are set on a topic, by key."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    (future,) = clients.admin(servers).describe_configs([resource]).values()
    found = future.result(SECONDS).values()
    dynamic = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {one.name: one.value for one in found if one.source == dynamic}


def ends(servers: str, topics: Iterable[str]) -> dict[tuple[str, int], int]:
    """The end offset of each partition."""
    admin = clients.admin(servers)
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    asked = {
        TopicPartition(topic, number): latest
        for topic in topics
        for number in admin.list_topics(topic, timeout=SECONDS).topics[topic].partitions
    }
    found = admin.list_offsets(asked, request_timeout=SECONDS)
    return {(at.topic, at.partition): one.result(SECONDS).offset for at, one in found.items()}


def await_records(servers: str, topic: str, count: int) -> None:
    """Wait until a topic is listed and has so many records."""

    def there() -> bool:
        # A topic is listed before its partitions have a leader.
        with contextlib.suppress(KafkaException):
            return (
                topic in clients.listed(servers) and sum(ends(servers, [topic]).values()) >= count
            )
        return False

    wait_until(there, f"{count} records in {topic}", SECONDS, poll=0.5)


def values(
    servers: str, topic: str, begins: Mapping[tuple[str, int], int] | None = None
) -> set[bytes | None]:
    """The values of all records that a topic has now.

    Each partition is read from its offset in ``begins``, or from 0.
    """
    begins = begins or {}
    at_end = {at: end for at, end in ends(servers, [topic]).items() if begins.get(at, 0) < end}
    found: set[bytes | None] = set()
    with clients.consumer(servers, "reader") as consumer:
        consumer.assign([TopicPartition(*at, begins.get(at, 0)) for at in at_end])

        def read() -> bool:
            for one in consumer.consume(_BATCH, timeout=0.2):
                assert one.error() is None, one.error()
                found.add(one.value())
            positions = consumer.position([TopicPartition(*at) for at in at_end])
            return all(one.offset >= at_end[one.topic, one.partition] for one in positions)

        wait_until(read, f"the records of {topic}", SECONDS, poll=0)
    return found


def committed(servers: str, group: str, topics: Iterable[str]) -> dict[tuple[str, int], int]:
    """The offsets that a group has committed, by partition.

    Raises KafkaException if a partition has an error instead of an offset.
    """
    asked = [TopicPartition(topic, number) for topic, number in ends(servers, topics)]
    consumer = Consumer(settings(servers, group_id=group))
    try:
        found = consumer.committed(asked, timeout=SECONDS)
    finally:
        consumer.close()
    for one in found:
        if one.error is not None:
            raise KafkaException(one.error)
    return {(one.topic, one.partition): one.offset for one in found if one.offset >= 0}


def read(
    servers: str, group: str, topics: Sequence[str], count: int
) -> dict[tuple[str, int, int], bytes | None]:
    """Read so many records as a member of a group, from its position, and commit them.

    Returns the records' values by topic, partition and offset.
    """
    found: dict[tuple[str, int, int], bytes | None] = {}
    with clients.consumer(servers, group) as consumer:
        consumer.subscribe(list(topics))

        def has_read() -> bool:
            for one in consumer.consume(min(_BATCH, count - len(found)), timeout=0.2):
                assert one.error() is None, one.error()
                at = str(one.topic()), int(one.partition() or 0), int(one.offset() or 0)
                found[at] = one.value()
            return len(found) >= count

        wait_until(has_read, f"{count} records for group {group}", SECONDS, poll=0)
        consumer.commit(asynchronous=False)
    return found


def read_left(
    servers: str, group: str, topics: Sequence[str]
) -> dict[tuple[str, int, int], bytes | None]:
    """Read as a member of a group, from its position to the present ends, and commit.

    Returns the records' values by topic, partition and offset. It does not count records, because
    repeated records would then leave out as many at the end.
    """
    was, at_end = committed(servers, group, topics), ends(servers, topics)
    found: dict[tuple[str, int, int], bytes | None] = {}
    positions = {at: was.get(at, 0) for at in at_end}
    with clients.consumer(servers, group) as consumer:
        consumer.subscribe(list(topics))

        def has_read() -> bool:
            for one in consumer.consume(_BATCH, timeout=0.2):
                assert one.error() is None, one.error()
                at = str(one.topic()), int(one.partition() or 0)
                offset = int(one.offset() or 0)
                found[*at, offset] = one.value()
                positions[at] = max(positions[at], offset + 1)
            return all(positions[at] >= end for at, end in at_end.items())

        wait_until(has_read, f"what group {group} has not read", SECONDS, poll=0)
        consumer.commit(asynchronous=False)
    return found
