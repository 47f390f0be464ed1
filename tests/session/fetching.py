"""Fetch requests and responses, written short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from protocol import messages
from protocol.messages import element_class, make
from tests.session.pair import topic_id


def _topic(key: str | int) -> dict[str, str | UUID | None]:
    if isinstance(key, str):
        return {"topic": key, "topic_id": None}
    return {"topic": None, "topic_id": topic_id(key)}


def request(
    version: int,
    topics: Mapping[Any, list[int]],
    forgotten: Mapping[Any, list[int]] | None = None,
    **values: object,
) -> Any:
    """A request for these partitions by topic (name, or number of its id)."""
    cls = messages.message_class("FetchRequest", version)
    topic = element_class(cls, "topics")
    partition = element_class(topic, "partitions")
    asked = tuple(
        make(
            topic,
            {
                **_topic(key),
                "partitions": tuple(make(partition, {"partition": p}) for p in numbers),
            },
        )
        for key, numbers in topics.items()
    )
    values = {"max_bytes": 1 << 20, "session_epoch": -1, "topics": asked, **values}
    if forgotten:
        gone = element_class(cls, "forgotten_topics_data")
        values["forgotten_topics_data"] = tuple(
            make(gone, {**_topic(key), "partitions": tuple(numbers)})
            for key, numbers in forgotten.items()
        )
    return make(cls, values)


def response(version: int, topics: Mapping[Any, list[bytes]], **values: object) -> Any:
    """A response with these records for partitions 0, 1, ... of each topic."""
    cls = messages.message_class("FetchResponse", version)
    topic = element_class(cls, "responses")
    partition = element_class(topic, "partitions")
    responses = tuple(
        make(
            topic,
            {
                **_topic(key),
                "partitions": tuple(
                    make(partition, {"partition_index": index, "records": records})
                    for index, records in enumerate(batches)
                ),
            },
        )
        for key, batches in topics.items()
    )
    return make(cls, {"responses": responses, **values})


def batch(records: int, size: int = 100, *, control: bool = False, magic: int = 2) -> bytes:
    """A record batch of ``size`` bytes, of which the header is complete."""
    attributes = 0x20 if control else 0
    header = bytes(8) + (size - 12).to_bytes(4, "big") + bytes(4) + bytes([magic]) + bytes(4)
    header += attributes.to_bytes(2, "big") + bytes(34) + records.to_bytes(4, "big")
    return header + bytes(size - len(header))
