"""Requests at random of any API and version, made from kio's schema alone: a new API needs a row
only if its fields have names that no other API has, and values that a broker would reject."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Final, get_type_hints
from uuid import UUID

from protocol import messages
from protocol.schema import FieldSpec, StructSpec, field_type, message_spec
from tests.scenarios.entities import consumer_protocol

VALUES: Final[Mapping[str, Sequence[Any]]] = {
    "acks": (1, -1),
    "broker_ids": (1,),
    "config_operation": (0, 0, 1, 2, 3),
    "coordinator_epoch": (0,),
    "count": (2, 4),
    "current_leader_epoch": (-1, 1),
    "duration_filter": (-1, 0),
    "endpoint_type": (1, 1, 1, 2),
    "entity_type": ("user", "client-id"),
    "host": ("*", "10.0.0.1"),
    "host_filter": (None,),
    "iterations": (4096,),
    "key_type": (0, 0, 1),
    "match": (None,),
    "match_type": (1, 2),
    "max_bytes": (1 << 20,),
    "mechanism": (1, 2),
    "name": (
        *("retention.ms", "cleanup.policy", "gateway.link", "gateway.namespace", "gateway.adopt"),
        *("gateway.links", "none.such", "bob"),
    ),
    "num_partitions": (1, 2, -1),
    "operation": (1, 2, 3, 4, 8, 10, 12),
    "partition": (0,),
    "partition_index": (0,),
    "partition_indexes": (0,),
    "partitions": (0,),
    "index": (0,),
    "pattern_type_filter": (1, 2, 3, 4),
    "permission_type": (1, 2, 3),
    "principal": ("User:carol", "User:dave"),
    "principal_filter": (None, "User:carol", "User:alice", "User:bob"),
    "protocol_type": ("consumer",),
    "replica_id": (-1, -1, -1, -1, 0),
    "replication_factor": (1, -1),
    "resource_pattern_type": (3, 4),
    "resource_type": (2, 2, 2, 2, 3, 4, 5, 8, 16, 32),
    "resource_type_filter": (1, 2, 2, 3, 4, 5),
    "response_partition_limit": (1, 2, 2000),
    "session_epoch": (-1, 0, 1),
    "share_session_epoch": (0, 0, 1, 2, -1),
    "state_filters": ("Ongoing",),
    "states_filter": ("Stable",),
    "types_filter": ("consumer",),
    "timestamp": (-1, -2),
    "transactional_id_pattern": ("", ".*", "team.*", None),
}
"""Values by the name of a field, for what a broker or the gateway would otherwise reject. ACLs are
given to principals that are no tenant, because a tenant sees what the other grants it. The bytes of
members of other protocol types than "consumer" are opaque, and come back as they were sent."""

ELEMENTS: Final[Mapping[str, Sequence[int]]] = {
    "acknowledgement_batches": (0, 0, 0, 1),
    "assignments": (0, 0, 0, 1),
    "configs": (0, 1, 2),
}
"""Numbers of elements by the name of an array. A request that opens a share session acknowledges
nothing."""

FILLED: Final = frozenset({"topic_data", "topic_data.partition_data"})
"""Arrays with an element at least: of a Produce request without records a broker ignores the
transactional id (KafkaApis.handleProduceRequest), and so does the gateway."""

TOPICS: Final = frozenset({"resource_name", "resource_name_filter", "topic_prefix"})
"""Fields that hold a topic's name in a type of their own, or a group's."""

GROUPS: Final = frozenset({"key", "coordinator_keys"})
"""Fields that hold a group or a transactional id in a type of their own."""

EXPRESSIONS: Final = ("", ".*", "team-.*", ".*orders", "[")


@dataclass(frozen=True)
class Names:
    """What a client can name: its ``topics``, ``groups`` (and transactional ids), and
    ``topic_ids``; ``session_ids`` of fetch sessions."""

    topics: Sequence[str]
    groups: Sequence[str]
    topic_ids: Sequence[UUID]
    session_ids: Sequence[int]


class Requests:
    """Makes requests at random that name these names."""

    def __init__(self, random: Random, names: Names) -> None:
        self._random = random
        self._names = names

    def body(self, api: str, version: int) -> bytes:
        """The body of a request of an API at a version."""
        message = f"{api}Request"
        spec = message_spec(message, version).body
        return messages.write(self._struct(messages.message_class(message, version), spec))

    def _struct(self, cls: type, spec: StructSpec) -> Any:
        hints = get_type_hints(cls)
        chosen = {
            field.name: self._field(field, field_type(hints[field.name])[0])
            for field in (*spec.fields, *spec.tagged)
        }
        named = [field for field in spec.fields if field.nominal == "TopicName" and field.nullable]
        if chosen.get("topic_id") is not None and named:  # by name or by id, as clients do
            by_id = self._random.random() < 0.5
            chosen |= {named[0].name: None} if by_id else {"topic_id": None}
        return messages.build(cls, **chosen)

    def _field(self, field: FieldSpec, inner: type) -> Any:
        if not field.array:
            if field.struct is not None:
                return self._struct(inner, field.struct)
            return self._value(field)
        if field.nullable and self._random.random() < 0.25:
            return None
        number = self._random.choice(ELEMENTS.get(field.name, (0, 1, 1, 1, 1, 1, 2, 2)))
        if field.path in FILLED:
            number = max(number, 1)
        if field.struct is not None:
            return tuple(self._struct(inner, field.struct) for _ in range(number))
        return tuple(dict.fromkeys(self._value(field) for _ in range(number)))

    def _value(self, field: FieldSpec) -> Any:
        choose = self._random.choice
        may_be_null = field.nullable and not field.array
        if field.nominal == "TopicName":
            return choose(self._names.topics)
        if field.nominal in ("GroupId", "TransactionalId") or field.name in GROUPS:
            null = may_be_null and self._random.random() < 0.2
            return None if null else choose(self._names.groups)
        if field.name in TOPICS:
            return choose((*self._names.topics, *self._names.groups, "1", ""))
        if field.name in VALUES:
            value = choose(VALUES[field.name])
            return "" if value is None and not may_be_null else value
        return self._by_type(field)

    def _by_type(self, field: FieldSpec) -> Any:
        choose = self._random.choice
        match field.type:
            case "uuid":
                return choose(self._names.topic_ids) if field.name == "topic_id" else None
            case "bytes":
                return self._bytes(field.name)
            case "records":
                return b"records"
            case "string" if "regex" in field.name:
                return choose(EXPRESSIONS)
            case "string" if field.name == "value":
                return choose(("1", "1000", "compact", "true", *self._names.topics))
            case "string":
                return choose(("", "m", "m", "m" if field.array or not field.nullable else None))
            case "bool":
                return choose((True, False))
            case "float64":
                return 1.0
            case "int32" if field.name == "session_id":
                return choose(self._names.session_ids)
            case wire if wire.startswith("timedelta"):
                return datetime.timedelta(seconds=1)
            case "datetime_i64":
                return None
            case _:
                return choose((0, 1, 1, 2, 5))

    def _bytes(self, name: str) -> bytes:
        topics = self._random.sample(self._names.topics, 2)
        parts = [{"topic": topic, "partitions": [0]} for topic in topics]
        if name == "assignment":
            return consumer_protocol("ConsumerProtocolAssignment", {"assigned_partitions": parts})
        if name == "metadata":
            values = {"topics": topics, "owned_partitions": parts[:1]}
            return consumer_protocol("ConsumerProtocolSubscription", values)
        return b"s" * 26
