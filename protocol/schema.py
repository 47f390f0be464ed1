"""Message specs, read off kio's generated dataclasses: kio is the schema, nothing is copied.

Messages go by Kafka's names ("ProduceRequest", "ConsumerProtocolSubscription"), fields by kio's
(snake case). A version's module is loaded when it is first asked for, which takes milliseconds.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import Field, dataclass, fields, is_dataclass
from functools import cache
from typing import Any, Final, Literal, Union, cast, get_args, get_origin, get_type_hints

from kio.index import load_entity_schema
from kio.schema.index import LoadableEntityType, api_key_map, schema_name_map
from kio.static.constants import EntityType
from kio.static.protocol import Entity

from protocol.errors import ProtocolError
from protocol.legacy import LEGACY_MESSAGES

Nominal = Literal["", "TopicName", "GroupId", "TransactionalId", "BrokerId"]
"""What kio knows of a field beyond its wire type."""

_NOMINALS: Final = frozenset(get_args(Nominal))


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field.

    ``path`` is the dotted path from the message, ``type`` kio's wire type of the field or of its
    elements ("struct" if that is a struct), ``tag`` is None for fields that are not tagged.
    ``nullable`` is said of the array where the field is one.
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
    """Fields in wire order, the tagged ones apart; flexible structs end with tagged fields."""

    flexible: bool
    fields: tuple[FieldSpec, ...]
    tagged: tuple[FieldSpec, ...]


@dataclass(frozen=True, slots=True)
class MessageSpec:
    """One message at one version; ``body`` is its outermost struct."""

    name: str
    version: int
    body: StructSpec

    @property
    def flexible(self) -> bool:
        """Whether it has tagged fields and compact lengths (KIP-482)."""
        return self.body.flexible

    @property
    def fields(self) -> tuple[FieldSpec, ...]:
        """The outermost fields, tagged ones last."""
        return self.body.fields + self.body.tagged


def _index() -> dict[str, tuple[str, LoadableEntityType]]:
    """Kafka's message name -> kio's name and kind of it."""
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


def message_names() -> tuple[str, ...]:
    """Every message there is: requests, responses and data entities."""
    return tuple(_MESSAGES)


def message_versions(name: str) -> tuple[int, ...]:
    """The versions that ``name`` has, ascending. Raises ProtocolError for an unknown name."""
    legacy = {version for message, version in LEGACY_MESSAGES if message == name}
    return tuple(sorted(legacy | set(schema_name_map[_find(name)[0]])))


def message_class(name: str, version: int) -> type[Entity]:
    """kio's class for a message. Raises ProtocolError if there is no such message or version."""
    legacy = LEGACY_MESSAGES.get((name, version))
    if legacy is not None:
        return legacy
    kio_name, kind = _find(name)
    if version not in schema_name_map[kio_name]:
        raise ProtocolError(f"{name} has no version {version}")
    return load_entity_schema(kio_name, version, kind)


def api_key_of(name: str) -> int:
    """The API key of a request or response. Raises ProtocolError for an unknown one."""
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
    """What a field's resolved annotation says: (type of the field or of its elements, whether
    the field may be null, whether it is an array)."""
    inner, nullable = _strip_none(annotation)
    if get_origin(inner) is tuple:
        element, _ = _strip_none(get_args(inner)[0])
        return element, nullable, True
    return inner, nullable, False


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
    specs = [_field(field, hints[field.name], path) for field in fields(cls)]
    return StructSpec(
        flexible=cls.__flexible__,
        fields=tuple(spec for spec in specs if spec.tag is None),
        tagged=tuple(spec for spec in specs if spec.tag is not None),
    )


def _field(field: Field[Any], annotation: object, parent: str) -> FieldSpec:
    inner, nullable, array = field_type(annotation)
    path = f"{parent}.{field.name}" if parent else field.name
    is_struct = is_dataclass(inner)
    wire_type = "struct" if is_struct else field.metadata["kafka_type"]
    # kio says None where these hold zero or -1; on the wire they are as long as any.
    has_null = nullable and (array or wire_type not in ("uuid", "datetime_i64"))
    nominal = inner.__name__ if inner.__name__ in _NOMINALS else ""
    return FieldSpec(
        name=field.name,
        path=path,
        type=wire_type,
        nullable=has_null,
        array=array,
        tag=field.metadata.get("tag"),
        nominal=cast(Nominal, nominal),
        struct=_struct(inner, path) if is_struct else None,
    )


def _strip_none(annotation: object) -> tuple[Any, bool]:
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation, False
    members = [member for member in get_args(annotation) if member is not type(None)]
    return members[0], len(members) < len(get_args(annotation))
