"""Cuts tagged fields that a schema does not know out of a body, at every depth (KIP-482).

A newer client or broker may add them anywhere; whoever does not know them skips them. kio does
not, so a body that has any is copied without them before kio reads it.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from protocol.layout import SIZES
from protocol.pausing import paced
from protocol.primitives import read_uvarint, write_uvarint
from protocol.schema import FieldSpec, StructSpec

_INT32: Final = Struct(">i")
_INT16: Final = Struct(">h")


def without_unknown_tags(body: bytes, spec: StructSpec) -> bytes:
    """A body without the tagged fields that are not in ``spec``. A ``walkers.validator`` must have
    passed it: lengths are believed here."""
    return _Copy(body).struct(0, spec)[0]


class _Copy:
    """Copies parts of one buffer; each method returns (copy, position after the original)."""

    def __init__(self, buf: bytes) -> None:
        self._buf = buf

    def struct(self, pos: int, spec: StructSpec) -> tuple[bytes, int]:
        parts: list[bytes] = []
        for field in spec.fields:
            part, pos = self._field(pos, field, spec.flexible)
            parts.append(part)
        if spec.flexible:
            part, pos = self._tags(pos, spec)
            parts.append(part)
        return b"".join(parts), pos

    def _tags(self, pos: int, spec: StructSpec) -> tuple[bytes, int]:
        known = {field.tag: field for field in spec.tagged}
        kept: list[bytes] = []
        count, pos = read_uvarint(self._buf, pos, len(self._buf))
        for _ in paced(range(count)):
            tag, pos = read_uvarint(self._buf, pos, len(self._buf))
            size, pos = read_uvarint(self._buf, pos, len(self._buf))
            field = known.get(tag)
            if field is not None:
                content, _ = self._field(pos, field, flexible=True)
                kept.append(write_uvarint(tag) + write_uvarint(len(content)) + content)
            pos += size
        return b"".join((write_uvarint(len(kept)), *kept)), pos

    def _field(self, pos: int, field: FieldSpec, flexible: bool) -> tuple[bytes, int]:
        if field.array:
            return self._array(pos, field, flexible)
        return self._one(pos, field, field.nullable, flexible)

    def _array(self, pos: int, field: FieldSpec, flexible: bool) -> tuple[bytes, int]:
        start = pos
        count, pos = self._length(pos, _INT32, flexible)
        parts = [self._buf[start:pos]]
        for _ in paced(range(count)):
            part, pos = self._one(pos, field, False, flexible)
            parts.append(part)
        return b"".join(parts), pos

    def _one(self, pos: int, field: FieldSpec, nullable: bool, flexible: bool) -> tuple[bytes, int]:
        start = pos
        if field.struct is None:
            if field.type in SIZES:
                pos += SIZES[field.type]
            else:
                prefix = _INT16 if field.type == "string" else _INT32
                length, pos = self._length(pos, prefix, flexible)
                pos += max(length, 0)
            return self._buf[start:pos], pos
        if not nullable:
            return self.struct(pos, field.struct)
        marker = self._buf[pos : pos + 1]
        if marker[0] > 0x7F:
            return marker, pos + 1
        part, pos = self.struct(pos + 1, field.struct)
        return marker + part, pos

    def _length(self, pos: int, prefix: Struct, flexible: bool) -> tuple[int, int]:
        if flexible:
            length, pos = read_uvarint(self._buf, pos, len(self._buf))
            return length - 1, pos
        length = prefix.unpack_from(self._buf, pos)[0]
        return length, pos + prefix.size
