"""Whole messages as kio's entities, for the cold path: tens of times slower than walking.

kio's own errors do not leave this module: bytes that it cannot read raise ProtocolError. ``make``
fits a set of plain values to every version of a message, ``Request`` is a whole request of them.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, replace
from functools import cache, partial
from io import BytesIO
from struct import error as StructError
from typing import Any, Final, NamedTuple, TypeVar, get_type_hints

from protocol import long_messages
from protocol.errors import NotUtf8, ProtocolError
from protocol.kio_types import (
    Entity,
    InvalidUnicode,
    Records,
    SerialError,
    TZAware,
    entity_reader,
    entity_writer,
)
from protocol.layout import without_unknown_tags
from protocol.pausing import may_pause, paced, pause_point
from protocol.schema import OPEN_TIMES, StructSpec, field_type, message_class, message_spec
from protocol.walkers import Walker, validator

__all__ = ["Request", "build", "changed", "element_class", "has_field", "made", "make"]
__all__ += ["message_class", "parse", "write"]

_E = TypeVar("_E", bound=Entity)

_ZEROS: Final[Mapping[str, object]] = {
    **dict.fromkeys(("int8", "int16", "uint16", "int32", "int64"), 0),
    **dict.fromkeys(("timedelta_i32", "timedelta_i64"), datetime.timedelta()),
    "bool": False,
    "bytes": b"",
    "datetime_i64": TZAware.parse(datetime.datetime.fromtimestamp(0, datetime.UTC)),
    "float64": 0.0,
    "records": Records(b""),
    "string": "",
    "uuid": None,
}


LONG: Final = 16 * 1024
"""If a body has more bytes, and work may pause, it is read in pieces, because kio takes up to 5
ms."""


class _Reader(NamedTuple):
    walk: Walker
    read: Callable[[bytes, int], tuple[Any, int]]
    spec: StructSpec


def parse(message: str, version: int, body: bytes) -> Any:
    """The entity that the whole ``body`` holds, without unknown tagged fields.

    Raises TruncatedError if the body ends early; ProtocolError if it goes on after its end, is
    malformed, or has a value that kio cannot hold (a time out of range); its subclass NotUtf8 for
    text that is not UTF-8. Error codes, also codes that kio does not know, and
    ``schema.OPEN_TIMES`` are numbers.
    """
    reader = _reader(message, version)
    long = len(body) > LONG and may_pause()
    walk = validator(message, version, paced=True) if long else reader.walk
    # Walked first, because this checks every count before anything is made of it.
    end = walk(body, 0, len(body), [])
    if end != len(body):
        raise ProtocolError(f"{message} v{version} has {len(body) - end} bytes after its end")
    read = partial(long_messages.read, message, version) if long else partial(_read, reader)
    try:
        try:
            entity = read(body)
        except KeyError:  # kio raises it for a tag that it does not know
            entity = read(without_unknown_tags(body, reader.spec))
    except InvalidUnicode as error:
        raise NotUtf8(f"{message} v{version} cannot be read: a text is not UTF-8") from error
    except (SerialError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise ProtocolError(f"{message} v{version} cannot be read: {error}") from error
    return entity


def write(entity: Entity) -> bytes:
    """The body of ``entity``. Raises ProtocolError for values that do not fit it."""
    out = BytesIO()
    try:
        if may_pause():
            long_messages.write(entity, out)
        else:
            entity_writer(type(entity))(out, entity)
    except (SerialError, StructError, ArithmeticError, UnicodeError) as error:
        raise ProtocolError(f"{type(entity).__name__} cannot be written: {error}") from error
    return out.getvalue()


def build(cls: type[_E], **values: object) -> _E:
    """An entity of ``cls`` with ``values``; other fields get their default, else a zero.

    Arrays and records are empty, also where they may be null; strings, bytes and structs that
    may be null are None; other structs are built the same way. Raises TypeError for a field
    that ``cls`` does not have.
    """
    return cls(**{**_zeros(cls), **values})


def has_field(cls: type, attribute: str) -> bool:
    """Whether this version of a message (or of a struct in it) has the field."""
    return attribute in _field_types(cls)


def element_class(cls: type, attribute: str) -> type:
    """The class of the elements of an array field (nullable or not), or of a nested entity."""
    return _field_types(cls)[attribute].cls


def make(cls: type, values: Mapping[str, object]) -> Any:
    """An entity of ``cls`` from plain values by kio's field names.

    Structs are entities or mappings, arrays are sequences. Values of fields that this version lacks
    are left out; null becomes a zero if the field is not nullable; a field without a value gets its
    default, else a zero.
    """
    pause_point()  # a pause point for each item of a message that may be large
    return build(cls, **_fitting(cls, values))


def made(name: str, version: int, values: Mapping[str, object]) -> bytes:
    """The body of a message from plain values, like :func:`make`. Raises ProtocolError."""
    return write(make(message_class(name, version), values))


def changed(entity: Any, values: Mapping[str, object]) -> Any:
    """``entity`` with other ``values``, fitted to its version like ``make`` does."""
    pause_point()
    return replace(entity, **_fitting(type(entity), values))


class Request(NamedTuple):
    """A request of the gateway's own, described once for all versions.

    ``name`` is Kafka's (``MetadataRequest``), ``at_most`` the newest version whose meaning the
    caller knows. ``values`` are values for :func:`make`, or a function that returns them for a
    version, which is called when a connection is about to send the request.
    """

    name: str
    at_most: int
    values: Mapping[str, object] | Callable[[int], Mapping[str, object]]

    def entity(self, version: int) -> Any:
        """The request in a version. Raises ProtocolError if Kafka has no such version."""
        return make(message_class(self.name, version), self.values_at(version))

    def values_at(self, version: int) -> Mapping[str, object]:
        """The values in a version."""
        return self.values(version) if callable(self.values) else self.values


class _FieldType(NamedTuple):
    """The type of a field's value, or of its elements, and whether the field is nullable."""

    cls: type
    nullable: bool


@cache
def _field_types(cls: Any) -> Mapping[str, _FieldType]:
    hints = get_type_hints(cls)
    return {each.name: _FieldType(*field_type(hints[each.name])[:2]) for each in fields(cls)}


def _fitting(cls: type, values: Mapping[str, object]) -> dict[str, Any]:
    types = _field_types(cls)
    return {
        name: _value(types[name].cls, value)
        for name, value in values.items()
        if name in types and (value is not None or types[name].nullable)
    }


def _value(cls: Any, value: object) -> object:
    if isinstance(value, Mapping):
        return make(cls, value)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview):
        return tuple(_value(cls, element) for element in paced(value))
    return value


def _read(reader: _Reader, body: bytes) -> Any:
    return reader.read(body, 0)[0]


@cache
def _reader(message: str, version: int) -> _Reader:
    cls: Any = message_class(message, version)
    spec = message_spec(message, version).body
    return _Reader(validator(message, version), entity_reader(cls), spec)


@cache
def _zeros(cls: type[Entity]) -> Mapping[str, object]:
    """The zeros of fields without a default. They can be shared, because entities are immutable."""
    hints = get_type_hints(cls)
    zeros: dict[str, object] = {}
    for field in fields(cls):
        if field.default is not MISSING:
            if field.name in OPEN_TIMES:  # kio's default is a timedelta
                zeros[field.name] = OPEN_TIMES[field.name]
            continue
        inner, nullable, array = field_type(hints[field.name])
        kafka_type = field.metadata.get("kafka_type")
        if array:
            zeros[field.name] = ()
        elif nullable and kafka_type != "records":
            zeros[field.name] = None
        elif kafka_type is None:
            zeros[field.name] = build(inner)
        else:
            zeros[field.name] = _ZEROS[kafka_type]
    return zeros
