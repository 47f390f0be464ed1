"""The requests of the loads, byte for byte as a client would send them."""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from kio.static.primitive import i32Timedelta

from bench.entities import request_frame

TOPIC_IDS_SINCE = {"ProduceRequest": 13, "FetchRequest": 13}
"""The first versions that say topic ids instead of names (KIP-516)."""

_TIMEOUT = i32Timedelta.parse(datetime.timedelta(seconds=30))
_NO_WAIT = i32Timedelta.parse(datetime.timedelta(0))


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as a client knows it: the name as the client spells it, and the id it was told."""

    name: str
    id: uuid.UUID | None


def produce_request(version: int, topic: Topic, batches: Mapping[int, bytes]) -> bytes:
    """A frame that produces one batch to each partition, with acks=1."""
    partitions = [{"index": index, "records": batch} for index, batch in batches.items()]
    values = {
        "acks": 1,
        "timeout": _TIMEOUT,
        "topic_data": [_named("ProduceRequest", version, topic, "name", partition_data=partitions)],
    }
    return request_frame("ProduceRequest", version, values)


def fetch_request(
    version: int, topic: Topic, partitions: int, *, partition_max_bytes: int, max_bytes: int
) -> bytes:
    """A frame that fetches partitions 0 to ``partitions`` - 1 from offset 0.

    Without a fetch session, and the broker answers at once, so every answer is the same.
    """
    wanted = [
        {"partition": index, "fetch_offset": 0, "partition_max_bytes": partition_max_bytes}
        for index in range(partitions)
    ]
    values = {
        "max_wait": _NO_WAIT,
        "min_bytes": 0,
        "max_bytes": max_bytes,
        "session_epoch": -1,
        "topics": [_named("FetchRequest", version, topic, "topic", partitions=wanted)],
    }
    return request_frame("FetchRequest", version, values)


def metadata_request(version: int, topic: str) -> bytes:
    """A frame that asks for one topic."""
    values = {"topics": [{"name": topic}], "allow_auto_topic_creation": False}
    return request_frame("MetadataRequest", version, values)


def api_versions_request(version: int) -> bytes:
    """A frame that asks what the broker serves."""
    values = {"client_software_name": "bench", "client_software_version": "1"}
    return request_frame("ApiVersionsRequest", version, values)


def _named(
    message: str, version: int, topic: Topic, name_field: str, **values: object
) -> dict[str, object]:
    if version < TOPIC_IDS_SINCE[message]:
        return {name_field: topic.name, **values}
    if topic.id is None:
        raise ValueError(f"{message} v{version} needs the id of {topic.name}")
    return {"topic_id": topic.id, **values}
