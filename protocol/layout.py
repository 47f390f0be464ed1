"""The lengths of fields on the wire, by their specs, and functions that skip fields.

Functions here believe lengths and counts: a ``walkers.validator`` must have checked them.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import calcsize
from typing import Final, TypeAlias

from protocol.pausing import joined, paced
from protocol.primitives import (
    compact_string,
    legacy_string,
    read_uvarint,
    skip_tags,
    write_uvarint,
)
from protocol.schema import FieldSpec, StructSpec

FORMATS: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "int64": "q",
    "float64": "d",
    "uuid": "16s",
    "error_code": "h",
    "timedelta_i32": "i",
    "timedelta_i64": "q",
    "datetime_i64": "q",
}
"""kio's fixed-size wire types -> their formats in ``struct``."""

SIZES: Final = {name: calcsize(f">{fmt}") for name, fmt in FORMATS.items()}
"""kio's fixed-size wire types -> their sizes in bytes."""

FEW_PLAIN: Final = 512
"""Elements other than structs that are skipped, read or written between two pauses."""

_LONG: Final = 4_096
"""If a field has more bytes, it is not copied before the pieces are joined."""


def element_size(field: FieldSpec) -> int | None:
    """Bytes of the field, or of an element if it is an array, or None if the size varies."""
    if field.struct is None:
        return SIZES.get(field.type)
    if field.struct.flexible or (field.nullable and not field.array):
        return None
    return fields_size(field.struct)


def fields_size(struct: StructSpec) -> int | None:
    """Bytes of a struct's fields without tagged fields, or None if the size varies."""
    total = 0
    for field in struct.fields:
        size = None if field.array else element_size(field)
        if size is None:
            return None
        total += size
    return total


def least_size(field: FieldSpec, flexible: bool) -> int:
    """The fewest bytes that a field takes."""
    if field.array:
        return 1 if flexible else 4
    if field.struct is not None:
        return 1 if field.nullable else least_struct_size(field.struct)
    return _least_value_size(field, flexible)


def least_element_size(field: FieldSpec, flexible: bool) -> int:
    """The fewest bytes that an element of an array field takes; at least 1."""
    if field.struct is not None:
        return max(1, least_struct_size(field.struct))
    return _least_value_size(field, flexible)


def _least_value_size(field: FieldSpec, flexible: bool) -> int:
    if field.type in SIZES:
        return SIZES[field.type]
    if flexible:
        return 1
    return 2 if field.type == "string" else 4


def least_struct_size(struct: StructSpec) -> int:
    """The fewest bytes that a struct takes."""
    size = sum(least_size(field, struct.flexible) for field in struct.fields)
    return size + 1 if struct.flexible else size


def read_count(buf: bytes, pos: int, flexible: bool) -> tuple[int, int]:
    """The count of an array (-1 if null), and the position after it."""
    if flexible:
        count, pos = read_uvarint(buf, pos, len(buf))
        return count - 1, pos
    return int.from_bytes(buf[pos : pos + 4], "big", signed=True), pos + 4


def write_count(count: int, flexible: bool) -> bytes:
    """The count of an array that is not null."""
    return write_uvarint(count + 1) if flexible else count.to_bytes(4, "big")


def field_end(buf: bytes, pos: int, field: FieldSpec, flexible: bool) -> int:
    """The end of the field that starts at ``pos``."""
    if field.array:
        count, pos = read_count(buf, pos, flexible)
        for _ in paced(range(count), FEW_PLAIN):
            pos = _value_end(buf, pos, field, False, flexible)
        return pos
    return _value_end(buf, pos, field, field.nullable, flexible)


def _value_end(buf: bytes, pos: int, field: FieldSpec, nullable: bool, flexible: bool) -> int:
    if field.struct is not None:
        if nullable:
            pos += 1
            if buf[pos - 1] > 127:
                return pos
        for inner in field.struct.fields:
            pos = field_end(buf, pos, inner, flexible)
        return skip_tags(buf, pos, len(buf)) if flexible else pos
    if field.type in SIZES:
        return pos + SIZES[field.type]
    if flexible:
        length, pos = read_uvarint(buf, pos, len(buf))
        length -= 1
    else:
        size = 2 if field.type == "string" else 4
        length = int.from_bytes(buf[pos : pos + size], "big", signed=True)
        pos += size
    return pos + max(length, 0)


def without_unknown_tags(buf: bytes, spec: StructSpec) -> bytes:
    """A body without the tagged fields that are not in ``spec``, at every depth (KIP-482).

    Newer clients and brokers may add them anywhere. Kafka skips unknown tagged fields, but kio
    rejects a body that has any.
    """
    parts: list[Piece] = []
    _known_struct(buf, 0, spec, None, parts)
    return joined(parts)


Read = Callable[[bytes], bytes]
"""(bytes of a string) -> the text that replaces them."""

Piece: TypeAlias = bytes | memoryview


def with_texts(buf: bytes, start: int, spec: StructSpec, read: Read) -> list[Piece]:
    """The pieces of a body that begins at ``start``, with each string replaced by ``read``, and
    without unknown tagged fields."""
    parts: list[Piece] = []
    _known_struct(buf, start, spec, read, parts)
    return parts


def _known_struct(
    buf: bytes, pos: int, spec: StructSpec, read: Read | None, parts: list[Piece]
) -> int:
    """Add the pieces of a struct without unknown tagged fields; returns the end of the original, as
    the functions below do. Pieces are joined once, at the end, because records may be long."""
    for field in spec.fields:
        pos = _known_field(buf, pos, field, spec.flexible, read, parts)
    if not spec.flexible:
        return pos
    known = {field.tag: field for field in spec.tagged}
    tagged: list[bytes] = []
    count, pos = read_uvarint(buf, pos, len(buf))
    for _ in paced(range(count)):
        tag, pos = read_uvarint(buf, pos, len(buf))
        size, pos = read_uvarint(buf, pos, len(buf))
        if tag in known:
            inside: list[Piece] = []
            _known_field(buf, pos, known[tag], True, read, inside)
            content = joined(inside)
            tagged.append(write_uvarint(tag) + write_uvarint(len(content)) + content)
        pos += size
    parts.append(write_uvarint(len(tagged)))
    parts += tagged
    return pos


def _known_field(
    buf: bytes, pos: int, field: FieldSpec, flexible: bool, read: Read | None, parts: list[Piece]
) -> int:
    start, struct = pos, field.struct
    if struct is None and read is not None and field.type == "string":
        return _read_field(buf, pos, field, flexible, read, parts)
    if struct is None:
        pos = field_end(buf, pos, field, flexible)
        parts.append(memoryview(buf)[start:pos] if pos - start > _LONG else buf[start:pos])
        return pos
    count = 1
    if field.array:
        count, pos = read_count(buf, pos, flexible)
    elif field.nullable:
        pos += 1
        count = 0 if buf[start] > 127 else 1
    parts.append(buf[start:pos])
    for _ in paced(range(count)):
        pos = _known_struct(buf, pos, struct, read, parts)
    return pos


def _read_field(
    buf: bytes, pos: int, field: FieldSpec, flexible: bool, read: Read, parts: list[Piece]
) -> int:
    """Add a string, or an array of strings, replaced by ``read``; returns the end of the
    original."""
    start, count = pos, 1
    if field.array:
        count, pos = read_count(buf, pos, flexible)
    parts.append(buf[start:pos])
    for _ in paced(range(count)):
        value_at = pos
        pos = _value_end(buf, pos, field, field.nullable, flexible)
        parts.append(_read_string(buf[value_at:pos], flexible, read))
    return pos


def _read_string(value: bytes, flexible: bool, read: Read) -> bytes:
    """A string replaced by ``read``, unless it is null."""
    if flexible:
        length, begin = read_uvarint(value, 0, len(value))
        return compact_string(read(value[begin:])) if length else value
    return legacy_string(read(value[2:])) if value[0] < 0x80 else value
