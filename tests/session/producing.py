"""Produce requests and record batches for tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocol import messages
from protocol.messages import element_class, make
from tests.session.pair import request_frame, topic_id


def batch(records: int, *, producer_id: int = -1, transactional: bool = False) -> bytes:
    """A record batch of magic 2: a complete header, and some bytes."""
    attributes = 0x10 if transactional else 0
    return (
        bytes(16)
        + b"\x02"
        + bytes(4)
        + attributes.to_bytes(2, "big")
        + bytes(20)
        + producer_id.to_bytes(8, "big", signed=True)
        + bytes(6)
        + records.to_bytes(4, "big")
        + b"the records themselves"
    )


def old_batch(magic: int = 1) -> bytes:
    """A message set of a client before KIP-98."""
    return bytes(16) + bytes([magic]) + bytes(60)


def produce(
    topics: Mapping[str, list[bytes | None]], version: int = 9, acks: int = -1, **values: object
) -> Any:
    """A request with these records for partitions 0, 1, ... of each topic (a name or an id)."""
    cls = messages.message_class("ProduceRequest", version)
    topic = element_class(cls, "topic_data")
    partition = element_class(topic, "partition_data")
    data = tuple(
        make(
            topic,
            {
                "name": name,
                "topic_id": topic_id(int(name)) if name.isdigit() else None,
                "partition_data": tuple(
                    make(partition, {"index": index, "records": records})
                    for index, records in enumerate(batches)
                ),
            },
        )
        for name, batches in topics.items()
    )
    return messages.build(cls, acks=acks, topic_data=data, **values)


def large(version: int, topics: int, partitions: int, size: int) -> bytes:
    """A request frame of nearly ``size`` bytes: ``team-a:t0`` and further topics, with a long batch
    for each partition."""
    records = batch(1) + bytes(size // (topics * partitions) - 200)
    wanted: dict[str, list[bytes | None]] = {
        f"team-a:t{number}": [records] * partitions for number in range(topics)
    }
    return request_frame("Produce", version, produce(wanted, version))


def produced(topics: Mapping[str, list[int]], version: int = 9) -> Any:
    """A response with these error codes for partitions 0, 1, ... of each topic."""
    cls = messages.message_class("ProduceResponse", version)
    topic = element_class(cls, "responses")
    partition = element_class(topic, "partition_responses")
    answers = tuple(
        make(
            topic,
            {
                "name": name,
                "topic_id": topic_id(int(name)) if name.isdigit() else None,
                "partition_responses": tuple(
                    make(partition, {"index": index, "error_code": code})
                    for index, code in enumerate(codes)
                ),
            },
        )
        for name, codes in topics.items()
    )
    return messages.build(cls, responses=answers)
