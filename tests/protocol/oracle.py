"""The spans that walkers should find, worked out from kio's entities; and bodies written from these
with tagged fields that no schema knows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, fields, is_dataclass, replace
from io import BytesIO
from typing import Any

from kio.serial._implicit_defaults import get_tagged_field_default
from kio.serial._serialize import get_field_writer

from protocol.entities import Kind, is_counted, kind_of
from protocol.primitives import write_uvarint
from protocol.schema import FieldSpec, StructSpec, message_spec

Tags = Sequence[tuple[int, bytes]]
"""Unknown tagged fields: (tag, content)."""

STRINGS = frozenset(
    {
        Kind.TOPIC_NAME,
        Kind.GROUP_ID,
        Kind.TRANSACTIONAL_ID,
        Kind.RESOURCE_NAME,
        Kind.COORDINATOR_KEY,
        Kind.REGEX,
        Kind.HOST,
        Kind.ERROR_TEXT,
        Kind.PROTOCOL_TYPE,
    }
)
"""The kinds that are always strings."""


def expected(message: str, version: int, entity: Any, kinds: frozenset[Kind]) -> list[Any]:
    """(kind, value) of every wanted field in the order of the wire; only the kind if it is
    SIZED."""
    return list(_struct(message, message_spec(message, version).body, entity, kinds))


def renamed(message: str, version: int, entity: Any, rename: Callable[[Kind, str], str]) -> Any:
    """The entity with each string of a kind in ``STRINGS`` renamed."""

    def one(field: FieldSpec, value: Any) -> Any:
        if value is None:
            return None
        if field.struct is not None:
            return struct(field.struct, value)
        kind = kind_of(message, field)
        return rename(kind, value) if kind in STRINGS else value

    def struct(spec: StructSpec, value: Any) -> Any:
        changes: dict[str, Any] = {}
        for field in spec.fields + _written(spec, value):
            old = getattr(value, field.name)
            if field.array and old is not None:
                changes[field.name] = tuple(one(field, item) for item in old)
            else:
                changes[field.name] = one(field, old)
        return replace(value, **changes)

    return struct(message_spec(message, version).body, entity)


def encode(entity: Any, unknown: Tags = ()) -> bytes:
    """A body as kio writes it, but with ``unknown`` tagged fields in every flexible struct."""
    out = BytesIO()
    tagged: list[tuple[int, bytes]] = list(unknown)
    for field in fields(entity):
        value = getattr(entity, field.name)
        tag = field.metadata.get("tag")
        if tag is None:
            out.write(_encode_field(entity, field, value, unknown))
        elif value != _default(field):
            tagged.append((tag, _encode_field(entity, field, value, unknown)))
    if entity.__flexible__:
        out.write(write_uvarint(len(tagged)))
        for number, content in sorted(tagged):
            out.write(write_uvarint(number) + write_uvarint(len(content)) + content)
    return out.getvalue()


def _encode_field(entity: Any, field: Any, value: Any, unknown: Tags) -> bytes:
    flexible = entity.__flexible__
    if is_dataclass(value):
        nullable = "None" in str(field.type) and field.metadata.get("tag") is None
        return (b"\x01" if nullable else b"") + encode(value, unknown)
    if isinstance(value, tuple) and value and is_dataclass(value[0]):
        count = write_uvarint(len(value) + 1) if flexible else len(value).to_bytes(4, "big")
        return count + b"".join(encode(item, unknown) for item in value)
    out = BytesIO()
    is_tag = field.metadata.get("tag") is not None
    get_field_writer(field, flexible, False, is_tag)(out, value)
    return out.getvalue()


def _default(field: Any) -> Any:
    return get_tagged_field_default(field) if field.default is MISSING else field.default


def _struct(
    message: str, spec: StructSpec, entity: Any, kinds: frozenset[Kind]
) -> Iterator[tuple[Kind, Any]]:
    for field in spec.fields:
        yield from _field(message, field, getattr(entity, field.name), kinds)
    for field in _written(spec, entity):
        if Kind.SIZED in kinds and _may_hold(message, field, kinds):
            yield Kind.SIZED, None
        yield from _field(message, field, getattr(entity, field.name), kinds)


def _written(spec: StructSpec, entity: Any) -> tuple[FieldSpec, ...]:
    """The tagged fields that are on the wire, in its order, because they are not their default."""
    defaults = {field.name: field for field in fields(entity)}
    return tuple(
        field
        for field in sorted(spec.tagged, key=lambda field: field.tag or 0)
        if getattr(entity, field.name) != _default(defaults[field.name])
    )


def _may_hold(message: str, field: FieldSpec, kinds: frozenset[Kind]) -> bool:
    if kind_of(message, field) in kinds or (Kind.COUNT in kinds and is_counted(message, field)):
        return True
    inner = field.struct.fields + field.struct.tagged if field.struct is not None else ()
    return any(_may_hold(message, one, kinds) for one in inner)


def _field(
    message: str, field: FieldSpec, value: Any, kinds: frozenset[Kind]
) -> Iterator[tuple[Kind, Any]]:
    if not field.array:
        yield from _one(message, field, value, kinds)
        return
    if Kind.COUNT in kinds and is_counted(message, field):
        yield Kind.COUNT, -1 if value is None else len(value)
    for item in value or ():
        yield from _one(message, field, item, kinds)


def _one(
    message: str, field: FieldSpec, value: Any, kinds: frozenset[Kind]
) -> Iterator[tuple[Kind, Any]]:
    if field.struct is not None:
        if value is not None:
            yield from _struct(message, field.struct, value, kinds)
        return
    kind = kind_of(message, field)
    if kind is None or kind not in kinds:
        return
    if kind is Kind.RECORDS:
        yield kind, len(value or b"")
    elif kind is Kind.ERROR_CODE:
        if value:
            yield kind, int(value)
    elif kind is Kind.NODE_ID:
        if value >= 0:
            yield kind, int(value)
    elif field.type == "uuid":
        yield kind, value.bytes if value is not None else bytes(16)
    elif isinstance(value, str):
        yield kind, value.encode()
    else:
        yield kind, value
