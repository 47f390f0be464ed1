"""Reads for tests of a traffic log: the log's topic, and the brokers' end offsets."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from devkit.broker import KafkaCluster
from devkit.traffic_sums import Record
from devkit.waiting import wait_until
from tests.live.support import clients


def read_topic(kafka: KafkaCluster, topic: str) -> list[tuple[bytes, Record]]:
    """Keys and values of all records in the topic now, as the brokers themselves return them."""
    settings = clients.settings(kafka.bootstrap_servers, group_id="none", enable_auto_commit=False)
    consumer = Consumer(settings)
    try:
        known = consumer.list_topics(topic, timeout=clients.SECONDS).topics[topic].partitions
        consumer.assign([TopicPartition(topic, at, OFFSET_BEGINNING) for at in known])
        count = sum(end_offset(consumer, topic, at) for at in known)
        records = clients.take(consumer, count)
    finally:
        consumer.close()
    return [(record.key() or b"", json.loads(record.value() or b"")) for record in records]


def end_offset(consumer: Consumer, topic: str, partition: int) -> int:
    """The end offset of a partition, which begins at 0."""
    place = TopicPartition(topic, partition)
    low, high = consumer.get_watermark_offsets(place, timeout=clients.SECONDS)
    assert low == 0
    return int(high)


def end_offsets(kafka: KafkaCluster, topics: Iterable[str]) -> dict[str, int]:
    """The sum of each topic's end offsets, by flat name, as the brokers report them."""
    consumer = Consumer(clients.settings(kafka.bootstrap_servers, group_id="none"))
    try:
        known = consumer.list_topics(timeout=clients.SECONDS).topics
        return {
            name: sum(end_offset(consumer, name, at) for at in known[name].partitions)
            for name in topics
        }
    finally:
        consumer.close()


def await_ends(kafka: KafkaCluster, ends: Mapping[str, int]) -> None:
    """Wait until the brokers serve these topics, and have at least so many records in each."""

    def there() -> bool:
        with suppress(KafkaException, KeyError):
            found = end_offsets(kafka, ends)
            return all(found[topic] >= end for topic, end in ends.items())
        return False

    wait_until(there, f"{ends} on the broker", clients.SECONDS)


def added(records: Iterable[Record], field: str, **where: str) -> int:
    """The sum of a field of all flow records that have these values."""
    return sum(
        record[field]
        for record in records
        if record["kind"] == "flow" and where.items() <= record.items()
    )
