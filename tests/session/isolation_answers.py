"""The responses of a broker in memory: an element for each item that was requested, or that the
broker has; their numbers are made of all that was done to the item (isolation_broker.py), and other
tenants' names stand in every group and error text.

It knows messages by kio's schema, not by the product's tables.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_type_hints
from uuid import UUID
from zlib import crc32

from protocol import messages
from protocol.headers import read_request_header
from protocol.schema import FieldSpec, StructSpec, api_name, field_type, message_spec
from tests.scenarios.entities import consumer_protocol
from tests.session.isolation_broker import READS, Memory, Named, collect
from tests.session.pair import response_frame

HOST: Final = "kafka-9.internal"
APPLICATION: Final = "app-1.example"
"""The host of an application of Kafka Streams, which its own instances tell each other."""
LISTS: Final = frozenset({"ListGroups", "ListTransactions", "DescribeTopicPartitions"})
"""The APIs in which a request that names nothing is for everything, as if it had null."""

BY_HANDLER: Final = frozenset({"CreateTopics", "DeleteTopics"})
"""The APIs that FakeBroker carries out."""

UNKNOWN_TOPIC, UNKNOWN_ID, INVALID_CONFIG = 3, 100, 40
_ONES: Final = re.compile("node|leader_id|broker|replica|controller|isr|elr")
_INDEXES: Final = re.compile("index$|indexes$|^partitions?$")
_TEXTS: Final[Mapping[str, str]] = {"protocol_type": "consumer", "group_state": "Stable"}
_NUMBERS: Final[Mapping[str, int]] = {
    "port": 9092,
    "api_key": 3,
    "min_version": 0,
    "max_version": 12,
    "resource_type": 2,
    "key_type": 0,
}


@dataclass(frozen=True)
class Scope:
    """The item that a struct of a response is about."""

    topic: str | None = None
    topic_id: UUID | None = None
    group: str | None = None
    transactional_id: str | None = None
    key: str | None = None
    resource: tuple[int, str] = (2, "")
    member: bytes = b""
    unknown: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the item and of the items around it."""
        named = (self.topic, self.group, self.transactional_id, self.key, self.resource[1])
        return tuple(name for name in named if name)


def answer(broker: Memory, payload: bytes, session_id: int) -> bytes:
    """The response frame to a request; ``session_id`` is that of a fetch session."""
    key, version, number, _, at = read_request_header(payload, 0, len(payload))
    api = api_name(key)
    request = messages.parse(f"{api}Request", version, payload[at:])
    cls = messages.message_class(f"{api}Response", version)
    if api in BY_HANDLER:
        made = getattr(broker.topics, f"_{api}Request")(request, cls)
        return response_frame(api, version, made, number)
    named = Named()
    collect(named, message_spec(f"{api}Request", version).body, request)
    named.everything |= api in LISTS or (api == "Metadata" and version == 0)
    broker.change(api, named, payload[at:])
    spec = message_spec(f"{api}Response", version).body
    made = Answer(broker, api, named, session_id).struct(cls, spec, Scope())
    return response_frame(api, version, made, number)


class Answer:
    """Builds a response: an element for each item that was requested, or that the broker has."""

    def __init__(self, broker: Memory, api: str, named: Named, session_id: int) -> None:
        self._broker = broker
        self._api = api
        self._named = named
        self._session_id = session_id

    def struct(self, cls: type, spec: StructSpec, scope: Scope) -> Any:
        """A struct about the item of ``scope``."""
        hints = get_type_hints(cls)
        chosen: dict[str, Any] = {}
        fails = scope.unknown or self._fails(spec, scope)
        for each in (*spec.fields, *spec.tagged):
            inner = field_type(hints[each.name])[0]
            if each.struct is None:
                chosen[each.name] = self._field(each, scope, fails)
            elif each.array:
                items = self._items(each.struct, scope)
                chosen[each.name] = tuple(self.struct(inner, each.struct, one) for one in items)
            elif not each.nullable or each.tag is None:
                chosen[each.name] = self.struct(inner, each.struct, scope)
        return messages.build(cls, **chosen)

    def _fails(self, spec: StructSpec, scope: Scope) -> int:
        """The error code of an item, one in eight, in which the broker's text quotes names."""
        inner = [name for name in (*scope.names, *self._named.groups[:1])]
        has_text = any(each.name == "error_message" for each in spec.fields)
        failing = inner and has_text and self._number(scope, "fails") % 8 == 1
        return INVALID_CONFIG if failing else 0

    def _items(self, spec: StructSpec, scope: Scope) -> Iterable[Scope]:
        direct = [each for each in spec.fields if not each.array]
        names = {each.name for each in direct}
        nominal = {each.nominal for each in direct}
        if "resource_name" in names:
            return [replace(scope, resource=each) for each in self._named.resources]
        if "GroupId" in nominal:
            groups = self._named.groups or self._all(self._broker.groups)
            return [replace(scope, group=group) for group in dict.fromkeys(groups)]
        if "TransactionalId" in nominal and scope.transactional_id is None:
            ids = self._named.ids or self._all(self._broker.ids)
            return [replace(scope, transactional_id=each) for each in dict.fromkeys(ids)]
        if "key" in names and "host" in names:
            return [replace(scope, key=key) for key in dict.fromkeys(self._named.keys)]
        if "TopicName" in nominal or "topic_id" in names:
            return self._topics(scope)
        if any(each.type == "bytes" for each in spec.fields):
            return [replace(scope, member=each) for each in (*self._named.members[:1], b"hidden")]
        return [scope]

    def _all(self, names: Iterable[str]) -> list[str]:
        return sorted(names) if self._named.everything else []

    def _topics(self, scope: Scope) -> Iterator[Scope]:
        asked: Iterable[str | UUID] = dict.fromkeys(self._named.topics)
        if scope.topic is not None:
            asked = [scope.topic]
        elif not self._named.topics and scope.transactional_id is not None:
            asked = sorted(self._broker.ids.get(scope.transactional_id, ()))
        elif READS.match(self._api) and not self._named.topics and self._groups(scope):
            asked = self._in_group(scope)
        elif READS.match(self._api) and self._named.everything:
            asked = sorted(self._broker.topics.topics)
        for topic in asked:
            flat = self._broker.flat(topic)
            if flat is not None:
                yield replace(scope, topic=flat, topic_id=self._broker.id_of(flat))
            elif isinstance(topic, str):
                yield replace(scope, topic=topic, unknown=UNKNOWN_TOPIC)
            else:
                yield replace(scope, topic=None, topic_id=topic, unknown=UNKNOWN_ID)

    def _groups(self, scope: Scope) -> Sequence[str]:
        return [scope.group] if scope.group else self._named.groups[:1]

    def _in_group(self, scope: Scope) -> list[str]:
        known = [self._broker.groups.get(group, ()) for group in self._groups(scope)]
        topics = [*sorted({topic for each in known for topic in each}), *self._broker.hidden]
        # A broker deletes the offsets of topics that are deleted. The hidden ones stay, because who
        # deletes a topic of its own changes what groups with that topic show, as in Kafka.
        return [
            topic
            for topic in topics
            if topic in self._broker.hidden or self._broker.flat(topic) is not None
        ]

    def _field(self, each: FieldSpec, scope: Scope, fails: int) -> Any:
        if each.array:
            return tuple(self._array(each, scope))
        named = self._name(each, scope)
        if named is not None:
            return named
        match each.type:
            case "error_code":
                return fails
            case "string":
                return self._text(each, scope, fails)
            case "bytes":
                return self._bytes(each, scope)
            case "records":
                return b"records"
            case "uuid" | "datetime_i64":
                return None
            case "bool":
                return False
            case "float64":
                return 1.0
            case wire if wire.startswith("timedelta"):
                return datetime.timedelta(seconds=0 if each.name == "throttle_time" else 1)
            case _:
                return self._int(each, scope)

    def _name(self, each: FieldSpec, scope: Scope) -> Any:
        if each.nominal == "TopicName":
            return scope.topic if scope.topic is not None or each.nullable else ""
        if each.nominal == "GroupId":
            return scope.group or next(iter(self._named.groups), "")
        if each.nominal == "TransactionalId":
            return scope.transactional_id or next(iter(self._named.ids), "")
        return {
            "topic_id": scope.topic_id,
            "resource_name": scope.resource[1],
            "key": scope.key,
        }.get(each.name)

    def _array(self, each: FieldSpec, scope: Scope) -> Iterator[Any]:
        if each.nominal == "TopicName":
            yield from self._in_group(scope)
        elif each.type in ("int32", "int16", "int8"):
            yield self._int(each, scope)
        elif each.type == "string" and each.name == "mechanisms":
            yield "PLAIN"

    def _bytes(self, each: FieldSpec, scope: Scope) -> bytes:
        """What a member has sent, or what another one has, of topics that are hidden."""
        if scope.member != b"hidden" and self._named.members:
            return self._named.members[0]
        topics = self._in_group(scope)
        parts = [{"topic": topic, "partitions": [0]} for topic in topics]
        if "assignment" in each.name:
            return consumer_protocol("ConsumerProtocolAssignment", {"assigned_partitions": parts})
        values = {"topics": topics, "owned_partitions": parts}
        return consumer_protocol("ConsumerProtocolSubscription", values)

    def _text(self, each: FieldSpec, scope: Scope, fails: int) -> str | None:
        if each.name == "host":
            return APPLICATION if "user_endpoint" in each.path else HOST
        if each.name.endswith("error_message"):
            quoted = (scope.topic, *scope.names, *self._broker.hidden)
            found = "; ".join(f"'{name}' collides with {name}" for name in quoted if name)
            return f"{found} at {HOST}:9092." if fails else None
        if each.name == "client_host":
            return "/10.1.1.1"
        return _TEXTS.get(each.name) or f"{each.name}-{self._number(scope, each.name)}"

    def _int(self, each: FieldSpec, scope: Scope) -> int:
        if each.name == "session_id":
            return self._session_id
        if each.name == "resource_type":
            return scope.resource[0]
        if each.name.endswith("error_code"):
            return 0
        if each.name in _NUMBERS:
            return _NUMBERS[each.name]
        if _INDEXES.search(each.name):
            return 0
        if _ONES.search(each.name):
            return 1
        return 1 if each.type == "int8" else self._number(scope, each.name)

    def _number(self, scope: Scope, of: str) -> int:
        """A number made of all that was done to the item."""
        named = scope.names or (*self._named.groups, *self._named.ids, *self._named.keys)
        done = "".join(f"{name} {self._broker.done.get(name, 0)};" for name in named)
        return crc32(f"{self._api} {done} {of}".encode()) % 997
