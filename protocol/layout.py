"""How many bytes things take on the wire: what the walkers can skip without looking."""

from __future__ import annotations

from typing import Final

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
"""kio's fixed-size wire types and how ``struct`` calls them."""

SIZES: Final = {
    "bool": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "int64": 8,
    "float64": 8,
    "uuid": 16,
    "error_code": 2,
    "timedelta_i32": 4,
    "timedelta_i64": 8,
    "datetime_i64": 8,
}
"""Their sizes in bytes."""


def element_size(field: FieldSpec) -> int | None:
    """Bytes of the field, or of one element if it is an array; None if that varies."""
    if field.struct is None:
        return SIZES.get(field.type)
    if field.struct.flexible or (field.nullable and not field.array):
        return None
    return fields_size(field.struct)


def fields_size(struct: StructSpec) -> int | None:
    """Bytes of a struct's fields without the tagged ones; None if that varies."""
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
    if field.type in SIZES:
        return SIZES[field.type]
    if flexible:
        return 1
    return 2 if field.type == "string" else 4


def least_element_size(field: FieldSpec, flexible: bool) -> int:
    """The fewest bytes that one element of an array field takes; at least 1."""
    if field.struct is not None:
        return max(1, least_struct_size(field.struct))
    if field.type in SIZES:
        return SIZES[field.type]
    if flexible:
        return 1
    return 2 if field.type == "string" else 4


def least_struct_size(struct: StructSpec) -> int:
    """The fewest bytes that a struct takes."""
    size = sum(least_size(field, struct.flexible) for field in struct.fields)
    return size + 1 if struct.flexible else size
