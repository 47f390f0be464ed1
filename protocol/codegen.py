"""Generates the source of walkers: Python specialised for a message, a version and kinds.

The generated code reads a length of one or two bytes with plain indexing, calls a function of
``protocol.primitives`` only for rare lengths, passes fixed-size fields with a single addition, and
has no code for kinds that are not wanted. It is safe on any bytes, because:

- the position is compared with the end before anything is sliced or emitted, after every element
  of an array, and at the end of the function;
- an array's count is rejected at once if so many elements, at their smallest, do not fit;
- reading past the buffer raises IndexError or struct.error, which the function turns into
  TruncatedError; bytes of a following frame may be looked at, but nothing comes of it.
"""

from __future__ import annotations

from protocol.entities import Kind, is_counted, kind_of
from protocol.layout import FORMATS, SIZES, element_size, fields_size, least_element_size
from protocol.schema import FieldSpec, StructSpec
from protocol.source import Source, count, records, sized_field


class Generator:
    """Writes code that walks the fields of a message to a ``Source``.

    Tagged fields without wanted fields are skipped by their size, unless the walker is ``whole``.
    """

    def __init__(
        self, message: str, kinds: frozenset[Kind], source: Source, whole: bool = False
    ) -> None:
        self._message = message
        self._kinds = kinds
        self._source = source
        self._whole = whole
        self._depth = 0

    def struct(self, spec: StructSpec) -> None:
        """Walk a struct, its tagged fields included."""
        self.fields(spec.fields, spec.flexible)
        self.tail(spec)

    def tail(self, spec: StructSpec) -> None:
        """Walk the tagged fields of a struct, if its version has any."""
        if not spec.flexible:
            return
        wanted = [field for field in spec.tagged if self._whole or self._wants(field)]
        if wanted:
            self._tagged(wanted)
            return
        source = self._source
        source.line(f"if buf[{source.at()}]:")
        source.line(f"    pos = skip_tags(buf, {source.at()}, {source.end})")
        source.line("else:")
        source.line(f"    pos += {source.ahead(1)}")
        source.landed()

    def fields(self, specs: tuple[FieldSpec, ...], flexible: bool) -> None:
        """Walk fields in order; runs of fixed-size fields at once."""
        run: list[FieldSpec] = []
        for field in specs:
            if field.type in SIZES and not field.array:
                run.append(field)
                continue
            self._fixed(run)
            run = []
            self._field(field, flexible)
        self._fixed(run)

    def count(self, field: FieldSpec, flexible: bool, emitted: bool) -> None:
        """Read the count of an array into ``n``, -1 if it is null; emit it if ``emitted``."""
        source = self._source
        if emitted:
            source.line(f"s = {source.at()}")
        count(source, field, flexible)
        if emitted:
            source.check()
            source.emit(Kind.COUNT, "s", "pos", "n")

    def records(self, field: FieldSpec, flexible: bool, skip: bool) -> None:
        """Walk a records field: its length, and its bytes too if ``skip``."""
        records(self._source, field, flexible, Kind.RECORDS in self._kinds, skip)

    def _kind(self, field: FieldSpec) -> Kind | None:
        """The field's kind if it is wanted."""
        kind = kind_of(self._message, field)
        return kind if kind in self._kinds and kind is not Kind.PLAIN else None

    def _counted(self, field: FieldSpec) -> bool:
        return Kind.COUNT in self._kinds and is_counted(self._message, field)

    def _wants(self, field: FieldSpec) -> bool:
        """Whether anything of the field is emitted."""
        if self._counted(field) or self._kind(field) is not None:
            return True
        struct = field.struct
        return struct is not None and any(map(self._wants, struct.fields + struct.tagged))

    def _fixed(self, run: list[FieldSpec]) -> None:
        """Walk fixed-size fields with one addition, and one ``unpack_from`` for all wanted
        fields."""
        source = self._source
        size = 0
        wanted: list[tuple[int, FieldSpec, Kind]] = []
        for field in run:
            kind = self._kind(field)
            if kind is not None:
                wanted.append((size, field, kind))
            size += SIZES[field.type]
        if all(kind is Kind.ERROR_CODE for _, _, kind in wanted):
            for offset, _, _ in wanted:
                self._error_code(offset)
        else:
            self._unpack(wanted, size)
        source.advance(size)
        if any(kind is not Kind.ERROR_CODE for _, _, kind in wanted):
            source.assume_checked()

    def _error_code(self, offset: int) -> None:
        """Walk an error code, whose two bytes are nearly always zero."""
        source = self._source
        start, stop = source.at(offset), source.at(offset + 2)
        with_error = f"{source.unpack('>h')}(buf, {start})[0]"
        source.line(f"if buf[{start}] or buf[{source.at(offset + 1)}]:")
        source.line(f"    if {stop} > {source.end}:")
        source.line("        raise TruncatedError(EARLY)")
        source.line(f"    out.append(({int(Kind.ERROR_CODE)}, {start}, {stop}, {with_error}))")

    def _unpack(self, wanted: list[tuple[int, FieldSpec, Kind]], size: int) -> None:
        source = self._source
        source.check(size)
        begin = at = wanted[0][0]
        fmt = ">"
        for offset, field, _ in wanted:
            fmt += (f"{offset - at}x" if offset > at else "") + FORMATS[field.type]
            at = offset + SIZES[field.type]
        names = [f"v{i}" for i in range(len(wanted))]
        source.line(f"{', '.join(names)}, = {source.unpack(fmt)}(buf, {source.at(begin)})")
        for name, (offset, field, kind) in zip(names, wanted, strict=True):
            start, stop = source.at(offset), source.at(offset + SIZES[field.type])
            if kind is Kind.ERROR_CODE:
                source.line(f"if {name}:")
                source.line(f"    out.append(({int(kind)}, {start}, {stop}, {name}))")
            elif kind is Kind.NODE_ID:
                source.line(f"if {name} >= 0:")
                source.line(f"    out.append(({int(kind)}, {start}, {stop}, {name}))")
            else:
                source.emit(kind, start, stop, name)

    def _field(self, field: FieldSpec, flexible: bool) -> None:
        if field.array:
            self._array(field, flexible)
        elif field.struct is not None:
            self._nested(field, field.struct)
        else:
            self._sized(field, flexible, field.nullable)

    def _sized(self, field: FieldSpec, flexible: bool, nullable: bool) -> None:
        """Walk a field that is no struct, or an element of an array of such fields."""
        if field.type == "records":
            self.records(field, flexible, skip=True)
        elif field.type in ("string", "bytes"):
            text = Kind.TEXT in self._kinds
            sized_field(self._source, field, nullable, flexible, self._kind(field), text)
        else:
            self._fixed([field])

    def _nested(self, field: FieldSpec, struct: StructSpec) -> None:
        """Walk a struct; if it may be null, an int8 precedes it, negative for null (KIP-893)."""
        if not field.nullable:
            self.struct(struct)
            return
        source = self._source
        source.line(f"n = buf[{source.at()}]")
        source.advance(1)
        source.settle()
        with source.block("if n < 128:"):
            self.struct(struct)
        source.landed()

    def _array(self, field: FieldSpec, flexible: bool) -> None:
        source = self._source
        counted = self._counted(field)
        inner = self._wants_element(field)
        size = element_size(field)
        if size is not None and not inner and not counted:
            count(source, field, flexible, size)
            return
        self.count(field, flexible, counted)
        least = least_element_size(field, flexible)
        source.line(f"if n{f' * {least}' if least > 1 else ''} > {source.end} - pos:")
        source.line("    raise TruncatedError(EARLY)")
        if size is not None and not inner:
            source.line(
                f"pos += n * {size}" if not field.nullable else f"pos += max(n, 0) * {size}"
            )
            source.landed()
            return
        stride = None if inner else self._stride(field)
        if stride is None:
            self._elements(field, flexible)
        else:
            self._strided(field, flexible, stride)
        # The position after a null array has not been compared with the end.
        source.assume_checked(not field.nullable)

    def _wants_element(self, field: FieldSpec) -> bool:
        struct = field.struct
        if struct is None:
            return self._kind(field) is not None
        return any(map(self._wants, struct.fields + struct.tagged))

    @staticmethod
    def _stride(field: FieldSpec) -> int | None:
        """Bytes of an element without tagged fields, whose last byte is their count, 0."""
        struct = field.struct
        if struct is None or not struct.flexible:
            return None
        size = fields_size(struct)
        return None if size is None else size + 1

    def _strided(self, field: FieldSpec, flexible: bool, stride: int) -> None:
        """Walk elements that have a fixed size without tagged fields: all at once if no element has
        tagged fields."""
        source = self._source
        last = f"buf[pos + {stride - 1}:pos + n * {stride}:{stride}]"
        with source.block("if n > 0:"):
            source.line(f"if {last}.count(0) == n:")
            source.line(f"    pos += n * {stride}")
            with source.block("else:"):
                self._elements(field, flexible)

    def _elements(self, field: FieldSpec, flexible: bool) -> None:
        source = self._source
        source.assume_checked()
        with source.loop():
            if field.struct is not None:
                self.struct(field.struct)
            else:
                self._sized(field, flexible, nullable=False)  # Kafka has no null elements
            source.settle()
            source.check()

    def _tagged(self, wanted: list[FieldSpec]) -> None:
        """Walk tagged fields, some of which hold wanted fields; the others are skipped by their
        size."""
        source = self._source
        self._depth += 1
        outer, inner = source.end, f"end_{self._depth}"
        source.line(f"n = buf[{source.at()}]")
        source.line("if n < 128:")
        source.line(f"    pos += {source.ahead(1)}")
        source.line("else:")
        source.line(f"    n, pos = read_uvarint(buf, {source.at()}, {outer})")
        source.landed()
        with source.block("if n:"):
            # A tagged field takes two bytes at least, its tag and its size.
            source.line(f"if n * 2 > {outer} - pos:")
            source.line("    raise TruncatedError(EARLY)")
            source.assume_checked()
            with source.loop():
                self._tagged_field(wanted, outer, inner)
        self._depth -= 1

    def _tagged_field(self, wanted: list[FieldSpec], outer: str, inner: str) -> None:
        source = self._source
        source.line(f"tag, s = read_uvarint(buf, pos, {outer})")
        source.line(f"size, pos = read_uvarint(buf, s, {outer})")
        source.line(f"{inner} = pos + size")
        source.line(f"if {inner} > {outer}:")
        source.line("    raise TruncatedError(EARLY)")
        source.end = inner
        for index, field in enumerate(wanted):
            with source.block(f"{'el' * bool(index)}if tag == {field.tag}:"):
                self._content(field, inner)
        source.end = outer
        source.line(f"pos = {inner}")
        source.landed()
        source.assume_checked()

    def _content(self, field: FieldSpec, end: str) -> None:
        source = self._source
        if Kind.SIZED in self._kinds:
            source.emit(Kind.SIZED, "s", "pos", end)
        self._field(field, flexible=True)
        source.settle()
        source.line(f"if pos != {end}:")
        source.line(f'    raise ProtocolError("{field.path} is not as long as its size says")')
