"""Message specs and names, read from kio's generated classes: kio is the schema, nothing is copied.

Messages have Kafka's names ("ProduceRequest", "ConsumerProtocolSubscription"), fields kio's (snake
case). A version's module is loaded at first use, which takes milliseconds.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, make_dataclass
from functools import cache
from typing import Any, Final, Literal, Union, cast, get_args, get_origin, get_type_hints

from protocol.errors import ProtocolError
from protocol.kio_types import (
    Entity,
    EntityType,
    ErrorCode,
    LoadableEntityType,
    api_key_map,
    load_entity_schema,
    schema_name_map,
)

Nominal = Literal["", "TopicName", "GroupId", "TransactionalId", "BrokerId"]
"""kio's metadata of a field beyond its wire type."""

_NOMINALS: Final = frozenset(get_args(Nominal))

UNKNOWN: Final = "(unknown)"
"""The name of an API key that Kafka does not have."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A field of a struct.

    ``path`` is the dotted path from the message, ``type`` kio's wire type of the field or of its
    elements ("struct" for structs), ``tag`` is None for fields that are not tagged. ``nullable``:
    if the field is an array, the array may be null.
    """

    name: str
    path: str
    type: str
    nullable: bool
    array: bool
    tag: int | None
    nominal: Nominal
    struct: StructSpec | None


@dataclass(frozen=True, slots=True)
class StructSpec:
    """Fields in wire order, tagged fields apart; flexible structs end with tagged fields."""

    flexible: bool
    fields: tuple[FieldSpec, ...]
    tagged: tuple[FieldSpec, ...]


@dataclass(frozen=True, slots=True)
class MessageSpec:
    """A message at a version; ``body`` is its outermost struct."""

    name: str
    version: int
    body: StructSpec

    @property
    def flexible(self) -> bool:
        """Whether the message has tagged fields and compact lengths (KIP-482)."""
        return self.body.flexible

    @property
    def fields(self) -> tuple[FieldSpec, ...]:
        """The outermost fields, tagged fields last."""
        return self.body.fields + self.body.tagged


def _index() -> dict[str, tuple[str, LoadableEntityType]]:
    """Kafka's message name -> kio's name and kind of the message."""
    found: dict[str, tuple[str, LoadableEntityType]] = {}
    for kio_name, versions in schema_name_map.items():
        for paths in versions.values():
            for kind, path in paths.items():
                if kind is not EntityType.header:
                    found[path.rpartition(":")[2]] = (kio_name, kind)
    return found


_MESSAGES: Final[Mapping[str, tuple[str, LoadableEntityType]]] = _index()
_API_KEYS: Final[Mapping[str, int]] = {name: key for key, name in api_key_map.items()}
_NAMES: Final[Mapping[tuple[int, LoadableEntityType], str]] = {
    (_API_KEYS[kio_name], kind): name
    for name, (kio_name, kind) in _MESSAGES.items()
    if kio_name in _API_KEYS
}
API_NAMES: Final[Mapping[int, str]] = {
    key: _NAMES[key, EntityType.request].removesuffix("Request") for key in api_key_map
}
"""API key -> Kafka's name of the API ("Produce")."""

ERROR_NAMES: Final[Mapping[int, str]] = {int(code): code.name.upper() for code in ErrorCode}

_FIRST_CREATE_TOPICS: Final = 2
"""The first version that kio has, because Kafka 4 no longer serves earlier versions; old clients
send them. The request v1 has the layout of v2, v0 lacks ``validate_only``; the response v0 has name
and error code only, v1 adds the error message and v2 the throttle time (Kafka 3.9's
CreateTopicsRequest.json and CreateTopicsResponse.json)."""

_WITHOUT: Final[Mapping[tuple[str, int], frozenset[str]]] = {
    ("CreateTopicsRequest", 0): frozenset({"validate_only"}),
    ("CreateTopicsRequest", 1): frozenset(),
    ("CreateTopicsResponse", 0): frozenset({"throttle_time", "error_message"}),
    ("CreateTopicsResponse", 1): frozenset({"throttle_time"}),
}
"""The fields of ``_FIRST_CREATE_TOPICS`` that a message of an earlier version lacks."""


def api_name(api_key: int) -> str:
    """``Produce`` for 0, :data:`UNKNOWN` for a key that Kafka does not have."""
    return API_NAMES.get(api_key, UNKNOWN)


def error_name(code: int) -> str:
    """``UNKNOWN_TOPIC_OR_PARTITION`` for 3, the number for a code that kio does not have."""
    return ERROR_NAMES.get(code) or str(int(code))


def message_names() -> tuple[str, ...]:
    """Every message: requests, responses and data entities."""
    return tuple(_MESSAGES)


def message_versions(name: str) -> tuple[int, ...]:
    """The versions of ``name``, ascending. Raises ProtocolError for an unknown name."""
    earlier = {version for message, version in _WITHOUT if message == name}
    return tuple(sorted(earlier | set(schema_name_map[_find(name)[0]])))


@cache
def message_class(name: str, version: int) -> type[Entity]:
    """kio's class for a message, with error codes as plain numbers. Raises ProtocolError if there
    is no such message or version."""
    if (name, version) in _WITHOUT:
        return _create_topics_class(name, version)
    kio_name, kind = _find(name)
    if version not in schema_name_map[kio_name]:
        raise ProtocolError(f"{name} has no version {version}")
    cls = load_entity_schema(kio_name, version, kind)
    _open_numbers(cls)
    return cls


def api_key_of(name: str) -> int:
    """The API key of a request or response. Raises ProtocolError for an unknown name."""
    key = _API_KEYS.get(_find(name)[0])
    if key is None:
        raise ProtocolError(f"{name} is no request and no response")
    return key


def request_name(api_key: int) -> str:
    """ "ProduceRequest" for 0. Raises ProtocolError for an unknown API key."""
    return _name(api_key, EntityType.request)


def response_name(api_key: int) -> str:
    """ "ProduceResponse" for 0. Raises ProtocolError for an unknown API key."""
    return _name(api_key, EntityType.response)


@cache
def message_spec(name: str, version: int) -> MessageSpec:
    """The spec of a message. Raises ProtocolError if there is no such message or version."""
    return MessageSpec(name, version, _struct(message_class(name, version), ""))


@cache
def struct_spec(cls: type[Entity]) -> StructSpec:
    """The spec of a message's or a struct's class."""
    return _struct(cls, "")


def field_type(annotation: object) -> tuple[Any, bool, bool]:
    """The content of a field's resolved annotation: (type of the field or of its elements, whether
    the field may be null, whether it is an array)."""
    inner, nullable = _strip_none(annotation)
    if get_origin(inner) is tuple:
        element, _ = _strip_none(get_args(inner)[0])
        return element, nullable, True
    return inner, nullable, False


@cache
def _create_topics_class(name: str, version: int) -> type[Entity]:
    later: Any = message_class(name, _FIRST_CREATE_TOPICS)
    cls: type[Entity] = _earlier(later, version, _WITHOUT[name, version])
    return cls


def _earlier(cls: Any, version: int, without: frozenset[str]) -> Any:
    """kio's ``cls`` for a version that kio lacks: ``without`` some fields, at any depth."""
    hints = get_type_hints(cls)
    specs: list[tuple[str, Any, Any]] = []
    for each in fields(cls):
        if each.name in without:
            continue
        annotation = hints[each.name]
        inner, _, array = field_type(annotation)
        if array and is_dataclass(inner):
            element: Any = _earlier(inner, version, without)
            annotation = tuple.__class_getitem__((element, ...))
        default = {} if each.default is MISSING else {"default": each.default}
        specs.append((each.name, annotation, field(metadata=each.metadata, **default)))
    known = ("__type__", "__flexible__", "__api_key__", "__header_schema__")
    namespace = {"__version__": version, **{name: getattr(cls, name) for name in known}}
    return make_dataclass(
        cls.__name__, specs, namespace=namespace, frozen=True, slots=True, kw_only=True
    )


OPEN_TIMES: Final[Mapping[str, int]] = {"retention_time": -1, "transaction_start_time": 0}
"""Times (ms) that may be any int64, and their defaults: kio's types cannot hold all. Clients set
``retention_time``; ``transaction_start_time`` is -1 until a transaction begins."""


def _open_numbers(cls: Any) -> None:
    """Make kio read and write the error codes of ``cls``, at any depth, as int16, and its times
    that may be any number (``OPEN_TIMES``) as int64.

    kio reads error codes as members of its ErrorCode and rejects the whole message if the enum
    lacks a code, but newer brokers and vendors' brokers have codes of their own. The annotation
    stays, so specs still say ``error_code``. kio compiles its reader of a class from the metadata
    at first use, which is after this.
    """
    for each in fields(cls):
        inner, *_ = field_type(each.type)
        if is_dataclass(inner):
            _open_numbers(inner)
        elif inner is ErrorCode or each.name in OPEN_TIMES:
            open_type = "int16" if inner is ErrorCode else "int64"
            each.metadata = types.MappingProxyType({**each.metadata, "kafka_type": open_type})


def _find(name: str) -> tuple[str, LoadableEntityType]:
    found = _MESSAGES.get(name)
    if found is None:
        raise ProtocolError(f"there is no message {name}")
    return found


def _name(api_key: int, kind: LoadableEntityType) -> str:
    name = _NAMES.get((api_key, kind))
    if name is None:
        raise ProtocolError(f"there is no API key {api_key}")
    return name


def _struct(cls: type[Entity], path: str) -> StructSpec:
    hints = get_type_hints(cls)
    specs = [_field(each, hints[each.name], path) for each in fields(cls)]
    return StructSpec(
        flexible=cls.__flexible__,
        fields=tuple(spec for spec in specs if spec.tag is None),
        tagged=tuple(spec for spec in specs if spec.tag is not None),
    )


def _field(of: Field[Any], annotation: object, parent: str) -> FieldSpec:
    inner, nullable, array = field_type(annotation)
    path = f"{parent}.{of.name}" if parent else of.name
    is_struct = is_dataclass(inner)
    wire_type = "struct" if is_struct else of.metadata["kafka_type"]
    if inner is ErrorCode:
        wire_type = "error_code"  # the metadata have int16, see _open_numbers
    # kio uses None for their zero or -1; on the wire they always have the same length.
    has_null = nullable and (array or wire_type not in ("uuid", "datetime_i64"))
    nominal = inner.__name__ if inner.__name__ in _NOMINALS else ""
    return FieldSpec(
        name=of.name,
        path=path,
        type=wire_type,
        nullable=has_null,
        array=array,
        tag=of.metadata.get("tag"),
        nominal=cast(Nominal, nominal),
        struct=_struct(inner, path) if is_struct else None,
    )


def _strip_none(annotation: object) -> tuple[Any, bool]:
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation, False
    members = [member for member in get_args(annotation) if member is not type(None)]
    return members[0], len(members) < len(get_args(annotation))
