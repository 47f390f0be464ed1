"""Messages of every decided API and version, in which every field has a value."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, get_type_hints
from uuid import UUID

from gateway.apis.table import APIS
from gateway.rules.declaration import Do
from protocol import messages
from protocol.entities import Kind, kind_of
from protocol.schema import FieldSpec, StructSpec, field_type, message_spec
from tests.scenarios.entities import consumer_protocol

SHARE = ("ShareFetch", "ShareAcknowledge")
"""The APIs with share sessions."""

BY_ID_ONLY = {
    **{"Produce": 13, "Fetch": 13, "OffsetCommit": 10, "OffsetFetch": 10},
    **dict.fromkeys(("ConsumerGroupHeartbeat", *SHARE), 0),
}
"""The first version that names topics by id and no longer by name."""

BROKER_HOST = "kafka-9.internal"

CLIENT_METRICS = ("ListConfigResources", 0)
"""The version that lists client metrics alone, which the gateway answers from its catalog."""

MADE_HERE = frozenset(
    {"CreateTopics", "DeleteTopics", "DescribeConfigs", "AlterConfigs", "IncrementalAlterConfigs"}
)
"""Requests that the gateway carries out itself if they concern a namespace; it forwards the
others."""

NOT_UNDER_A_HOME = frozenset(
    {
        *("WriteTxnMarkers", "AlterPartitionReassignments", "ElectLeaders"),
        *("DescribeQuorum", "UpdateFeatures"),
    }
)
"""Requests that the gateway rejects under a home."""

QUORUM: Mapping[Kind, object] = {Kind.TOPIC_NAME: "__cluster_metadata", Kind.PARTITION: 0}
"""The only partition that DescribeQuorum is forwarded for."""

PLAIN = "plain"
"""A topic of the default namespace."""

_BY_TYPE: Mapping[str, object] = {
    "bool": True,
    "bytes": b"bytes",
    "records": b"records",
    "string": "text",
    "timedelta_i32": datetime.timedelta(seconds=1),
    "timedelta_i64": datetime.timedelta(seconds=1),
    "float64": 1.0,
    "int8": 1,
    "int16": 1,
    "int32": 1,
    "int64": 1,
    "uint16": 1,
}


def by_type(wire_type: str) -> object:
    """A value for a field of this wire type, or None if the field is left out."""
    return _BY_TYPE.get(wire_type)


def forwarded(api: str, topic: str) -> str:
    """``topic``, or a topic for which the API's requests are forwarded."""
    return PLAIN if api in MADE_HERE else topic


def decided(*, here: bool = False) -> Iterator[tuple[str, int]]:
    """(API, version) of every request that brokers answer; or, if ``here``, that the gateway
    answers without them."""
    for row in APIS.values():
        if (Do.ANSWER in (row.named, row.null)) is here:
            for version in range(row.first, row.last + 1):
                yield row.name, version


def request(
    api: str,
    version: int,
    topic: str,
    topic_id: UUID,
    acks: int = 1,
    *,
    acknowledges: bool = False,
) -> Any:
    """A request about one topic, named by id if the version has no name. A request that opens a
    share session is rejected if it ``acknowledges`` records."""
    by_id = version >= BY_ID_ONLY.get(api, 1000)
    values = {
        **_names(topic, topic_id if by_id else None),
        Kind.GROUP_ID: "app",
        Kind.TRANSACTIONAL_ID: "tx",
        Kind.COORDINATOR_KEY: "app",
        Kind.KEY_TYPE: 0,
        Kind.ACKS: acks,
        Kind.SESSION_ID: 0,
        Kind.SESSION_EPOCH: 0 if api in SHARE else -1,  # 0 opens a share session
        # A topology with an expression is rejected (KIP-1071).
        Kind.REGEX: _ABSENT if api == "StreamsGroupHeartbeat" else ".*",
        Kind.MAX_BYTES: 1 << 20,
        Kind.REPLICA_ID: -1,
        **(QUORUM if api == "DescribeQuorum" else {}),
    }
    asked = filled(f"{api}Request", version, values)
    return asked if acknowledges or api != "ShareFetch" else _without_acknowledgements(asked)


def _without_acknowledgements(asked: Any) -> Any:
    (topic,) = asked.topics
    partitions = tuple(replace(one, acknowledgement_batches=()) for one in topic.partitions)
    return replace(asked, topics=(replace(topic, partitions=partitions),))


def response(
    api: str,
    version: int,
    topic: str,
    topic_id: UUID,
    prefix: str,
    *,
    members_topic: str = "",
    text: str = "",
) -> Any:
    """A response about one topic (a flat name) with addresses in it.

    ``prefix`` stands before ids. Members of groups know ``members_topic``, if given; the error
    text, if not given, has the topic and an address.
    """
    values = {
        **_names(topic, topic_id),
        **_members(members_topic or topic),
        Kind.GROUP_ID: f"{prefix}app",
        Kind.TRANSACTIONAL_ID: f"{prefix}tx",
        Kind.COORDINATOR_KEY: f"{prefix}app",
        Kind.SESSION_ID: 0,
        Kind.HOST: BROKER_HOST,
        Kind.PORT: 9092,
        Kind.ERROR_TEXT: text or f"Topic '{topic}' is on {BROKER_HOST}:9092, not on {topic}.",
        **(QUORUM if api == "DescribeQuorum" else {}),
    }
    return filled(f"{api}Response", version, values)


def filled(message: str, version: int, values: Mapping[Kind, object]) -> Any:
    """A message with one element in every array, and with these values by the kinds of fields."""
    cls = messages.message_class(message, version)
    return _struct(message, cls, message_spec(message, version).body, values)


def _names(topic: str, topic_id: UUID | None) -> dict[Kind, object]:
    return {
        **_members(topic),
        Kind.TOPIC_NAME: topic,
        Kind.TOPIC_ID: topic_id,
        Kind.RESOURCE_TYPE: 2,
        Kind.RESOURCE_NAME: topic,
    }


def _members(topic: str) -> dict[Kind, object]:
    partitions = [{"topic": topic, "partitions": [0]}]
    subscription = {"topics": [topic], "owned_partitions": partitions}
    return {
        Kind.PROTOCOL_TYPE: "consumer",
        Kind.SUBSCRIPTION: consumer_protocol("ConsumerProtocolSubscription", subscription),
        Kind.ASSIGNMENT: consumer_protocol(
            "ConsumerProtocolAssignment", {"assigned_partitions": partitions}
        ),
    }


def _struct(message: str, cls: type, spec: StructSpec, values: Mapping[Kind, object]) -> Any:
    hints = get_type_hints(cls)
    chosen: dict[str, object] = {}
    for field in (*spec.fields, *spec.tagged):
        inner = field_type(hints[field.name])[0]
        value = _value(message, field, inner, values)
        if value is not _ABSENT:
            chosen[field.name] = (value,) if field.array else value
    return messages.build(cls, **chosen)


_ABSENT = object()


def _value(message: str, field: FieldSpec, inner: type, values: Mapping[Kind, object]) -> Any:
    if field.struct is not None:
        return _struct(message, inner, field.struct, values)
    kind = kind_of(message, field)
    if kind is not None and kind in values:
        return values[kind]
    return _BY_TYPE.get(field.type, _ABSENT)
