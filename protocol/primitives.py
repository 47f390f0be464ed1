"""Kafka's primitive types: https://kafka.apache.org/protocol#protocol_types.

"Legacy" is the form of lengths in messages without tagged fields (int16 for strings, int32 for
bytes and arrays; -1 is null), "compact" the form in flexible messages (KIP-482: an unsigned varint
of the length + 1; 0 is null).

Generated walkers call ``reject_length``, ``skip_tags`` and the readers of compact lengths for
lengths that they do not read inline; ``path`` names the field in error messages. Like walkers,
these functions do not read past ``buf[:end]`` for lengths, but the caller must compare the returned
position with ``end`` before it slices or emits.
"""

from __future__ import annotations

from typing import Final, NoReturn

from protocol.errors import NotUtf8, ProtocolError, TruncatedError
from protocol.pausing import pause_point

MAX_INT16: Final = 0x7FFF
MAX_INT32: Final = 0x7FFFFFFF
MAX_ONE_BYTE_LENGTH: Final = 0x7E
"""The longest string that has a compact length of one byte."""

PAUSE_MASK: Final = 1023
"""``skip_tags`` has a pause point whenever the count of fields left has none of these bits."""

_ONE_BYTE: Final = [bytes((value,)) for value in range(0x80)]


def read_uvarint(buf: bytes, pos: int, end: int) -> tuple[int, int]:
    """Read an unsigned varint of at most five bytes; returns (value, position after it).

    Raises TruncatedError if it does not end before ``end``; ProtocolError if it is longer than five
    bytes or does not fit an int32, as every length and count must.
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
    """A string in the form of non-flexible messages. Raises ProtocolError over 32,767 bytes."""
    if value is None:
        return b"\xff\xff"
    if len(value) > MAX_INT16:
        raise ProtocolError(f"a string of {len(value)} bytes does not fit an int16 length")
    return len(value).to_bytes(2, "big") + value


def legacy_bytes(value: bytes | None) -> bytes:
    """A bytes field in the form of non-flexible messages."""
    if value is None:
        return b"\xff\xff\xff\xff"
    return len(value).to_bytes(4, "big") + value


def compact_string(value: bytes | None) -> bytes:
    """A string or bytes field in the form of flexible messages."""
    if value is None:
        return b"\x00"
    size = len(value)
    length = _ONE_BYTE[size + 1] if size <= MAX_ONE_BYTE_LENGTH else write_uvarint(size + 1)
    return length + value


def reject_length(length: int, path: str) -> NoReturn:
    """Raise ProtocolError for a legacy length that is negative, and not an allowed null."""
    raise ProtocolError(f"{path} has a length of {length}")


def compact(buf: bytes, pos: int, end: int, path: str) -> tuple[int, int]:
    """Read the compact length of a field that may not be null: (length, position after it)."""
    value, pos = read_uvarint(buf, pos, end)
    if not value:
        raise ProtocolError(f"{path} is null")
    return value - 1, pos


def nullable_compact(buf: bytes, pos: int, end: int, path: str) -> tuple[int, int]:
    """Read the compact length of a field that may be null (then -1): (length, position after)."""
    value, pos = read_uvarint(buf, pos, end)
    return value - 1, pos


def compact_text(buf: bytes, pos: int, end: int, path: str) -> tuple[int, int]:
    """Read the compact length of a string as :func:`compact` does. Raises ProtocolError over
    32,767 bytes, as Kafka's generated readers do (MessageDataGenerator)."""
    length, pos = compact(buf, pos, end, path)
    return _of_text(length, path), pos


def nullable_compact_text(buf: bytes, pos: int, end: int, path: str) -> tuple[int, int]:
    """Like :func:`compact_text` for a string that may be null (then -1)."""
    length, pos = nullable_compact(buf, pos, end, path)
    return _of_text(length, path), pos


def _of_text(length: int, path: str) -> int:
    if length > MAX_INT16:
        reject_length(length, path)
    return length


def require_utf8(text: bytes, path: str) -> None:
    """Raise NotUtf8 for a text that is not UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        raise NotUtf8(f"{path} is not UTF-8") from None


def skip_tags(buf: bytes, pos: int, end: int) -> int:
    """Skip the tagged fields that start at ``pos`` with their count; returns their end.

    Raises TruncatedError if that is not before ``end``.
    """
    count, pos = read_uvarint(buf, pos, end)
    while count:
        if not count & PAUSE_MASK:
            pause_point()
        _, pos = read_uvarint(buf, pos, end)
        size, pos = read_uvarint(buf, pos, end)
        pos += size
        if pos > end:
            raise TruncatedError("the bytes end inside a tagged field")
        count -= 1
    return pos
