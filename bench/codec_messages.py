"""The messages of the codec bench: what clients and brokers send most, small and large."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from kio.static.primitive import i32Timedelta

from bench.entities import entity
from bench.record_batches import record_batch
from protocol.messages import write

TOPIC: Final = "team-a:orders"
GROUP: Final = "payments"
SUBSCRIPTION_VERSION: Final = 1

_ID: Final = uuid.UUID("6d2f3a52-96e0-4be4-8d0b-7b1f5d2a7c11")
_TIME: Final = i32Timedelta.parse(datetime.timedelta(seconds=30))
_PARTITIONS: Final = 6
_MEMBERS: Final = 20
_RECORDS: Final = record_batch(1, 100)


@dataclass(frozen=True, slots=True)
class Sample:
    """One body of a message, and what makes it this one (``1 partition``)."""

    message: str
    version: int
    about: str
    body: bytes


def samples() -> Iterator[Sample]:
    """All samples."""
    for version in (12, 13):
        for partitions in (1, 16):
            yield _sample("ProduceRequest", version, partitions, _produce)
    for version in (12, 15):
        for partitions in (1, 16, 200):
            yield _sample("FetchRequest", version, partitions, _fetch)
    for version in (12, 15):
        for partitions in (1, 16):
            yield _sample("FetchResponse", version, partitions, _fetched)
    yield _sample("ProduceResponse", 12, 16, _produced)
    for topics in (10, 1000):
        yield _sample("MetadataResponse", 12, topics, _metadata, "topics")
    yield _sample("JoinGroupRequest", 9, 10, _join, "topics")
    yield _sample("JoinGroupResponse", 9, _MEMBERS, _joined, "members")
    yield _sample("OffsetCommitRequest", 9, 16, _commit)


def _sample(
    message: str,
    version: int,
    size: int,
    make: Callable[[int, int], dict[str, Any]],
    of: str = "partitions",
) -> Sample:
    body = write(entity(message, version, make(version, size)))
    return Sample(message, version, f"{size:,} {of if size > 1 else of.removesuffix('s')}", body)


def _named(version: int, name: str) -> dict[str, object]:
    return {"topic_id": _ID} if version >= 13 else {name: TOPIC}


def _produce(version: int, partitions: int) -> dict[str, Any]:
    data = [{"index": index, "records": _RECORDS} for index in range(partitions)]
    topic = {**_named(version, "name"), "partition_data": data}
    return {"acks": -1, "timeout": _TIME, "topic_data": [topic]}


def _produced(_: int, partitions: int) -> dict[str, Any]:
    answers = [{"index": index, "base_offset": 4711} for index in range(partitions)]
    return {"responses": [{"name": TOPIC, "partition_responses": answers}]}


def _fetch(version: int, partitions: int) -> dict[str, Any]:
    wanted = [
        {"partition": index, "fetch_offset": 4711, "partition_max_bytes": 1 << 20}
        for index in range(partitions)
    ]
    topic = {**_named(version, "topic"), "partitions": wanted}
    return {"max_wait": _TIME, "min_bytes": 1, "topics": [topic]}


def _fetched(version: int, partitions: int) -> dict[str, Any]:
    data = [
        {"partition_index": index, "high_watermark": 4711, "records": _RECORDS}
        for index in range(partitions)
    ]
    return {"responses": [{**_named(version, "topic"), "partitions": data}]}


def _metadata(_: int, topics: int) -> dict[str, Any]:
    partitions = [
        {
            "partition_index": index,
            "leader_id": 1 + index % 3,
            "replica_nodes": (1, 2, 3),
            "isr_nodes": (1, 2, 3),
        }
        for index in range(_PARTITIONS)
    ]
    return {
        "brokers": [
            {"node_id": node, "host": f"broker-{node}.example.org", "port": 9092}
            for node in (1, 2, 3)
        ],
        "topics": [
            {"name": f"team-a..orders-{index}", "topic_id": _ID, "partitions": partitions}
            for index in range(topics)
        ],
    }


def _subscription(topics: int) -> bytes:
    names = tuple(f"team-a:orders-{index}" for index in range(topics))
    values = {"topics": names}
    body = write(entity("ConsumerProtocolSubscription", SUBSCRIPTION_VERSION, values))
    return SUBSCRIPTION_VERSION.to_bytes(2, "big") + body


def _join(_: int, topics: int) -> dict[str, Any]:
    protocols = [
        {"name": name, "metadata": _subscription(topics)}
        for name in ("range", "cooperative-sticky")
    ]
    return {
        "group_id": GROUP,
        "session_timeout": _TIME,
        "protocol_type": "consumer",
        "protocols": protocols,
    }


def _joined(_: int, members: int) -> dict[str, Any]:
    return {
        "protocol_type": "consumer",
        "protocol_name": "range",
        "members": [
            {"member_id": f"consumer-{index}", "metadata": _subscription(10)}
            for index in range(members)
        ],
    }


def _commit(_: int, partitions: int) -> dict[str, Any]:
    offsets = [{"partition_index": index, "committed_offset": 4711} for index in range(partitions)]
    return {"group_id": GROUP, "topics": [{"name": TOPIC, "partitions": offsets}]}
