"""Metadata messages: requests by explicit names, responses with namespaces and without brokers that
have no address at this listener, and versions 0 to 3 as v4.

v4 is the first version whose request can forbid auto-creation. A v0 request without names requests
all topics; requests of v1 to v3 only lack that field. Responses of v3 and v4 have the same bytes,
and older responses lack fields: v2 the throttle time, v1 also the cluster id, v0 also racks, the
controller, and whether a topic is internal.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, Final

from gateway.error_codes import LEADER_NOT_AVAILABLE, LISTENER_NOT_FOUND, REPLICA_NOT_AVAILABLE
from gateway.rules.declaration import PLACEHOLDER
from gateway.rules.restore import ENDPOINT_NODE
from gateway.topic_ids import ID_LENGTH
from protocol import messages
from protocol.errors import ProtocolError
from protocol.kinds import Kind
from protocol.messages import changed, element_class, has_field, make
from protocol.pausing import eased, paced
from protocol.primitives import compact_string, legacy_string, write_uvarint
from protocol.schema import message_spec
from protocol.splice import Edit, splice
from protocol.walkers import Span, Walker, struct_walker, walker

FORBIDS_AUTO_CREATION: Final = 4
"""The first version whose request can forbid auto-creation; older requests are sent in it."""

NO_LEADER = -1
NO_EPOCH = -1
NO_CONTROLLER = -1

FIRST_FLEXIBLE = 9
"""The first version with compact arrays."""

_BROKERS_AND_COUNTS = frozenset({Kind.ENDPOINT_NODE, Kind.COUNT})
HAS_TOPIC_IDS: Final = 10
"""The first version whose responses have topic ids."""

Entry = tuple[int, int, int, int, bytes]
"""A topic of a response: the positions where its entry begins, its name begins and ends, and its
entry ends; and its flat name."""

Shown = tuple[bytes, bytes | None]
"""The client's name for a topic, and the topic id; None: the broker's id."""
_ERROR_BYTES = 2


def wants_all(version: int, body: bytes) -> bool:
    """Whether a MetadataRequest is for all topics: an empty array in v0, null in v1+."""
    topics = messages.parse("MetadataRequest", version, body).topics
    return topics == () if version == 0 else topics is None


def ask_by_name(version: int, body: bytes, names: Iterable[str]) -> bytes:
    """The same MetadataRequest for these topics; v4+ forbids auto-creation.

    Without names the response holds no topic (in v0 by ``without_placeholder``).
    """
    request = messages.parse("MetadataRequest", version, body)
    topic_class = element_class(type(request), "topics")
    if version == 0:
        names = tuple(names) or (PLACEHOLDER,)
    topics = tuple(make(topic_class, {"name": name}) for name in paced(names))
    return messages.write(changed(request, {"topics": topics, "allow_auto_topic_creation": False}))


def without_placeholder(version: int, body: bytes) -> bytes:
    """A MetadataResponse without the placeholder of a v0 request that must name no topic."""
    if version != 0:
        return body
    response = messages.parse("MetadataResponse", version, body)
    topics = tuple(topic for topic in eased(response.topics) if topic.name != PLACEHOLDER)
    return body if topics == response.topics else messages.write(replace(response, topics=topics))


def mark_namespaces(version: int, body: bytes, names: Collection[str]) -> bytes:
    """A MetadataResponse in which these names are namespaces: internal topics (in versions with
    that field) with a partition that the first of the brokers leads."""
    response = messages.parse("MetadataResponse", version, body)
    topic_class = element_class(type(response), "topics")
    values = _namespace(topic_class, [int(broker.node_id) for broker in response.brokers])
    topics = tuple(
        changed(topic, values) if topic.name in names else topic for topic in eased(response.topics)
    )
    return messages.write(replace(response, topics=topics))


def add_namespaces(version: int, body: bytes, names: Collection[str]) -> bytes:
    """A MetadataResponse with an entry for each of these namespaces, before its topics, as in
    :func:`mark_namespaces`.

    The response may be long, so it is only walked, and the entries are made of bytes: they differ
    only by their names.
    """
    spans: list[Span] = []
    walker("MetadataResponse", version, _BROKERS_AND_COUNTS)(body, 0, len(body), spans)
    nodes = [value for kind, _, _, value in eased(spans) if kind == ENDPOINT_NODE]
    _, start, stop, count = spans[len(nodes)]
    count += len(names)
    flexible = version >= FIRST_FLEXIBLE
    head = write_uvarint(count + 1) if flexible else count.to_bytes(4, "big")
    string = compact_string if flexible else legacy_string
    topic_class = element_class(messages.message_class("MetadataResponse", version), "topics")
    nameless = messages.write(make(topic_class, {**_namespace(topic_class, nodes), "name": ""}))
    error, rest = nameless[:_ERROR_BYTES], nameless[_ERROR_BYTES + len(string(b"")) :]
    entries = (error + string(name.encode()) + rest for name in paced(names))
    return splice(body, 0, len(body), [(start, stop, b"".join((head, *entries)))])


def _namespace(topic_class: type, nodes: Collection[int]) -> Mapping[str, object]:
    """The fields of a namespace's entry, without its name, if ``nodes`` are the brokers. Without a
    broker there is no leader, and so no partition."""
    first = min(nodes, default=NO_LEADER)
    if first == NO_LEADER:
        return {"is_internal": True}
    partition = {
        "leader_id": first,
        "leader_epoch": NO_EPOCH,
        "replica_nodes": (first,),
        "isr_nodes": (first,),
    }
    partition_class = element_class(topic_class, "partitions")
    return {"is_internal": True, "partitions": (make(partition_class, partition),)}


def entries(version: int, buf: bytes, spans: Sequence[Span], end: int) -> list[Entry]:
    """The topics of a MetadataResponse that ends at ``end``; ``spans`` include their names. Raises
    ProtocolError."""
    names = [span for span in eased(spans) if span[0] == Kind.TOPIC_NAME]
    if not names:
        return []
    # An entry begins with its error code, directly before its name.
    begins = [start - _ERROR_BYTES for _, start, _, _ in eased(names)]
    behind = [*begins[1:], _topic_walker(version)(buf, begins[-1], end, [])]
    if any(flat is None for _, _, _, flat in eased(names)):
        raise ProtocolError("a broker lists a topic without a name")
    return [
        (begin, start, stop, follows, flat)
        for begin, (_, start, stop, flat), follows in zip(begins, eased(names), behind, strict=True)
    ]


def first_of_topics(spans: Sequence[Span]) -> int:
    """The number of spans of a MetadataResponse before its topics."""
    return next((at for at, span in enumerate(spans) if span[0] == Kind.TOPIC_NAME), len(spans))


def cut_edits(
    version: int, buf: bytes, entries: Sequence[Entry], shown: Sequence[Sequence[Shown]]
) -> list[Edit]:
    """The edits of a MetadataResponse that leave the ``shown`` topics, once under each name. Raises
    ProtocolError."""
    if not entries:
        return []
    edits = [_count_edit(version, buf, entries, sum(map(len, shown)))]
    for (begin, start, stop, behind, _), names in zip(paced(entries), shown, strict=True):
        if not names:
            edits.append((begin, behind, b""))
            continue
        edits += _named(version, start, stop, names[0])
        for name in names[1:]:
            copy = splice(buf, begin, behind, _named(version, start, stop, name))
            edits.append((behind, behind, copy))
    return edits


def _named(version: int, start: int, stop: int, shown: Shown) -> list[Edit]:
    """The edits of a topic's name, and of its id, which follows the name."""
    name, topic_id = shown
    string = compact_string if version >= FIRST_FLEXIBLE else legacy_string
    edits = [(start, stop, string(name))]
    if topic_id is not None and version >= HAS_TOPIC_IDS:
        edits.append((stop, stop + ID_LENGTH, topic_id))
    return edits


def _count_edit(version: int, buf: bytes, entries: Sequence[Entry], count: int) -> Edit:
    """The edit of the number of topics, which directly precedes the topics."""
    before, after = (_count(version, number) for number in (len(entries), count))
    stop = entries[0][0]
    if buf[stop - len(before) : stop] != before:
        raise ProtocolError("the number of topics does not stand before them")
    return stop - len(before), stop, after


def _count(version: int, number: int) -> bytes:
    return write_uvarint(number + 1) if version >= FIRST_FLEXIBLE else number.to_bytes(4, "big")


@cache
def _topic_walker(version: int) -> Walker:
    """A walker that finds the end of a topic's entry."""
    fields = message_spec("MetadataResponse", version).fields
    struct = next(field.struct for field in fields if field.name == "topics")
    assert struct is not None
    return struct_walker("MetadataResponse", version, struct)


def drop_brokers(version: int, body: bytes, hidden_node_ids: Collection[int]) -> bytes:
    """A MetadataResponse without brokers that have no address at this listener.

    Their partitions have no leader, like the partitions of a broker without the client's listener
    (KRaftMetadataCache): LISTENER_NOT_FOUND from v6, LEADER_NOT_AVAILABLE before. Replica lists
    keep the brokers, except in v0, where a client takes every replica for a broker that it knows.
    """
    response = messages.parse("MetadataResponse", version, body)
    changes: dict[str, Any] = {
        "brokers": tuple(b for b in response.brokers if b.node_id not in hidden_node_ids),
        "topics": tuple(
            _without_leaders(version, t, hidden_node_ids) for t in eased(response.topics)
        ),
    }
    if version >= 1 and response.controller_id in hidden_node_ids:
        changes["controller_id"] = NO_CONTROLLER
    return messages.write(replace(response, **changes))


def request_to_v4(version: int, body: bytes) -> bytes:
    """A v0 to v3 MetadataRequest as v4, for which the broker creates nothing. Raises
    ProtocolError."""
    request = as_version(
        messages.message_class("MetadataRequest", FORBIDS_AUTO_CREATION),
        messages.parse("MetadataRequest", version, body),
    )
    values = {"topics": None if wants_all(version, body) else request.topics}
    return messages.write(changed(request, {**values, "allow_auto_topic_creation": False}))


def response_from_v4(version: int, body: bytes) -> bytes:
    """A v4 MetadataResponse as v0 to v3. Raises ProtocolError.

    v0 leaves out replicas whose brokers it does not list (KRaftMetadataCache); later versions keep
    them.
    """
    response = messages.parse("MetadataResponse", FORBIDS_AUTO_CREATION, body)
    cls = messages.message_class("MetadataResponse", version)
    written = messages.write(as_version(cls, response))
    if version > 0:
        return written
    partitions = (each for topic in eased(response.topics) for each in topic.partitions)
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
    """A message, or a part of a message, as ``cls``, the class of another version, without the
    fields that the other version lacks."""
    values: dict[str, object] = {}
    for name in (field.name for field in fields(entity) if has_field(cls, field.name)):
        value = getattr(entity, name)
        if isinstance(value, tuple) and value and is_dataclass(value[0]):
            element = element_class(cls, name)
            value = tuple(as_version(element, each) for each in value)
        values[name] = value
    return make(cls, values)
