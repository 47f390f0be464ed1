"""Records of the catalog's topic, read and written at the broker by a client that is no gateway."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from gateway.catalog.entities import Namespace
from gateway.catalog.log.records import Headers, Record, encode
from gateway.catalog.log.signatures import Place, SigningKey
from gateway.catalog.log.topics import CATALOG_TOPIC
from tests.live.support import clients


@dataclass
class Foreigner:
    """A client of the broker itself, which bypasses the gateway."""

    servers: str

    def records(self) -> list[Record]:
        """Every record of the catalog's topic, as the broker returns it."""
        settings = clients.settings(self.servers, group_id="-", isolation_level="read_committed")
        consumer = Consumer(settings | {"enable.partition.eof": True})
        found: list[Record] = []
        try:
            consumer.assign([TopicPartition(CATALOG_TOPIC, 0, 0)])
            while True:
                message = consumer.poll(clients.SECONDS)
                assert message is not None, "the catalog's topic is not read in time"
                if message.error() is not None:
                    return found
                offset = message.offset()
                assert offset is not None
                headers: Any = message.headers() or ()
                found.append(Record(message.key(), message.value(), headers, offset))
        finally:
            consumer.close()

    def end(self) -> int:
        """The offset of the next record."""
        consumer = Consumer(clients.settings(self.servers, group_id="-"))
        try:
            partition = TopicPartition(CATALOG_TOPIC, 0)
            return int(consumer.get_watermark_offsets(partition, clients.SECONDS)[1])
        finally:
            consumer.close()

    def write(self, key: bytes | None, value: bytes | None, headers: Headers = ()) -> None:
        """Write a record. Raises KafkaException if the broker rejects it."""
        failures: list[Exception] = []
        producer = Producer(clients.settings(self.servers))

        def told(error: object, _: object) -> None:
            if error is not None:
                failures.append(KafkaException(error))

        producer.produce(CATALOG_TOPIC, value, key, headers=list(headers), on_delivery=told)
        assert producer.flush(clients.SECONDS) == 0
        if failures:
            raise failures[0]


def forged(newest: Record, path: str, at: int, key: SigningKey | None = None) -> Record:
    """A namespace record that looks as if a gateway had written it after the newest record."""
    found = dict(newest.headers)
    seq, entities = int(found["seq"] or b"") + 1, int(found["entities"] or b"")
    after = (found["decision"] or b"").decode()
    place = Place(seq, seq, "0123456789abcdef", after, at, entities)
    return encode(Namespace(path), place, key, strict=key is not None)
