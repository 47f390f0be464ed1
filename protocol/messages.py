"""Whole messages as kio's entities, for the cold path: tens of times slower than walking.

kio's own errors do not leave this module: bytes that it cannot read are a ProtocolError.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from functools import cache, partial
from io import BytesIO
from struct import error as StructError
from typing import Any, Final, NamedTuple, TypeVar, get_type_hints

from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.serial.errors import SerialError
from kio.static.primitive import Records, TZAware
from kio.static.protocol import Entity

from protocol import long_messages
from protocol.errors import ProtocolError
from protocol.pausing import may_pause
from protocol.schema import StructSpec, field_type, message_class, message_spec
from protocol.unknown_tags import without_unknown_tags
from protocol.walkers import Walker, validator

__all__ = ["build", "message_class", "parse", "write"]

_E = TypeVar("_E", bound=Entity)

_ZEROS: Final[Mapping[str, object]] = {
    "bool": False,
    "bytes": b"",
    "datetime_i64": TZAware.parse(datetime.datetime.fromtimestamp(0, datetime.UTC)),
    "error_code": ErrorCode.none,
    "float64": 0.0,
    "int8": 0,
    "int16": 0,
    "int32": 0,
    "int64": 0,
    "records": Records(b""),
    "string": "",
    "timedelta_i32": datetime.timedelta(),
    "timedelta_i64": datetime.timedelta(),
    "uint16": 0,
    "uuid": None,
}


LONG: Final = 16 * 1024
"""Bytes of a body that is read in pieces where work may pause: kio takes up to 5 ms for as many."""


class _Reader(NamedTuple):
    walk: Walker
    read: Callable[[bytes, int], tuple[Any, int]]
    spec: StructSpec


def parse(message: str, version: int, body: bytes) -> Any:
    """The entity that ``body``, all of it, holds; unknown tagged fields are left out.

    Raises TruncatedError if it ends early, ProtocolError if it goes on after its end, is
    malformed, or holds what kio has no value for (an unknown error code, text that is not
    UTF-8, a time out of range).
    """
    reader = _reader(message, version)
    long = len(body) > LONG and may_pause()
    walk = validator(message, version, paced=True) if long else reader.walk
    # Walked first, because this bounds every count before anything is made of it.
    end = walk(body, 0, len(body), [])
    if end != len(body):
        raise ProtocolError(f"{message} v{version} has {len(body) - end} bytes after its end")
    read = partial(long_messages.read, message, version) if long else partial(_read, reader)
    try:
        try:
            entity = read(body)
        except KeyError:  # kio's way to say that it does not know a tag
            entity = read(without_unknown_tags(body, reader.spec))
    except (SerialError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise ProtocolError(f"{message} v{version} cannot be read: {error}") from error
    return entity


def write(entity: Entity) -> bytes:
    """The body that holds ``entity``. Raises ProtocolError for values that do not fit it."""
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
    """An entity of ``cls`` with ``values``; the other fields get their default, else a zero.

    Arrays and records are empty, also where they may be null; strings, bytes and structs that
    may be null are None; other structs are built the same way. Raises TypeError for a field
    that ``cls`` does not have.
    """
    return cls(**{**_zeros(cls), **values})


def _read(reader: _Reader, body: bytes) -> Any:
    return reader.read(body, 0)[0]


@cache
def _reader(message: str, version: int) -> _Reader:
    cls: Any = message_class(message, version)
    spec = message_spec(message, version).body
    return _Reader(validator(message, version), entity_reader(cls), spec)


@cache
def _zeros(cls: type[Entity]) -> Mapping[str, object]:
    """What fields without a default are if they are not given; entities are immutable."""
    hints = get_type_hints(cls)
    zeros: dict[str, object] = {}
    for field in fields(cls):
        if field.default is not MISSING:
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
