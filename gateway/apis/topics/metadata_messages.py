"""Metadata messages: requests by explicit names, responses with namespaces and without brokers that
have no address here, and versions 0 to 3 as v4.

v4 is the first version whose request can forbid auto-creation. A v0 request asks for all topics by
naming none; those of v1 to v3 lack that field alone. Responses of v3 and v4 are the same bytes, and
older ones lack fields: v2 the throttle time, v1 the cluster id too, v0 also racks, the controller,
and which topics are internal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from gateway.error_codes import LEADER_NOT_AVAILABLE, LISTENER_NOT_FOUND, REPLICA_NOT_AVAILABLE
from gateway.rules.declaration import PLACEHOLDER
from protocol import messages
from protocol.kinds import Kind
from protocol.messages import changed, element_class, has_field, make
from protocol.primitives import compact_string, legacy_string, write_uvarint
from protocol.splice import splice
from protocol.walkers import Span, walker

FORBIDS_AUTO_CREATION: Final = 4
"""The first version whose request can forbid auto-creation; older ones are sent as this one."""

NO_LEADER = -1
NO_CONTROLLER = -1

FIRST_FLEXIBLE = 9
"""The first version with compact arrays."""

_COUNTS = frozenset({Kind.COUNT})
_NAMESPACE: Mapping[str, object] = {"is_internal": True}
_ERROR_BYTES = 2


def wants_all(version: int, body: bytes) -> bool:
    """Whether a MetadataRequest asks for all topics: v0 by an empty array, v1+ by null."""
    topics = messages.parse("MetadataRequest", version, body).topics
    return topics == () if version == 0 else topics is None


def ask_by_name(version: int, body: bytes, names: Iterable[str]) -> bytes:
    """The same MetadataRequest for these topics, without auto-creation where v4+ can say so.

    Without a name the response holds no topic (``without_placeholder`` sees to that in v0).
    """
    request = messages.parse("MetadataRequest", version, body)
    topic_class = element_class(type(request), "topics")
    if version == 0:
        names = tuple(names) or (PLACEHOLDER,)
    topics = tuple(make(topic_class, {"name": name}) for name in names)
    return messages.write(changed(request, {"topics": topics, "allow_auto_topic_creation": False}))


def without_placeholder(version: int, body: bytes) -> bytes:
    """A MetadataResponse without the name that a v0 request holds where it must name no topic."""
    if version != 0:
        return body
    response = messages.parse("MetadataResponse", version, body)
    topics = tuple(topic for topic in response.topics if topic.name != PLACEHOLDER)
    return body if topics == response.topics else messages.write(replace(response, topics=topics))


def mark_namespaces(version: int, body: bytes, names: Collection[str]) -> bytes:
    """A MetadataResponse in which these names are namespaces: internal topics, in versions that
    have the field."""
    response = messages.parse("MetadataResponse", version, body)
    topics = tuple(
        changed(topic, _NAMESPACE) if topic.name in names else topic for topic in response.topics
    )
    return messages.write(replace(response, topics=topics))


def add_namespaces(version: int, body: bytes, names: Collection[str]) -> bytes:
    """A MetadataResponse with an entry for each of these namespaces, before its topics.

    Made of bytes, since a listing may be long: it is only walked, and the entries differ by their
    names alone.
    """
    spans: list[Span] = []
    walker("MetadataResponse", version, _COUNTS)(body, 0, len(body), spans)
    _, start, stop, count = spans[0]
    count += len(names)
    flexible = version >= FIRST_FLEXIBLE
    head = write_uvarint(count + 1) if flexible else count.to_bytes(4, "big")
    string = compact_string if flexible else legacy_string
    topic_class = element_class(messages.message_class("MetadataResponse", version), "topics")
    nameless = messages.write(make(topic_class, {**_NAMESPACE, "name": ""}))
    error, rest = nameless[:_ERROR_BYTES], nameless[_ERROR_BYTES + len(string(b"")) :]
    entries = (error + string(name.encode()) + rest for name in names)
    return splice(body, 0, len(body), [(start, stop, b"".join((head, *entries)))])


def drop_brokers(version: int, body: bytes, hidden_node_ids: Collection[int]) -> bytes:
    """A MetadataResponse without brokers that have no address here.

    The partitions they lead have no leader, as those of a broker without the client's listener
    (KRaftMetadataCache): LISTENER_NOT_FOUND from v6, LEADER_NOT_AVAILABLE before. Replica lists
    keep them, except in v0, where a client takes every replica for a broker that it knows.
    """
    response = messages.parse("MetadataResponse", version, body)
    changes: dict[str, Any] = {
        "brokers": tuple(b for b in response.brokers if b.node_id not in hidden_node_ids),
        "topics": tuple(_without_leaders(version, t, hidden_node_ids) for t in response.topics),
    }
    if version >= 1 and response.controller_id in hidden_node_ids:
        changes["controller_id"] = NO_CONTROLLER
    return messages.write(replace(response, **changes))


def request_to_v4(version: int, body: bytes) -> bytes:
    """A v0 to v3 MetadataRequest as v4, by which the broker creates nothing. Raises
    ProtocolError."""
    request = as_version(
        messages.message_class("MetadataRequest", FORBIDS_AUTO_CREATION),
        messages.parse("MetadataRequest", version, body),
    )
    values = {"topics": None if wants_all(version, body) else request.topics}
    return messages.write(changed(request, {**values, "allow_auto_topic_creation": False}))


def response_from_v4(version: int, body: bytes) -> bytes:
    """A v4 MetadataResponse as v0 to v3. Raises ProtocolError.

    v0 leaves replicas out whose brokers it does not list (KRaftMetadataCache); later versions
    keep them.
    """
    response = messages.parse("MetadataResponse", FORBIDS_AUTO_CREATION, body)
    cls = messages.message_class("MetadataResponse", version)
    written = messages.write(as_version(cls, response))
    if version > 0:
        return written
    partitions = (each for topic in response.topics for each in topic.partitions)
    holding = {int(node) for one in partitions for node in (*one.replica_nodes, *one.isr_nodes)}
    return drop_brokers(0, written, holding - {int(each.node_id) for each in response.brokers})


def _without_leaders(version: int, topic: Any, hidden: Collection[int]) -> Any:
    partitions = tuple(_without_leader(version, p, hidden) for p in topic.partitions)
    return topic if partitions == topic.partitions else replace(topic, partitions=partitions)


def _without_leader(version: int, partition: Any, hidden: Collection[int]) -> Any:
    changes: dict[str, object] = {}
    code = 0
    if version == 0:
        replicas = tuple(n for n in partition.replica_nodes if n not in hidden)
        in_sync = tuple(n for n in partition.isr_nodes if n not in hidden)
        if (replicas, in_sync) != (partition.replica_nodes, partition.isr_nodes):
            changes |= {"replica_nodes": replicas, "isr_nodes": in_sync}
            code = REPLICA_NOT_AVAILABLE
    if partition.leader_id in hidden:
        changes["leader_id"] = NO_LEADER
        code = LISTENER_NOT_FOUND if version >= 6 else LEADER_NOT_AVAILABLE
    if code and not (code == REPLICA_NOT_AVAILABLE and partition.error_code):
        changes["error_code"] = code
    return changed(partition, changes) if changes else partition


def as_version(cls: type, entity: Any) -> Any:
    """A message, or a part of one, as ``cls``, the class of another version; what that version does
    not have is left out."""
    values: dict[str, object] = {}
    for name in (field.name for field in fields(entity) if has_field(cls, field.name)):
        value = getattr(entity, name)
        if isinstance(value, tuple) and value and is_dataclass(value[0]):
            element = element_class(cls, name)
            value = tuple(as_version(element, each) for each in value)
        values[name] = value
    return make(cls, values)
