"""The text of a generated function: lines, indentation, and its position in the bytes.

The position in generated code is ``pos`` plus a distance known while generating, so that a run of
fixed-size fields costs one addition, which is often merged into the next length's addition.

The functions below ``Source`` generate the reading of fields that begin with their length, the hot
lines of every walker. Generated code uses ``n`` for a length or count, ``s`` for the start of a
field, ``v`` for the start of its content. A length in the fewest bytes is read inline, longer
lengths by ``protocol.primitives``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from protocol.kinds import Kind
from protocol.schema import FieldSpec

PAUSE_MASK: Final = 127
"""A paced loop has a pause point at each index that has none of these bits."""


class Source:
    """The lines of a generated function. ``end`` is the variable with the end of the bytes: the
    body's end, or the end of the tagged field whose content is being walked. ``structs`` collects
    the ``struct`` formats used: format -> name of its ``unpack_from``; functions of a module share
    it. If it is ``paced``, its loops have pause points (``protocol.pausing``)."""

    def __init__(self, structs: dict[str, str], paced: bool = False) -> None:
        self.lines: list[str] = []
        self.end = "end"
        self._structs = structs
        self._paced = paced
        self._indent = 2
        self._ahead = 0
        self._checked = False

    def line(self, text: str) -> None:
        """Add a line at the present indentation."""
        self.lines.append("    " * self._indent + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add ``head``; the lines inside are indented under it. At its end, ``pos`` holds the
        position, and the position counts as checked only if it was checked before and inside."""
        self.line(head)
        self._indent += 1
        checked = self._checked
        yield
        self.settle()
        self._indent -= 1
        self._checked = checked and self._checked

    @contextmanager
    def loop(self) -> Iterator[None]:
        """A block that is run ``n`` times. The number gets a name of its own, because the lines
        inside change ``n``, and compiled code reads the end of a range again each time."""
        times, turn = f"n_{self._indent}", f"i_{self._indent}" if self._paced else "_"
        self.line(f"{times} = n")
        with self.block(f"for {turn} in range({times}):"):
            if self._paced:
                self.line(f"if not {turn} & {PAUSE_MASK}:")
                self.line("    walk_point(out)")
            yield

    def at(self, distance: int = 0) -> str:
        """The expression for the present position, or for a position ``distance`` bytes further."""
        ahead = self.ahead(distance)
        return f"pos + {ahead}" if ahead else "pos"

    def ahead(self, distance: int = 0) -> int:
        """The number to add to ``pos`` for the position ``distance`` bytes further than now."""
        return self._ahead + distance

    def advance(self, distance: int) -> None:
        """Pass a number of bytes that is known while generating."""
        if distance:
            self._ahead += distance
            self._checked = False

    def landed(self) -> None:
        """``pos`` alone is the present position, and it may be past the end."""
        self._ahead = 0
        self._checked = False

    def settle(self) -> None:
        """Make ``pos`` alone the present position."""
        if self._ahead:
            self.line(f"pos += {self._ahead}")
            self._ahead = 0

    def check(self, distance: int = 0) -> None:
        """Reject the position, or the position ``distance`` bytes further, if it is past the
        end."""
        if distance or not self._checked:
            self.line(f"if {self.at(distance)} > {self.end}:")
            self.line("    raise TruncatedError(EARLY)")
        if not distance:
            self._checked = True

    def assume_checked(self, checked: bool = True) -> None:
        """Note that the code just generated keeps the position before the end, or does not."""
        self._checked = checked

    def emit(self, kind: Kind, start: str, stop: str, value: str) -> None:
        """Add the line that appends a span."""
        self.line(f"out.append(({int(kind)}, {start}, {stop}, {value}))")

    def unpack(self, fmt: str) -> str:
        """The name of ``unpack_from`` for a format."""
        return self._structs.setdefault(fmt, f"unpack_{len(self._structs)}")

    def function(self, name: str) -> list[str]:
        """The lines of the whole function."""
        self.settle()
        self.check()
        self.line("return pos")
        return [
            f"def {name}(buf: bytes, pos: int, end: int, out: list[Span]) -> int:",
            "    n: int",  # struct's values have no type that a compiler could use
            "    try:",
            *self.lines,
            "    except (IndexError, StructError):",
            "        raise TruncatedError(EARLY) from None",
        ]


def sized_field(
    source: Source,
    field: FieldSpec,
    nullable: bool,
    flexible: bool,
    kind: Kind | None,
    text: bool = False,
) -> None:
    """Read a string or bytes field, or an element of an array of such fields; emit it as ``kind``
    if given. ``text``: reject a string that is not UTF-8."""
    text = text and field.type == "string"
    if flexible:
        _compact(source, field, nullable, kind, text)
    else:
        _legacy(source, field, nullable, kind, text)


def _check_text(source: Source, field: FieldSpec, there: str) -> None:
    """Reject a text that is not UTF-8. Nearly all texts are ASCII, which is checked first."""
    source.line(f"if {there}not buf[v:pos].isascii():")
    source.line(f'    require_utf8(buf[v:pos], "{field.path}")')


def count(source: Source, field: FieldSpec, flexible: bool, size: int | None = None) -> None:
    """Read the count of an array into ``n`` (-1 if null), with ``pos`` after it; or, if the
    ``size`` of an element is given, pass the whole array, with ``n`` undefined."""
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
    """Read the length of a records field, emit it if ``wanted``, and pass its bytes if ``skip``.

    Batches are long, so lengths of two and three bytes are read inline, too.
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


def _compact(
    source: Source, field: FieldSpec, nullable: bool, kind: Kind | None, text: bool
) -> None:
    path = field.path
    # Only lengths of two bytes and more are read by a function, which limits the length of strings.
    reader = "nullable_compact" if nullable else "compact"
    reader += "_text" if field.type == "string" else ""
    if kind is None and not text:
        _skip_compact(source, path, nullable, reader)
        return
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
    if text:
        _check_text(source, field, "n > 0 and " if nullable else "")
    if kind is not None:
        value = "buf[v:pos] if n >= 0 else None" if nullable else "buf[v:pos]"
        source.emit(kind, "s", "pos", value)


def _skip_compact(source: Source, path: str, nullable: bool, reader: str) -> None:
    here = source.at()
    source.line(f"n = buf[{here}]")
    if nullable:
        source.line("if n < 128:")
        source.line(f"    pos += {_sum('(n or 1)', source.ahead())}")
        source.line("else:")
        source.line(f'    n, pos = {reader}(buf, {here}, {source.end}, "{path}")')
        source.line("    if n > 0:")
        source.line("        pos += n")
    else:
        source.line("if 0 < n < 128:")
        source.line(f"    pos += {_sum('n', source.ahead())}")
        source.line("else:")
        source.line(f'    n, pos = {reader}(buf, {here}, {source.end}, "{path}")')
        source.line("    pos += n")
    source.landed()


def _legacy(
    source: Source, field: FieldSpec, nullable: bool, kind: Kind | None, text: bool
) -> None:
    """Read a string with an int16 length, for which two plain indexings are faster than
    ``unpack_from``, or bytes with an int32 length."""
    short, size = field.type == "string", 2 if field.type == "string" else 4
    start = source.at()
    wanted = kind is not None or text
    if wanted:
        source.line(f"s = {start}")
        start = "s"
    if short:
        second = "s + 1" if wanted else source.at(1)
        source.line(f"n = buf[{start}] << 8 | buf[{second}]")
    else:
        source.line(f"n, = {source.unpack('>i')}(buf, {start})")
    moved = f"pos += n + {source.ahead(size)}"
    unmoved = f"pos += {source.ahead(size)}"
    if wanted:
        source.line(f"v = s + {size}")
        moved, unmoved = "pos = v + n", "pos = v"
    some, null, length = "n >= 0", "n == -1", "n"
    if short:
        some, null, length = "n < 32768", "n == 65535", "n - 65536"
    source.line(f"if {some}:")
    source.line(f"    {moved}")
    if nullable:
        source.line(f"elif {null}:")
        source.line(f"    {unmoved}")
    source.line("else:")
    source.line(f'    reject_length({length}, "{field.path}")')
    source.landed()
    if wanted:
        source.check()
    if text:
        _check_text(source, field, f"{some} and " if nullable else "")
    if kind is not None:
        value = f"buf[v:pos] if {some} else None" if nullable else "buf[v:pos]"
        source.emit(kind, "s", "pos", value)


def _sum(term: str, ahead: int) -> str:
    return f"{term} + {ahead}" if ahead else term


def _elements(field: FieldSpec, size: int) -> str:
    count = "max(n, 0)" if field.nullable else "n"
    return count if size == 1 else f"{count} * {size}"
