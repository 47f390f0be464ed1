"""Walkers: compiled functions that find the wanted fields in the bytes of a message.

``walker(message, version, kinds)`` returns ``walk(buf, pos, end, out) -> pos``: it walks the body
that starts at ``pos``, appends a span for each field of a wanted kind, and returns the end of the
body, which is at most ``end`` (which is at most ``len(buf)``). Unknown tagged fields are skipped.
It raises TruncatedError if the body goes on past ``end``, ProtocolError if it is malformed; then
``out`` holds the spans of the fields before. ``buf`` may hold other frames after ``end``.

``python -m protocol.walkers ProduceRequest 9 [KIND ...]`` prints the source.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from struct import Struct
from struct import error as StructError
from typing import Any

from protocol.codegen import Generator
from protocol.entities import ALL_KINDS, Kind
from protocol.errors import ProtocolError, TruncatedError
from protocol.pausing import pause_point
from protocol.prebuilt import PREBUILT
from protocol.primitives import (
    compact,
    compact_text,
    nullable_compact,
    nullable_compact_text,
    read_uvarint,
    reject_length,
    require_utf8,
    skip_tags,
)
from protocol.schema import FieldSpec, StructSpec, message_spec
from protocol.source import Source

Span = tuple[int, int, int, Any]
"""(kind, start, stop, value): ``start..stop`` is the whole field with its length prefix, which a
splice replaces; ``Kind`` describes the values, and the positions of RECORDS and SIZED. Spans are in
the order of the wire."""

Walker = Callable[[bytes, int, int, list[Span]], int]


class LimitedSpans(list[Span]):
    """Spans of which a paced walk collects little more than ``most`` before it ends, because
    a message of 8 MiB can hold millions: a span takes some 200 bytes."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most


class ManySpans(ProtocolError):
    """A walk found more spans than its ``LimitedSpans`` may hold."""


def walk_point(out: list[Span]) -> None:
    """Pause here, if work may pause. Raises ManySpans if ``out`` is limited and full."""
    pause_point()
    if isinstance(out, LimitedSpans) and len(out) > out.most:
        raise ManySpans(f"a message has more than {out.most} names, ids and numbers")


_GLOBALS = {
    "ProtocolError": ProtocolError,
    "StructError": StructError,
    "TruncatedError": TruncatedError,
    "compact": compact,
    "compact_text": compact_text,
    "nullable_compact": nullable_compact,
    "nullable_compact_text": nullable_compact_text,
    "read_uvarint": read_uvarint,
    "reject_length": reject_length,
    "require_utf8": require_utf8,
    "skip_tags": skip_tags,
    "Struct": Struct,
    "walk_point": walk_point,
}


@dataclass(frozen=True, slots=True)
class Segments:
    """Walkers of the units of a message that carries records, for bodies that arrive in pieces.

    A body is ``prefix``, then for each topic ``topic_head``, its partitions and ``topic_tail``,
    then ``tail``; a partition is ``partition_head``, the record bytes, which are not walked, and
    ``partition_tail``. The last span of ``prefix`` and ``topic_head`` is the COUNT of the topics
    and partitions (-1 if null), the last span of ``partition_head`` is RECORDS; they are emitted
    even if these kinds are not wanted. A walker raises TruncatedError if its unit has not wholly
    arrived: call it again from the same position with more bytes, and with an empty ``out``.
    """

    prefix: Walker
    topic_head: Walker
    partition_head: Walker
    partition_tail: Walker
    topic_tail: Walker
    tail: Walker


@cache
def walker(
    message: str,
    version: int,
    kinds: frozenset[Kind],
    *,
    whole: bool = False,
    paced: bool = False,
) -> Walker:
    """The walker of a message's body.

    ``whole``: it walks the content of every known tagged field, as a broker does, and raises
    ProtocolError if a content is not as long as its size says. ``paced``: it has pause points
    (``protocol.pausing``), for long messages.

    Raises ProtocolError for an unknown message or version.
    """
    source = walker_source(message, version, kinds, whole, paced)
    walk: Walker = _compile(source, message, version)["walk"]
    return walk


@cache
def validator(message: str, version: int, *, paced: bool = False) -> Walker:
    """A whole walker that emits nothing: it checks bytes for readers that trust lengths."""
    return walker(message, version, frozenset(), whole=True, paced=paced)


def struct_walker(message: str, version: int, spec: StructSpec) -> Walker:
    """A walker of a struct in a message, which only finds its end."""
    structs: dict[str, str] = {}
    source = Source(structs, paced=True)
    Generator(message, frozenset(), source).struct(spec)
    text = _module(structs, [source.function("walk")], message)
    walk: Walker = _compile(text, message, version)["walk"]
    return walk


def walker_source(
    message: str,
    version: int,
    kinds: frozenset[Kind] = ALL_KINDS,
    whole: bool = False,
    paced: bool = False,
) -> str:
    """The source that ``walker`` compiles."""
    structs: dict[str, str] = {}
    source = Source(structs, paced)
    Generator(message, kinds, source, whole).struct(message_spec(message, version).body)
    return _module(structs, [source.function("walk")], message)


@cache
def segments(message: str, version: int, kinds: frozenset[Kind]) -> Segments:
    """The units of a ProduceRequest, FetchResponse or ShareFetchResponse.

    Raises ProtocolError for any other message, and for an unknown version.
    """
    functions = _compile(segments_source(message, version, kinds), message, version)
    return Segments(**{name: functions[name] for name in Segments.__slots__})


def segments_source(message: str, version: int, kinds: frozenset[Kind] = ALL_KINDS) -> str:
    """The source that ``segments`` compiles."""
    body = message_spec(message, version).body
    topics, topic = _array_with_records(message, body, 2)
    partitions, partition = _array_with_records(message, topic, 1)
    records = next(field for field in partition.fields if field.type == "records")
    kinds |= {Kind.RECORDS}
    structs: dict[str, str] = {}
    functions: list[list[str]] = []

    def unit(name: str, write: Callable[[Generator], None]) -> None:
        source = Source(structs)
        write(Generator(message, kinds, source))
        functions.append(source.function(name))

    def head(struct: StructSpec, array: FieldSpec) -> Callable[[Generator], None]:
        def write(generator: Generator) -> None:
            generator.fields(struct.fields[: struct.fields.index(array)], struct.flexible)
            generator.count(array, struct.flexible, emitted=True)

        return write

    def tail(struct: StructSpec, last: FieldSpec) -> Callable[[Generator], None]:
        def write(generator: Generator) -> None:
            generator.fields(struct.fields[struct.fields.index(last) + 1 :], struct.flexible)
            generator.tail(struct)

        return write

    def partition_head(generator: Generator) -> None:
        before = partition.fields[: partition.fields.index(records)]
        generator.fields(before, partition.flexible)
        generator.records(records, partition.flexible, skip=False)

    unit("prefix", head(body, topics))
    unit("topic_head", head(topic, partitions))
    unit("partition_head", partition_head)
    unit("partition_tail", tail(partition, records))
    unit("topic_tail", tail(topic, partitions))
    unit("tail", tail(body, topics))
    return _module(structs, functions, message)


def _array_with_records(
    message: str, struct: StructSpec, depth: int
) -> tuple[FieldSpec, StructSpec]:
    """The array of structs that leads to the records, ``depth`` arrays below ``struct``."""
    for field in struct.fields:
        inner = field.struct
        if inner is not None and field.array and _has_records(inner, depth - 1):
            return field, inner
    raise ProtocolError(f"{message} carries no records")


def _has_records(struct: StructSpec, depth: int) -> bool:
    if depth == 0:
        return any(field.type == "records" for field in struct.fields)
    return any(
        field.struct is not None and field.array and _has_records(field.struct, depth - 1)
        for field in struct.fields
    )


def _module(structs: dict[str, str], functions: list[list[str]], message: str) -> str:
    lines = ["from __future__ import annotations", "", f'EARLY: Final = "{message} ends early"']
    lines += [f'{name}: Final = Struct("{fmt}").unpack_from' for fmt, name in structs.items()]
    for function in functions:
        lines += ["", "", *function]
    return "\n".join(lines) + "\n"


def digest(source: str) -> str:
    """The key of a source in ``PREBUILT``."""
    return sha256(source.encode()).hexdigest()


def _compile(source: str, message: str, version: int) -> Mapping[str, Any]:
    """The functions of a source, compiled ahead of time if there are functions of this very
    source."""
    prebuilt = PREBUILT.get(digest(source))
    if prebuilt is not None:
        return prebuilt
    return run_source(source, f"<walker {message} v{version}>")


def run_source(source: str, file: str) -> Mapping[str, Any]:
    """The functions of a source, whether or not they have been compiled ahead of time."""
    namespace: dict[str, Any] = dict(_GLOBALS)
    code = compile(source, file, "exec")
    # The source is generated from kio's schema alone; nothing that came over a wire is in it.
    exec(code, namespace)  # noqa: S102
    return namespace


def _main(arguments: list[str]) -> int:
    if len(arguments) < 2 or not arguments[1].isdigit():
        sys.stderr.write("usage: python -m protocol.walkers MESSAGE VERSION [KIND ...]\n")
        return 2
    message, version, *names = arguments
    try:
        kinds = frozenset(Kind[name] for name in names) if names else ALL_KINDS
        sys.stdout.write(walker_source(message, int(version), kinds))
    except (KeyError, ProtocolError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
