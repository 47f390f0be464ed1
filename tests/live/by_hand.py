"""Requests by hand that several live tests make, and what they have to be answered with."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta

from tests.live import clients
from tests.live.wire import Wire

UNKNOWN_TOPIC_OR_PARTITION = 3
UNKNOWN_TOPIC_ID = 100

ALL_ACKS = -1
TIMEOUT = timedelta(seconds=10)
NAMED_BY_ID = 12
"""The first version of Metadata that may name a topic by its id (KIP-516)."""


def topic_id(servers: str, topic: str) -> uuid.UUID:
    """The id of a topic that exists."""
    with Wire(servers) as wire:
        (found,) = wire.ask("Metadata", NAMED_BY_ID, topics=[{"name": topic}]).topics
    assert int(found.error_code) == 0
    assert isinstance(found.topic_id, uuid.UUID)
    return found.topic_id


def fetch(topic: dict[str, object], session_id: int = 0, epoch: int = -1) -> dict[str, object]:
    """The fields of a Fetch of partition 0 of one topic."""
    partition = {
        "partition": 0,
        "fetch_offset": 0,
        "partition_max_bytes": 1_000,
        "current_leader_epoch": -1,
        "last_fetched_epoch": -1,
    }
    return {
        "replica_id": -1,
        "min_bytes": 0,
        "max_bytes": 1_000,
        "session_id": session_id,
        "session_epoch": epoch,
        "topics": [{**topic, "partitions": [partition]}],
    }


def metadata_codes(
    servers: str, version: int, names: Sequence[str], *, allowed: bool
) -> dict[str, int]:
    """The error codes that Metadata of topics answers; before v4 creation is always allowed."""
    more = {} if version < 4 else {"allow_auto_topic_creation": allowed}
    with Wire(servers) as wire:
        answer = wire.ask("Metadata", version, topics=[{"name": name} for name in names], **more)
    return {entry.name: int(entry.error_code) for entry in answer.topics}


def assert_unknown_id(servers: str, topic_id: uuid.UUID) -> None:
    """A topic's id is unknown to Metadata, Fetch and DeleteTopics alike."""
    with Wire(clients.any_broker(servers)) as wire:
        asked = [{"topic_id": topic_id, "name": None}]
        (found,) = wire.ask("Metadata", NAMED_BY_ID, topics=asked).topics
        assert (int(found.error_code), found.name) == (UNKNOWN_TOPIC_ID, None)
        (data,) = wire.ask("Fetch", 13, **fetch({"topic_id": topic_id})).responses
        assert int(data.partitions[0].error_code) == UNKNOWN_TOPIC_ID
        (gone,) = wire.ask("DeleteTopics", 6, topics=asked, timeout=TIMEOUT).responses
        assert (int(gone.error_code), gone.name) == (UNKNOWN_TOPIC_ID, None)
