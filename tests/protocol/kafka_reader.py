"""Requests as Kafka's own generated classes read them, which differs from their sizes.

MessageDataGenerator's readers take any negative length for null, read a known tagged field by its
content and never compare that with its size, and ignore bytes behind the last field. So this is how
a broker reads the very bytes that it gets.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from protocol.entities import Kind, kind_of
from protocol.schema import FieldSpec, StructSpec, message_spec, request_name

INTEGERS: Final = {
    "int8": 1,
    "error_code": 2,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "timedelta_i32": 4,
    "int64": 8,
    "timedelta_i64": 8,
    "datetime_i64": 8,
    "float64": 8,
}
UUID_SIZE: Final = 16
API_VERSIONS: Final = 18

Found = tuple[Kind, Any]
"""The kind and the value of a field: bytes, a number, or None for null."""


class Rejected(Exception):
    """A broker cannot read this either; it closes the connection."""


class Reader:
    """Reads a payload: ``buf`` without the frame's size."""

    def __init__(self, buf: bytes) -> None:
        self._buf = buf
        self._at = 0

    def request(self) -> tuple[int, int, bytes | None, list[Found]]:
        """API key, version, client id, and the kinds and values of the body's fields, in the order
        read.

        Raises Rejected.
        """
        api_key, version = self.number(2), self.number(2)
        self.number(4)
        client_id = self._text(self.number(2))
        name = request_name(api_key)
        spec = message_spec(name, version)
        if spec.flexible:
            self._unknown_tags()
        return api_key, version, client_id, list(self._struct(name, spec.body))

    def message(self, name: str, version: int) -> list[Found]:
        """The kinds and values of the fields of a message without a header, in order. Raises
        Rejected."""
        return list(self._struct(name, message_spec(name, version).body))

    def number(self, size: int) -> int:
        """A signed integer of ``size`` bytes."""
        return int.from_bytes(self._take(size), "big", signed=True)

    def _take(self, size: int) -> bytes:
        if size < 0 or self._at + size > len(self._buf):
            raise Rejected(f"{size} bytes at {self._at} of {len(self._buf)}")
        self._at += size
        return self._buf[self._at - size : self._at]

    def _varint(self) -> int:
        """As ByteUtils.readUnsignedVarint: bits that do not fit an int are lost."""
        value = 0
        for shift in range(0, 35, 7):
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                value &= 0xFFFFFFFF
                return value - (1 << 32) if value >> 31 else value
        raise Rejected("a varint of more than five bytes")

    def _unknown_tags(self) -> None:
        for _ in range(self._varint()):
            self._varint()
            self._take(self._varint())

    def _text(self, length: int) -> bytes | None:
        return None if length < 0 else self._take(length)

    def _struct(self, message: str, spec: StructSpec) -> Iterator[Found]:
        for field in spec.fields:
            yield from self._field(message, field, spec.flexible)
        if spec.flexible:
            known = {field.tag: field for field in spec.tagged}
            for _ in range(self._varint()):
                tag, size = self._varint(), self._varint()
                if tag in known:
                    yield from self._field(message, known[tag], flexible=True)
                else:
                    self._take(size)

    def _field(self, message: str, field: FieldSpec, flexible: bool) -> Iterator[Found]:
        if not field.array:
            yield from self._one(message, field, flexible)
            return
        count = self._varint() - 1 if flexible else self.number(4)
        if count < 0 and not field.nullable:
            raise Rejected(f"{field.path} is null")
        if count > len(self._buf) - self._at:
            raise Rejected(f"{field.path} has {count} elements")
        for _ in range(count):
            yield from self._one(message, field, flexible)

    def _one(self, message: str, field: FieldSpec, flexible: bool) -> Iterator[Found]:
        if field.struct is not None:
            if not field.array and field.nullable and self.number(1) < 0:
                return
            yield from self._struct(message, field.struct)
            return
        value = self._value(field, flexible)
        kind = kind_of(message, field)
        if kind is not None and kind is not Kind.PLAIN:
            yield kind, value

    def _value(self, field: FieldSpec, flexible: bool) -> bytes | int | None:
        if field.type == "bool":
            return self.number(1) != 0
        if field.type in INTEGERS:
            return self.number(INTEGERS[field.type])
        if field.type == "uuid":
            return self._take(UUID_SIZE)
        legacy = 2 if field.type == "string" else 4
        length = self._varint() - 1 if flexible else self.number(legacy)
        value = self._text(length)
        if value is None and not (field.nullable and not field.array):
            raise Rejected(f"{field.path} is null")
        return value
