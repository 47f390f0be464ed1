"""Metadata v0 to v3 as v4, the first version whose request can forbid auto-creation.

A v0 request asks for all topics by naming none; v1 to v3 requests lack the field alone. Responses
of v3 and v4 are the same bytes, and older ones lack fields: v2 the throttle time, v1 the cluster id
too, v0 also racks, the controller, and which topics are internal.
"""

from __future__ import annotations

from typing import Any, Final

from gateway.apis.topics.metadata_messages import FORBIDS_AUTO_CREATION, drop_brokers
from protocol import messages
from protocol.messages import element_class, make

TRANSLATED_TO: Final = FORBIDS_AUTO_CREATION
"""The version that is on the wire to the broker."""

_PARTITION: Final = (
    "error_code",
    "partition_index",
    "leader_id",
    "replica_nodes",
    "isr_nodes",
)


def request_to_v4(version: int, body: bytes) -> bytes:
    """A v0 to v3 MetadataRequest as v4, by which the broker creates nothing. Raises
    ProtocolError."""
    asked = messages.parse("MetadataRequest", version, body).topics
    cls = messages.message_class("MetadataRequest", TRANSLATED_TO)
    topic = element_class(cls, "topics")
    wants_all = asked is None or (version == 0 and not asked)
    topics = None if wants_all else tuple(make(topic, {"name": each.name}) for each in asked)
    return messages.write(messages.build(cls, topics=topics, allow_auto_topic_creation=False))


def response_from_v4(version: int, body: bytes) -> bytes:
    """A v4 MetadataResponse as v0 to v3. Raises ProtocolError.

    v0 leaves replicas out whose brokers it does not list (KRaftMetadataCache); later versions
    keep them.
    """
    response = messages.parse("MetadataResponse", TRANSLATED_TO, body)
    cls = messages.message_class("MetadataResponse", version)
    broker, topic = element_class(cls, "brokers"), element_class(cls, "topics")
    partition = element_class(topic, "partitions")

    def old_topic(new: Any) -> Any:
        partitions = tuple(
            make(partition, {name: getattr(each, name) for name in _PARTITION})
            for each in new.partitions
        )
        values = {"error_code": new.error_code, "name": new.name, "is_internal": new.is_internal}
        return make(topic, {**values, "partitions": partitions})

    brokers: tuple[Any, ...] = tuple(
        make(
            broker,
            {"node_id": each.node_id, "host": each.host, "port": each.port, "rack": each.rack},
        )
        for each in response.brokers
    )
    values = {
        "throttle_time": response.throttle_time,
        "brokers": brokers,
        "cluster_id": response.cluster_id,
        "controller_id": response.controller_id,
        "topics": tuple(map(old_topic, response.topics)),
    }
    written = messages.write(make(cls, values))
    return drop_brokers(0, written, _not_listed(response)) if version == 0 else written


def _not_listed(response: Any) -> set[int]:
    """The ids of brokers that hold replicas and are not listed: they are away."""
    partitions = (each for topic in response.topics for each in topic.partitions)
    holding = {int(node) for one in partitions for node in (*one.replica_nodes, *one.isr_nodes)}
    return holding - {int(each.node_id) for each in response.brokers}
