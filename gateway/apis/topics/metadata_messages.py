"""Metadata: asking by explicit names, namespaces among the topics, and leaving out brokers that
have no address here.

A request for "all" topics would answer with every namespace's, so it is sent on with the names
that its view lists.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from gateway.error_codes import (
    LEADER_NOT_AVAILABLE,
    LISTENER_NOT_FOUND,
    REPLICA_NOT_AVAILABLE,
)
from gateway.rules.declaration import PLACEHOLDER
from protocol import messages
from protocol.kinds import Kind
from protocol.messages import changed, element_class, has_field, make
from protocol.primitives import compact_string, legacy_string, write_uvarint
from protocol.splice import splice
from protocol.walkers import Span, walker

FORBIDS_AUTO_CREATION: Final = 4
"""The first version whose request can forbid auto-creation."""

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
    return messages.write(_without_auto_creation(replace(request, topics=topics)))


def without_placeholder(version: int, body: bytes) -> bytes:
    """A MetadataResponse without what was only asked so that nothing would be listed."""
    if version != 0:
        return body
    response = messages.parse("MetadataResponse", version, body)
    topics = tuple(topic for topic in response.topics if topic.name != PLACEHOLDER)
    return body if topics == response.topics else messages.write(replace(response, topics=topics))


def mark_namespaces(version: int, body: bytes, names: Collection[str]) -> bytes:
    """A MetadataResponse in which the entries of these names are namespaces': internal topics, as
    far as the version tells."""
    response = messages.parse("MetadataResponse", version, body)
    topics = tuple(
        changed(topic, _NAMESPACE) if topic.name in names else topic for topic in response.topics
    )
    return messages.write(replace(response, topics=topics))


def add_namespaces(version: int, body: bytes, names: Collection[str]) -> bytes:
    """A MetadataResponse with an entry for each of these namespaces, before its topics.

    All is done in bytes, since a listing may be long: it is only walked, and the entries differ
    by their names alone.
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

    What they lead has no leader, as for a broker without the listener that is asked (Kafka's
    KRaftMetadataCache): LISTENER_NOT_FOUND from v6, LEADER_NOT_AVAILABLE before. Replica lists
    keep them, except in v0, where a client takes every replica for a broker it knows.
    """
    response = messages.parse("MetadataResponse", version, body)
    changes: dict[str, Any] = {
        "brokers": tuple(b for b in response.brokers if b.node_id not in hidden_node_ids),
        "topics": tuple(_without_leaders(version, t, hidden_node_ids) for t in response.topics),
    }
    if version >= 1 and response.controller_id in hidden_node_ids:
        changes["controller_id"] = NO_CONTROLLER
    return messages.write(replace(response, **changes))


def _without_auto_creation(request: Any) -> Any:
    if not has_field(type(request), "allow_auto_topic_creation"):
        return request
    return replace(request, allow_auto_topic_creation=False)


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
