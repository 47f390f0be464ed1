"""Topics of a volume that cannot be reached, as Metadata and DescribeTopicPartitions answer them.

A topic that the gateway has seen stays in the client's metadata: it is answered without an error,
with its partitions without leaders. (An error would remove the topic from the metadata of Java's
clients: producers would forget the partitions, and a group leader would rebalance.) A topic that
the gateway has never seen is LEADER_NOT_AVAILABLE.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from gateway.apis.namespace_listing import NO_LEADER
from gateway.error_codes import LEADER_NOT_AVAILABLE
from gateway.rules.declaration import TOPIC_ID
from gateway.rules.division import Recall, Remembered
from protocol.pausing import eased


def recalled(topics: Collection[Any], recall: Recall) -> Mapping[str, Remembered]:
    """The remembered topics among the topics that a request names by name or by id."""
    by_id = [each for each in eased(topics) if getattr(each, TOPIC_ID, None) is not None]
    names = [each.name for each in eased(topics) if getattr(each, TOPIC_ID, None) is None]
    return recall(names, [each.topic_id.bytes for each in eased(by_id)])


def entry_of(
    topic: Any,
    names: Mapping[bytes | None, str],
    remembered: Mapping[str, Remembered],
    start: int = 0,
) -> dict[str, object]:
    """The answer for a requested topic, from the partition at ``start`` on; ``names`` maps
    remembered ids to names."""
    topic_id: UUID | None = getattr(topic, TOPIC_ID, None)
    name = topic.name if topic_id is None else names.get(topic_id.bytes, topic.name)
    seen = None if name is None else remembered.get(name)
    if seen is not None and (topic_id is None or seen[0] == topic_id.bytes):
        return seen_entry(name, seen, start)
    return {"name": name, TOPIC_ID: topic_id, "error_code": LEADER_NOT_AVAILABLE}


def seen_entry(name: str, seen: Remembered, start: int = 0) -> dict[str, object]:
    """The answer for a remembered topic."""
    raw_id, count = seen
    partitions = [
        {
            "error_code": LEADER_NOT_AVAILABLE,
            "partition_index": index,
            "leader_id": NO_LEADER,
            "leader_epoch": NO_LEADER,
            # Empty arrays: Java's client fails on null.
            "eligible_leader_replicas": (),
            "last_known_elr": (),
        }
        for index in range(start, count)
    ]
    topic_id = None if raw_id is None else UUID(bytes=raw_id)
    return {"name": name, TOPIC_ID: topic_id, "partitions": partitions}
