"""Kafka's primitive types: https://kafka.apache.org/protocol#protocol_types.

"Legacy" is how messages without tagged fields write a length (int16 for strings, int32 for
bytes and arrays; -1 is null), "compact" how flexible ones do (KIP-482: an unsigned varint of
the length + 1; 0 is null).
"""

from __future__ import annotations

from typing import Final

from protocol.errors import ProtocolError, TruncatedError

MAX_INT16: Final = 0x7FFF
MAX_INT32: Final = 0x7FFFFFFF
MAX_ONE_BYTE_LENGTH: Final = 0x7E
"""The longest string that has a compact length of one byte."""

_ONE_BYTE: Final = [bytes((value,)) for value in range(0x80)]


def read_uvarint(buf: bytes, pos: int, end: int) -> tuple[int, int]:
    """Read an unsigned varint of at most five bytes; returns (value, position after it).

    Raises TruncatedError if it does not stand whole before ``end``, ProtocolError if it is
    longer than five bytes or does not fit an int32, which no length or count may.
    """
    value = shift = 0
    while pos < end:
        byte = buf[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > MAX_INT32:
                raise ProtocolError(f"a varint of {value} does not fit an int32")
            return value, pos
        shift += 7
        if shift > 28:
            raise ProtocolError("a varint is longer than five bytes")
    raise TruncatedError("the bytes end inside a varint")


def write_uvarint(value: int) -> bytes:
    """``value`` (not negative) as an unsigned varint."""
    if value < 0x80:
        return _ONE_BYTE[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def legacy_string(value: bytes | None) -> bytes:
    """A string as non-flexible messages write it. Raises ProtocolError over 32,767 bytes."""
    if value is None:
        return b"\xff\xff"
    if len(value) > MAX_INT16:
        raise ProtocolError(f"a string of {len(value)} bytes does not fit an int16 length")
    return len(value).to_bytes(2, "big") + value


def legacy_bytes(value: bytes | None) -> bytes:
    """A bytes field as non-flexible messages write it."""
    if value is None:
        return b"\xff\xff\xff\xff"
    return len(value).to_bytes(4, "big") + value


def compact_string(value: bytes | None) -> bytes:
    """A string or bytes field as flexible messages write it."""
    if value is None:
        return b"\x00"
    size = len(value)
    length = _ONE_BYTE[size + 1] if size <= MAX_ONE_BYTE_LENGTH else write_uvarint(size + 1)
    return length + value
