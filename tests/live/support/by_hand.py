"""Requests by hand that several live tests send, and checks of their responses."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from devkit.waiting import wait_until
from protocol import messages
from tests.live.support import clients
from tests.live.support.wire import Wire, entity

UNKNOWN_TOPIC_OR_PARTITION = 3
UNKNOWN_TOPIC_ID = 100

ALL_ACKS = -1
TIMEOUT = timedelta(seconds=60)
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
    """The fields of a Fetch of partition 0 of a single topic."""
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
    """The error codes of topics in a Metadata response; before v4 creation is always allowed."""
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


def await_coordinators(wire: Wire, groups: Sequence[str], transactional_ids: Sequence[str]) -> None:
    """Wait until these have coordinators that respond; the first lookup creates Kafka's topics."""

    def ready() -> bool:
        asked = ((0, groups), (1, transactional_ids))
        answers = [
            wire.ask("FindCoordinator", 4, key_type=kind, coordinator_keys=tuple(keys))
            for kind, keys in asked
            if keys
        ]
        if any(int(each.error_code) for one in answers for each in one.coordinators):
            return False
        found = wire.ask("DescribeGroups", 5, groups=tuple(groups)).groups
        codes = {int(each.error_code) for each in found}
        return codes <= {0} and all(_is_ready(wire, each) for each in transactional_ids)

    wait_until(ready, f"coordinators of {groups} and {transactional_ids}", clients.SECONDS)


def _is_ready(wire: Wire, transactional_id: str) -> bool:
    return int(init_producer_id(wire, transactional_id).error_code) == 0


def init_producer_id(wire: Wire, transactional_id: str) -> Any:
    """The response to InitProducerId v4 of a producer without an id."""
    return wire.ask(
        "InitProducerId",
        4,
        transactional_id=transactional_id,
        transaction_timeout=TIMEOUT,
        producer_id=-1,
        producer_epoch=-1,
    )


def long_poll(topic: str, seconds: float) -> bytes:
    """A Fetch v4 that the broker answers when a byte comes, or after ``seconds``."""
    request = messages.message_class("FetchRequest", 4)
    partition = {"partition": 0, "partition_max_bytes": 1_000}
    values = {
        "replica_id": -1,
        "max_wait": timedelta(seconds=seconds),
        "min_bytes": 1,
        "max_bytes": 1_000,
        "topics": [{"topic": topic, "partitions": [partition]}],
    }
    return messages.write(entity(request, values))
