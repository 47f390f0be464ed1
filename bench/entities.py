"""Kafka messages from plain values, and whole request frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from struct import Struct
from typing import cast, get_type_hints

from kio.static.protocol import Entity

from protocol.frames import frame
from protocol.headers import request_header_version
from protocol.messages import build, message_class, write
from protocol.schema import api_key_of, field_type

CLIENT_ID = b"bench"

_HEADER = Struct(">hhih")


def entity(message: str, version: int, values: Mapping[str, object]) -> Entity:
    """The message with ``values``, where structs are mappings; other fields are zero or empty.

    Raises TypeError for a field that it does not have.
    """
    return _filled(message_class(message, version), values)


def request_frame(
    message: str, version: int, values: Mapping[str, object], correlation_id: int = 0
) -> bytes:
    """A whole request, its size included."""
    api_key = api_key_of(message)
    header = _HEADER.pack(api_key, version, correlation_id, len(CLIENT_ID)) + CLIENT_ID
    no_tags = b"\x00" if request_header_version(api_key, version) == 2 else b""
    return frame(header, no_tags, write(entity(message, version, values)))


def _filled(cls: type[Entity], values: Mapping[str, object]) -> Entity:
    hints = get_type_hints(cls)
    return build(cls, **{name: _value(hints, name, value) for name, value in values.items()})


def _value(hints: Mapping[str, object], name: str, value: object) -> object:
    if name not in hints:
        return value  # build() says who does not have it
    struct, _, array = field_type(hints[name])
    if not is_dataclass(struct):
        return value
    cls = cast(type[Entity], struct)
    if not array:
        assert isinstance(value, Mapping)
        return _filled(cls, value)
    assert isinstance(value, Iterable)
    return tuple(_filled(cls, element) for element in value)
