"""The partitions of a broker in memory: Metadata of topics by name, and CreatePartitions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from protocol.messages import element_class, make

NO_SUCH_TOPIC = 3
INVALID_PARTITIONS = 37
INVALID_ASSIGNMENT = 39


class FakePartitions:
    """Responses of a broker with these ``topics``; all replicas are on broker 1, unless a topic has
    others."""

    topics: Mapping[str, Any]

    def _MetadataRequest(self, request: Any, cls: type) -> Any:
        topic_class = element_class(cls, "topics")
        partition_class = element_class(topic_class, "partitions")
        assert not request.allow_auto_topic_creation
        results: list[Any] = []
        for asked in request.topics:
            topic = self.topics.get(asked.name)
            values: dict[str, object] = {"name": asked.name, "error_code": NO_SUCH_TOPIC}
            if topic is not None:
                values["error_code"] = 0
                leader = {"leader_id": getattr(topic, "leader", 1)}
                values["partitions"] = tuple(
                    make(
                        partition_class, {**leader, "partition_index": n, "replica_nodes": replicas}
                    )
                    for n, replicas in enumerate(replicas_of(topic))
                )
            results.append(make(topic_class, values))
        broker_class = element_class(cls, "brokers")
        brokers = (make(broker_class, {"node_id": 1, "host": "10.0.0.1", "port": 9092}),)
        return make(cls, {"topics": tuple(results), "brokers": brokers})

    def _CreatePartitionsRequest(self, request: Any, cls: type) -> Any:
        result_class = element_class(cls, "results")
        results: list[Any] = []
        for asked in request.topics:
            code, message = self._grow(asked, request.validate_only)
            values = {"name": asked.name, "error_code": code, "error_message": message}
            results.append(make(result_class, values))
        return make(cls, {"results": tuple(results)})

    def _grow(self, asked: Any, validate_only: bool) -> tuple[int, str | None]:
        topic = self.topics.get(asked.name)
        if topic is None:
            return NO_SUCH_TOPIC, "This server does not host this topic-partition."
        if asked.count <= topic.partitions:
            text = f"The topic {asked.name} currently has {topic.partitions} partition(s)"
            return INVALID_PARTITIONS, f"{text}; {asked.count} would not be an increase."
        assigned = None
        if asked.assignments is not None:
            assigned = [tuple(each.broker_ids) for each in asked.assignments]
            if len(assigned) != asked.count - topic.partitions:
                return INVALID_ASSIGNMENT, "Wrong number of assignments."
        if not validate_only:
            topic.assigned |= dict(enumerate(assigned or (), start=topic.partitions))
            topic.partitions = asked.count
        return 0, None


def replicas_of(topic: Any) -> list[tuple[int, ...]]:
    """The brokers of each partition."""
    return [topic.assigned.get(number, (1,)) for number in range(topic.partitions)]
