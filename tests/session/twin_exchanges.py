"""Requests of every API and version that name anything, and a broker that answers them truly from
its world: the topics that exist, the request that it got, the members that others have in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final, get_type_hints
from uuid import UUID

from gateway.apis.table import APIS
from gateway.rules.declaration import Do
from gateway.topic_ids import TopicIndex
from protocol import messages
from protocol.entities import Kind, kind_of
from protocol.errors import ProtocolError
from protocol.headers import read_request_header
from protocol.schema import FieldSpec, StructSpec, api_name, field_type, message_spec
from tests.scenarios.entities import consumer_protocol
from tests.session import isolation_ids, samples
from tests.session.pair import Pair, frames, request_frame, response_frame
from tests.session.twin_worlds import OWN, World

UNKNOWN_TOPIC_OR_PARTITION, INVALID_CONFIG = 3, 40
NOWHERE: Final = UUID(int=0x99)
"""An id that no topic has."""

GROUP_TYPES: Final = frozenset({3, 16, 32})
"""The types of groups among the resources of ACLs, and of configs; client metrics have their
names."""

WITHOUT_NAMES: Final = frozenset({"ApiVersions", "SaslHandshake", "SaslAuthenticate"})
LISTING: Final = frozenset({api.name for api in APIS.values() if api.null is not Do.ABSENT})
"""The APIs in which a request that names nothing is for everything."""

CASES: Final = tuple(
    (row.name, version)
    for row in APIS.values()
    if row.name not in WITHOUT_NAMES
    for version in range(row.first, row.last + 1)
)
"""(API, version) of every API in which a client can name anything, or get a list of anything."""

_TOPIC: Final = frozenset({Kind.TOPIC_NAME, Kind.TOPIC_ID, Kind.RESOURCE_NAME})
_GROUP: Final = frozenset({Kind.GROUP_ID, Kind.TRANSACTIONAL_ID, Kind.COORDINATOR_KEY})
_BY_NAME: Final[Mapping[str, object]] = {
    "resource_pattern_type": 3,
    "pattern_type_filter": 3,
    "permission_type": 3,
    "operation": 2,
    "config_operation": 0,
    "principal": "User:carol",
    "principal_filter": None,
    "host_filter": None,
    "name": None,
    "partitions": 1,
    "num_partitions": 1,
    "replication_factor": 1,
    "count": 4,
    "assignments": (),
    "configs": (),
    "validate_only": False,
    "committed_metadata": "",
}
"""Values of fields without a kind, so that requests are carried out."""


@dataclass(frozen=True)
class Asked:
    """A request: the ``topics`` and ``groups`` that it names (empty: all, if the API allows that),
    the resource type of its names if it names resources, and the text that a broker quotes in an
    error, or ""."""

    api: str
    version: int
    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ("app",)
    resource_type: int = 2
    quoted: str = ""


@dataclass(frozen=True)
class _Item:
    """A topic or group of a message, with the values of its fields."""

    values: Mapping[Kind, object]


@dataclass(frozen=True)
class _Content:
    """The content of a message: an element for each ``topic`` and each ``group``, and a member for
    each of ``members``; ``values`` are the values of all other fields."""

    topics: Sequence[_Item]
    groups: Sequence[_Item]
    members: Sequence[_Item]
    values: Mapping[Kind, object]
    is_request: bool


def frame(asked: Asked, ids: Mapping[str, UUID]) -> bytes:
    """The request's bytes. ``ids`` are the ids of the topics that the client knows."""
    message = f"{asked.api}Request"
    by_id = asked.version >= samples.BY_ID_ONLY.get(asked.api, 1000)
    resources = asked.groups if asked.resource_type in GROUP_TYPES else asked.topics
    topics = [
        _Item({Kind.TOPIC_NAME: name, Kind.TOPIC_ID: ids.get(name, NOWHERE) if by_id else None})
        for name in asked.topics
    ]
    if "Acls" in asked.api or "Configs" in asked.api:
        topics = [_Item({Kind.RESOURCE_NAME: name}) for name in resources]
    groups = [
        _Item(dict.fromkeys((Kind.GROUP_ID, Kind.TRANSACTIONAL_ID, Kind.COORDINATOR_KEY), name))
        for name in asked.groups
    ]
    values: dict[Kind, object] = {
        **_subscribed(asked.topics),
        Kind.RESOURCE_TYPE: asked.resource_type,
        Kind.KEY_TYPE: 0,
        Kind.ACKS: 1,
        Kind.SESSION_ID: 0,
        Kind.SESSION_EPOCH: -1,
        Kind.REGEX: ".*" if asked.api == "ListTransactions" else "",
        Kind.MAX_BYTES: 1 << 20,
        Kind.REPLICA_ID: -1,
        Kind.AUTO_CREATION: True,
        Kind.TOPIC_ID: None,
    }
    content = _Content(topics, groups, (_Item({}),), values, is_request=True)
    return request_frame(asked.api, asked.version, _message(message, asked.version, content))


def exchange(world: World, pair: Pair, asked: Asked) -> bytes:
    """The bytes that the client gets for a request, and the error that ends its connection."""
    ids = {name: UUID(bytes=topic_id) for name, topic_id in _known(pair)}
    told = b""
    index = pair.facts.index
    isolation_ids.IDS.random.seed(0)  # an id drawn here is the same in both worlds
    try:
        pair.send(frame(asked, ids))
        while sent := pair.to_broker():
            for payload in frames(sent):
                pair.answered(reply(OWN, world, index, asked, payload))
    except ProtocolError as error:
        told = f"; {error}".encode()
    return pair.to_client() + told


def _known(pair: Pair) -> Iterator[tuple[str, bytes]]:
    """The id of the client's own topic, unless it has deleted it, by every listener's spelling."""
    found = pair.facts.index.id_of(OWN.encode())
    spellings = ("team-a:orders", OWN, "orders", ":team-a:orders", f"..{OWN}")
    for spelled in spellings if found is not None else ():
        yield spelled, found or b""


def reply(
    own: str,
    world: World,
    index: TopicIndex,
    asked: Asked,
    payload: bytes,
    others: Iterable[str] = (),
) -> bytes:
    """The response of a broker that has the world's topics, of which the client may describe
    ``own``, as ``index`` has them. Members of groups have these topics, and the ``others``."""
    key, version, number, _, body = read_request_header(payload, 0, len(payload))
    api = api_name(key)
    request = messages.parse(f"{api}Request", version, payload[body:])
    named = list(_values(f"{api}Request", version, request))
    flats: list[str] = [str(v) for kind, v in named if kind in _TOPIC and isinstance(v, str) and v]
    by_id = [v.bytes for kind, v in named if kind is Kind.TOPIC_ID and isinstance(v, UUID)]
    flats += [found.decode() for each in by_id if (found := index.name_of(each)) is not None]
    # Metadata requests all topics by null, except in v0.
    for_none = api == "Metadata" and version and request.topics is not None
    if not flats and not by_id and api in LISTING and not for_none:
        flats = [flat.decode() for flat in index.names()]
    sent = [v for kind, v in named if kind is Kind.SUBSCRIPTION][:1]
    given = [v for kind, v in named if kind is Kind.ASSIGNMENT][:1]
    in_groups = (own, *world.topics, *others)
    if api in ("ConsumerGroupDescribe", "ShareGroupDescribe", "StreamsGroupDescribe"):
        # A group whose topics its reader may not describe is not described, as in Kafka: the topics
        # of groups are no secret, so the response is the same in both worlds.
        in_groups, flats = (own,), [own]
    hidden = _subscribed(in_groups)
    members = [_Item(hidden)]
    if sent:
        members.insert(0, _Item({Kind.SUBSCRIPTION: sent[0]}))
    topics = [_topic(flat, index, asked) for flat in dict.fromkeys(flats)]
    if "Configs" in api:
        topics = [
            _Item({**_topic(name, index, asked).values, Kind.RESOURCE_TYPE: kind})
            for kind, name in _resources(named)
        ]
    if api == "DescribeTransactions":
        flats = list(in_groups)
    groups = [
        _Item(dict.fromkeys((Kind.GROUP_ID, Kind.TRANSACTIONAL_ID, Kind.COORDINATOR_KEY), name))
        for name in dict.fromkeys(str(v) for kind, v in named if kind in _GROUP and v)
    ]
    if not groups:
        groups = [
            _Item(dict.fromkeys((Kind.GROUP_ID, Kind.TRANSACTIONAL_ID), each))
            for each in ("app", "team-a..app", *world.groups)
        ]
    values: dict[Kind, object] = {
        **hidden,
        Kind.SESSION_ID: 0,
        Kind.HOST: samples.BROKER_HOST,
        Kind.PORT: 9092,
        Kind.NODE_ID: 1,
        Kind.ENDPOINT_NODE: 1,
        Kind.REGEX: "",
        Kind.ERROR_CODE: INVALID_CONFIG if asked.quoted else 0,
        Kind.ERROR_TEXT: f"'{asked.quoted}' is wrong." if asked.quoted else None,
        Kind.RESOURCE_TYPE: 2,
    }
    if given:
        values[Kind.ASSIGNMENT] = given[0]
    content = _Content(topics, groups, members, values, is_request=False)
    answer = _message(f"{api}Response", version, content)
    return response_frame(api, version, answer, number)


def _resources(named: Iterable[tuple[Kind | None, object]]) -> Iterator[tuple[object, str]]:
    """The type and name of each config resource of a request."""
    resource_type: object = None
    for kind, value in named:
        if kind is Kind.RESOURCE_TYPE:
            resource_type = value
        elif kind is Kind.RESOURCE_NAME:
            yield resource_type, str(value)


def _topic(flat: str, index: TopicIndex, asked: Asked) -> _Item:
    found = index.id_of(flat.encode())
    code = 0 if found is not None else UNKNOWN_TOPIC_OR_PARTITION
    topic_id = None if found is None else UUID(bytes=found)
    values: dict[Kind, object] = {Kind.TOPIC_NAME: flat, Kind.RESOURCE_NAME: flat}
    values |= {Kind.TOPIC_ID: topic_id}
    return _Item(values if asked.quoted else {**values, Kind.ERROR_CODE: code})


def _subscribed(topics: Iterable[str]) -> dict[Kind, object]:
    parts = [{"topic": topic, "partitions": [0]} for topic in topics]
    subscription = {"topics": list(topics), "owned_partitions": parts}
    return {
        Kind.PROTOCOL_TYPE: "consumer",
        Kind.SUBSCRIPTION: consumer_protocol("ConsumerProtocolSubscription", subscription),
        Kind.ASSIGNMENT: consumer_protocol(
            "ConsumerProtocolAssignment", {"assigned_partitions": parts}
        ),
    }


# -- messages by what their fields carry -----------------------------------------------------------


def _values(message: str, version: int, entity: Any) -> Iterator[tuple[Kind | None, object]]:
    """Every field's kind and value, with arrays' elements one by one."""
    yield from _of_struct(message, message_spec(message, version).body, entity)


def _of_struct(message: str, spec: StructSpec, entity: Any) -> Iterator[tuple[Kind | None, object]]:
    for field in (*spec.fields, *spec.tagged):
        value = getattr(entity, field.name)
        for one in value or () if field.array else (value,):
            if field.struct is not None and is_dataclass(one):
                yield from _of_struct(message, field.struct, one)
            else:
                yield kind_of(message, field), one


def _message(message: str, version: int, content: _Content) -> Any:
    cls = messages.message_class(message, version)
    return _struct(message, cls, message_spec(message, version).body, content)


def _struct(message: str, cls: type, spec: StructSpec, content: _Content) -> Any:
    hints = get_type_hints(cls)
    names = {each.name for each in fields(cls)}
    chosen: dict[str, object] = {}
    for field in (*spec.fields, *spec.tagged):
        if field.name not in names:
            continue
        inner = field_type(hints[field.name])[0]
        found = list(_elements(message, field, inner, content))
        if field.array:
            chosen[field.name] = tuple(found) if found or not field.nullable else None
        elif found and (found[0] is not None or field.nullable):
            chosen[field.name] = found[0]
    return messages.build(cls, **chosen)


def _elements(message: str, field: FieldSpec, inner: type, content: _Content) -> Iterator[object]:
    """The values of a field: a single value, or an array's elements."""
    if field.struct is not None:
        for item in _items(message, field, content):
            changed = replace(content, values={**content.values, **item.values})
            yield _struct(message, inner, field.struct, changed)
        return
    kind = kind_of(message, field)
    if field.array and kind in _TOPIC | _GROUP:
        items = content.topics if kind in _TOPIC else content.groups
        yield from (item.values[kind] for item in items if item.values.get(kind) is not None)
        return
    if kind is not None and kind in content.values:
        value = content.values[kind]
        yield inner(value) if kind is Kind.ERROR_CODE else value
        return
    if kind in _TOPIC | _GROUP:
        first = [*(content.topics if kind in _TOPIC else content.groups)][:1]
        yield from (item.values[kind] for item in first if kind in item.values)
    elif content.is_request and field.name in _BY_NAME:
        value = _BY_NAME[field.name]
        if value != () and (value is not None or field.nullable):
            yield value
    elif (value := samples.by_type(field.type)) is not None:
        yield value


def _items(message: str, field: FieldSpec, content: _Content) -> Sequence[_Item]:
    assert field.struct is not None
    if not field.array:
        return [_Item({})]
    if content.is_request and _BY_NAME.get(field.name, None) == ():
        return []
    kinds = {kind_of(message, each) for each in (*field.struct.fields, *field.struct.tagged)}
    if kinds & {Kind.SUBSCRIPTION, Kind.ASSIGNMENT}:
        return content.members
    if kinds & _GROUP:
        return content.groups
    return content.topics if kinds & _TOPIC else [_Item({})]
