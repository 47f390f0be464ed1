"""Generates the reading of fields that begin with their length: the hot lines of every walker.

Generated code uses ``n`` for a length or count, ``s`` for where a field starts, ``v`` for where
its content does. The length that fits the fewest bytes is read inline, the others by
``protocol.primitives``.
"""

from __future__ import annotations

from protocol.kinds import Kind
from protocol.schema import FieldSpec
from protocol.source import Source


def string_field(
    source: Source, path: str, nullable: bool, flexible: bool, kind: Kind | None
) -> None:
    """A string; emitted as ``kind`` if that is not None."""
    if flexible:
        _compact(source, path, nullable, kind)
    else:
        _short(source, path, nullable, kind)


def bytes_field(
    source: Source, path: str, nullable: bool, flexible: bool, kind: Kind | None
) -> None:
    """A bytes field; emitted as ``kind`` if that is not None."""
    if flexible:
        _compact(source, path, nullable, kind)
    else:
        _long(source, path, nullable, kind)


def count(source: Source, field: FieldSpec, flexible: bool, size: int | None = None) -> None:
    """The count of an array into ``n`` (-1 if null), ``pos`` after it; or, if the ``size`` of an
    element is given, past the whole array, with ``n`` undefined."""
    if flexible:
        _compact_count(source, field, size)
        return
    source.line(f"n, = {source.unpack('>i')}(buf, {source.at()})")
    least = -1 if field.nullable else 0
    source.line(f"if n < {least}:")
    source.line(f'    reject_length(n, "{field.path}")')
    elements = f"{_elements(field, size)} + " if size else ""
    source.line(f"pos += {elements}{source.ahead(4)}")
    source.landed()


def _compact_count(source: Source, field: FieldSpec, size: int | None) -> None:
    here = source.at()
    nullable = field.nullable
    source.line(f"n = buf[{here}]")
    source.line("if n < 128:" if nullable and size is None else "if 0 < n < 128:")
    source.line("    n -= 1")
    with_size = f"n * {size} + " if size else ""
    source.line(f"    pos += {with_size}{source.ahead(1)}")
    source.line("else:")
    reader = "nullable_compact" if nullable else "compact"
    source.line(f'    n, pos = {reader}(buf, {here}, {source.end}, "{field.path}")')
    if size:
        source.line(f"    pos += {_elements(field, size)}")
    source.landed()


def records(source: Source, field: FieldSpec, flexible: bool, wanted: bool, skip: bool) -> None:
    """A records field: its length, emitted if ``wanted``, and its bytes too if ``skip``.

    Batches are long, so lengths of two and three bytes are read inline too.
    """
    source.line(f"s = {source.at()}")
    if flexible:
        _compact_records_length(source, field)
    else:
        source.line(f"n, = {source.unpack('>i')}(buf, s)")
        source.line("pos = s + 4")
        source.line("if n < 0:")
        if field.nullable:
            source.line("    if n < -1:")
            source.line(f'        reject_length(n, "{field.path}")')
            source.line("    n = 0")
        else:
            source.line(f'    reject_length(n, "{field.path}")')
    source.landed()
    start_of_records = "pos"
    if skip:
        if wanted:
            source.line("v = pos")
            start_of_records = "v"
        source.line("pos += n")
    if wanted:
        source.check()
        source.emit(Kind.RECORDS, "s", start_of_records, "n")


def _compact_records_length(source: Source, field: FieldSpec) -> None:
    for line in (
        "n = buf[s]",
        "pos = s + 1",
        "if n > 127:",
        "    b = buf[pos]",
        "    if b < 128:",
        "        n += b - 1 << 7",
        "        pos += 1",
        "    else:",
        "        c = buf[pos + 1]",
        "        if c < 128:",
        "            n += (b - 129 << 7) + (c << 14)",
        "            pos += 2",
        "        else:",
        f"            n, pos = read_uvarint(buf, s, {source.end})",
        "if n:",
        "    n -= 1",
    ):
        source.line(line)
    if not field.nullable:
        source.line("else:")
        source.line(f'    raise ProtocolError("{field.path} is null")')


def _compact(source: Source, path: str, nullable: bool, kind: Kind | None) -> None:
    if kind is None:
        _skip_compact(source, path, nullable)
        return
    reader = "nullable_compact" if nullable else "compact"
    source.line(f"s = {source.at()}")
    source.line("n = buf[s]")
    source.line("if 0 < n < 128:")
    source.line("    v = s + 1")
    source.line("    pos = s + n")
    if nullable:
        source.line("elif not n:")
        source.line("    n = -1")
        source.line("    pos = s + 1")
    source.line("else:")
    source.line(f'    n, v = {reader}(buf, s, {source.end}, "{path}")')
    source.line("    pos = v + n if n >= 0 else v" if nullable else "    pos = v + n")
    source.landed()
    source.check()
    source.emit(kind, "s", "pos", "buf[v:pos] if n >= 0 else None" if nullable else "buf[v:pos]")


def _skip_compact(source: Source, path: str, nullable: bool) -> None:
    here = source.at()
    source.line(f"n = buf[{here}]")
    if nullable:
        source.line("if n < 128:")
        source.line(f"    pos += {_sum('(n or 1)', source.ahead())}")
        source.line("else:")
        source.line(f'    n, pos = nullable_compact(buf, {here}, {source.end}, "{path}")')
        source.line("    if n > 0:")
        source.line("        pos += n")
    else:
        source.line("if 0 < n < 128:")
        source.line(f"    pos += {_sum('n', source.ahead())}")
        source.line("else:")
        source.line(f'    n, pos = compact(buf, {here}, {source.end}, "{path}")')
        source.line("    pos += n")
    source.landed()


def _short(source: Source, path: str, nullable: bool, kind: Kind | None) -> None:
    """A legacy string: two plain indexings are faster than ``unpack_from``."""
    if kind is not None:
        source.line(f"s = {source.at()}")
        source.line("n = buf[s] << 8 | buf[s + 1]")
        source.line("v = s + 2")
        moved, unmoved = "pos = v + n", "pos = v"
    else:
        source.line(f"n = buf[{source.at()}] << 8 | buf[{source.at(1)}]")
        moved = f"pos += n + {source.ahead(2)}"
        unmoved = f"pos += {source.ahead(2)}"
    source.line("if n < 32768:")
    source.line(f"    {moved}")
    if nullable:
        source.line("elif n == 65535:")
        source.line(f"    {unmoved}")
    source.line("else:")
    source.line(f'    reject_length(n - 65536, "{path}")')
    source.landed()
    if kind is not None:
        source.check()
        value = "buf[v:pos] if n < 32768 else None" if nullable else "buf[v:pos]"
        source.emit(kind, "s", "pos", value)


def _long(source: Source, path: str, nullable: bool, kind: Kind | None) -> None:
    """A legacy bytes field."""
    if kind is not None:
        source.line(f"s = {source.at()}")
        source.line(f"n, = {source.unpack('>i')}(buf, s)")
        source.line("v = s + 4")
        moved, unmoved = "pos = v + n", "pos = v"
    else:
        source.line(f"n, = {source.unpack('>i')}(buf, {source.at()})")
        moved = f"pos += n + {source.ahead(4)}"
        unmoved = f"pos += {source.ahead(4)}"
    source.line("if n >= 0:")
    source.line(f"    {moved}")
    if nullable:
        source.line("elif n == -1:")
        source.line(f"    {unmoved}")
    source.line("else:")
    source.line(f'    reject_length(n, "{path}")')
    source.landed()
    if kind is not None:
        source.check()
        value = "buf[v:pos] if n >= 0 else None" if nullable else "buf[v:pos]"
        source.emit(kind, "s", "pos", value)


def _sum(term: str, ahead: int) -> str:
    return f"{term} + {ahead}" if ahead else term


def _elements(field: FieldSpec, size: int) -> str:
    count = "max(n, 0)" if field.nullable else "n"
    return count if size == 1 else f"{count} * {size}"
