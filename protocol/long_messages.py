"""Long messages as kio's entities: read and written element by element, with pause points.

kio reads and writes a message in one go, which takes 20 ms for a thousand topics, or for 100,000
names. Here a struct with long arrays is cut: kio reads or writes its elements singly, and the rest
of the struct with these arrays empty. So is a long struct in a struct. Long records, which kio
would copy, are views of the bytes that they are read from. The message's validator must have passed
the bytes, as for kio.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from io import BytesIO
from typing import Any, Final, get_type_hints

from protocol.kio_types import Entity, Records, entity_reader, entity_writer, readers, writers
from protocol.layout import FEW_PLAIN, field_end, read_count, write_count
from protocol.pausing import paced, write_long
from protocol.schema import (
    FieldSpec,
    StructSpec,
    field_type,
    message_class,
    message_spec,
    struct_spec,
)
from protocol.walkers import Walker, struct_walker

SHORT: Final = 4 * 1024
"""Bytes of a struct that kio reads in one go, which takes at most some 0.3 ms."""

FEW: Final = 32
"""Elements of an array that kio writes in one go."""

Reader = Callable[[bytes, int], tuple[Any, int]]
Writer = Callable[[BytesIO, Any], None]

_PLAIN: Final[dict[tuple[str, bool], tuple[Reader, Writer]]] = {
    ("int16", False): (readers.read_int16, writers.write_int16),
    ("int16", True): (readers.read_int16, writers.write_int16),
    ("int32", False): (readers.read_int32, writers.write_int32),
    ("int32", True): (readers.read_int32, writers.write_int32),
    ("string", False): (readers.read_legacy_string, writers.write_legacy_string),
    ("string", True): (readers.read_compact_string, writers.write_compact_string),
}
"""(type of an element that is no struct, whether its message is flexible) -> kio's reader and
writer. Arrays of other types are left to kio."""


_RECORDS: Final = "records"
_NO_RECORDS: Final = Records(b"")


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A struct, and the readers of its long fields."""

    cls: Any
    """kio's class."""
    spec: StructSpec
    end: Walker
    """Finds the struct's end."""
    parts: dict[str, _Part]
    """The elements of its arrays of structs, by attribute."""
    plain: dict[str, Reader]
    """Readers of the elements of its other arrays, by attribute."""
    records: frozenset[str]
    """The attributes that hold records."""
    structs: dict[str, _Part]
    """The structs in it that can be long, by attribute."""

    @property
    def is_short(self) -> bool:
        """Whether nothing in the struct except its strings can be long."""
        return not (self.parts or self.plain or self.records or self.structs)


@cache
def _part_of(message: str, version: int) -> _Part:
    body = message_spec(message, version).body
    return _make(message, version, message_class(message, version), body)


def _make(message: str, version: int, cls: Any, spec: StructSpec) -> _Part:
    hints = get_type_hints(cls)
    parts = {
        field.name: _make(message, version, field_type(hints[field.name])[0], field.struct)
        for field in spec.fields
        if field.array and field.struct is not None
    }
    plain = {
        field.name: _PLAIN[field.type, spec.flexible][0]
        for field in spec.fields
        if field.array and (field.type, spec.flexible) in _PLAIN
    }
    records = frozenset(field.name for field in spec.fields if field.type == _RECORDS)
    inner = {
        field.name: _make(message, version, field_type(hints[field.name])[0], field.struct)
        for field in spec.fields
        if not field.array and field.struct is not None
    }
    structs = {name: part for name, part in inner.items() if not part.is_short}
    return _Part(cls, spec, struct_walker(message, version, spec), parts, plain, records, structs)


def read(message: str, version: int, body: bytes) -> Any:
    """The entity in ``body``. Raises kio's exceptions."""
    return _read(_part_of(message, version), body, 0)[0]


def _read(part: _Part, buf: bytes, pos: int) -> tuple[Any, int]:
    end = part.end(buf, pos, len(buf), [])
    if end - pos <= SHORT or part.is_short:
        if end - pos == len(buf):
            return entity_reader(part.cls)(buf, pos)
        return entity_reader(part.cls)(buf[pos:end], 0)[0], end
    return _read_long(part, buf, pos, end)[0], end


def _read_long(part: _Part, buf: bytes, pos: int, end: int) -> tuple[Any, bytes]:
    """The entity in ``buf[pos:end]``, and the bytes of the same entity with its long fields
    empty."""
    rest: list[bytes] = []
    long: dict[str, Any] = {}
    flexible = part.spec.flexible
    for field in part.spec.fields:
        start = pos
        element, read_plain = part.parts.get(field.name), part.plain.get(field.name)
        if element is None and read_plain is None:
            pos = field_end(buf, pos, field, flexible)
            inner = part.structs.get(field.name)
            if field.name in part.records and pos - start > SHORT:
                size, begin = read_count(buf, start, flexible)
                long[field.name] = memoryview(buf)[begin : begin + size]
                rest.append(write_count(0, flexible))
            elif inner is not None and pos - start > SHORT:
                begin = start + field.nullable  # a byte says whether it is null
                long[field.name], without = _read_long(inner, buf, begin, pos)
                rest += (buf[start:begin], without)
            else:
                rest.append(buf[start:pos])
            continue
        count, pos = read_count(buf, pos, flexible)
        if count < 0:
            rest.append(buf[start:pos])
            continue
        found: list[Any] = []
        if element is not None:
            for _ in paced(range(count)):
                entity, pos = _read(element, buf, pos)
                found.append(entity)
        elif read_plain is not None:
            for _ in paced(range(count), FEW_PLAIN):
                value, size = read_plain(buf, pos)
                found.append(value)
                pos += size
        long[field.name] = tuple(found)
        rest.append(write_count(0, flexible))
    rest.append(buf[pos:end])
    without = b"".join(rest)
    outer, _ = entity_reader(part.cls)(without, 0)
    return replace(outer, **long), without


def write(entity: Any, out: BytesIO) -> None:
    """Write an entity of any class. Raises kio's exceptions."""
    cls: Any = type(entity)
    _writer(cls)(out, entity)


@cache
def _writer(cls: type[Entity]) -> Writer:
    """A writer of entities of a class: kio's, except for long arrays and long records."""
    plain, records, structs = _plain_of(cls), _records_of(cls), _structs_of(cls)
    names = (*_arrays_of(cls), *plain, *records, *structs)
    at_once: Any = entity_writer(cls)
    if not names:
        return at_once  # type: ignore[no-any-return]
    flexible = bool(cls.__flexible__)
    spec = struct_spec(cls)

    def write_entity(out: BytesIO, entity: Any) -> None:
        if not _is_long(entity):
            at_once(out, entity)
            return
        outer = BytesIO()
        at_once(outer, _bare(entity))
        rest, done = outer.getvalue(), 0
        for field, place in _starts(rest, spec, names):
            name = field.name
            value = getattr(entity, name)
            if not value:
                continue
            if name in structs:
                begin = place + field.nullable
                out.write(rest[done:begin])
                inner_class: Any = type(value)
                _writer(inner_class)(out, value)
                done = field_end(rest, place, field, flexible)
                continue
            empty = write_count(0, flexible)
            out.write(rest[done:place])
            out.write(write_count(len(value), flexible))
            write_plain = plain.get(name)
            if name in records:
                write_long(out, value)
            elif write_plain is None:
                element_class: Any = type(value[0])
                write_element = _writer(element_class)
                for element in paced(value):
                    write_element(out, element)
            else:
                for element in paced(value, FEW_PLAIN):
                    write_plain(out, element)
            done = place + len(empty)
        out.write(rest[done:])

    return write_entity


def _bare(entity: Any) -> Any:
    """An entity with its long fields, and those of its structs, empty."""
    cls: Any = type(entity)
    records = _records_of(cls)
    values: dict[str, Any] = {}
    for name in (*_arrays_of(cls), *_plain_of(cls), *records):
        if getattr(entity, name):
            values[name] = _NO_RECORDS if name in records else ()
    for name in _structs_of(cls):
        if (inner := getattr(entity, name)) is not None:
            values[name] = _bare(inner)
    return replace(entity, **values)


def _is_long(entity: Any) -> bool:
    """Whether a field of an entity, or of an entity in it, is too long for kio to write in one
    go."""
    cls: Any = type(entity)
    for name in _arrays_of(cls):
        elements = getattr(entity, name)
        if elements and (len(elements) > FEW or any(map(_is_long, elements))):
            return True
    for name in _structs_of(cls):
        if (inner := getattr(entity, name)) is not None and _is_long(inner):
            return True
    plain = (len(getattr(entity, name) or ()) > FEW_PLAIN for name in _plain_of(cls))
    return any(plain) or any(len(getattr(entity, name) or b"") > SHORT for name in _records_of(cls))


@cache
def _arrays_of(cls: type[Entity]) -> tuple[str, ...]:
    """The attributes that hold arrays of structs."""
    hints = get_type_hints(cls)
    return tuple(
        field.name
        for field in fields(cls)
        if "tag" not in field.metadata
        and field_type(hints[field.name])[2]
        and hasattr(field_type(hints[field.name])[0], "__flexible__")
    )


@cache
def _records_of(cls: type[Entity]) -> tuple[str, ...]:
    """The attributes that hold records."""
    return tuple(each.name for each in fields(cls) if each.metadata.get("kafka_type") == _RECORDS)


@cache
def _plain_of(cls: type[Entity]) -> dict[str, Writer]:
    """The attributes that hold other arrays, and the writer of an element of each."""
    hints = get_type_hints(cls)
    return {
        field.name: _PLAIN[key][1]
        for field in fields(cls)
        if "tag" not in field.metadata
        and field_type(hints[field.name])[2]
        and (key := (field.metadata.get("kafka_type", ""), bool(cls.__flexible__))) in _PLAIN
    }


@cache
def _structs_of(cls: type[Entity]) -> tuple[str, ...]:
    """The attributes that hold a struct which can be long."""
    hints = get_type_hints(cls)
    inner = {
        field.name: field_type(hints[field.name])
        for field in fields(cls)
        if "tag" not in field.metadata
    }
    return tuple(
        name
        for name, (held, _, is_array) in inner.items()
        if not is_array
        and hasattr(held, "__flexible__")
        and (_arrays_of(held) or _plain_of(held) or _records_of(held) or _structs_of(held))
    )


def _starts(
    buf: bytes, spec: StructSpec, names: Collection[str]
) -> Iterator[tuple[FieldSpec, int]]:
    """The fields ``names`` with their positions, in order, in an entity that was written with its
    long fields empty."""
    pos = 0
    for field in spec.fields:
        if field.name in names:
            yield field, pos
        pos = field_end(buf, pos, field, spec.flexible)
