"""Records of batches, whatever is in them: what a library refuses as a whole is read bit by bit.

A broker checks of a record that it has a key and that its lengths are right, and no more. Here
nothing of it may stop the reading: what cannot be read is a record without a key, which nobody
believes.

Layout: https://kafka.apache.org/documentation/#recordbatch (magic 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gateway.catalog.records import Record
from protocol.records import BATCH_HEADER_SIZE

_LENGTH_END: Final = 12
_MAGIC_AT: Final = 16
_ATTRIBUTES_AT: Final = 22
_COUNT_AT: Final = 57
_COMPRESSION: Final = 0x07
_MAX_VARINT_BYTES: Final = 10


def batches(data: bytes) -> Iterator[bytes]:
    """The whole batches that a fetch has brought; one that is cut off at the end is left out."""
    start = 0
    while start + _MAGIC_AT < len(data):
        end = start + _LENGTH_END + int.from_bytes(data[start + 8 : start + _LENGTH_END], "big")
        if end > len(data):
            return
        yield data[start:end]
        start = end


def salvaged(batch: bytes) -> Iterator[Record]:
    """The records of a batch, as far as they can be read; then one that has no key, at the offset
    after them."""
    base = int.from_bytes(batch[:8], "big")
    count = int.from_bytes(batch[_COUNT_AT:BATCH_HEADER_SIZE], "big")
    offset = base
    if batch[_MAGIC_AT] == 2 and not batch[_ATTRIBUTES_AT] & _COMPRESSION:
        pos = BATCH_HEADER_SIZE
        try:
            for _ in range(count):
                record, pos = _record(batch, pos, base)
                yield record
                offset = record.offset + 1
        except ValueError:
            pass
        else:
            return
    yield Record(None, None, (), offset)


def _record(batch: bytes, pos: int, base: int) -> tuple[Record, int]:
    """A record and the position after it. Raises ValueError."""
    length, pos = _varint(batch, pos)
    end = pos + length
    if not pos < end <= len(batch):
        raise ValueError("a record does not end within its batch")
    pos += 1  # attributes, of which there are none
    _, pos = _varint(batch, pos)
    delta, pos = _varint(batch, pos)
    key, pos = _bytes(batch, pos, end)
    value, pos = _bytes(batch, pos, end)
    count, pos = _varint(batch, pos)
    if not 0 <= count <= end - pos:
        raise ValueError("more headers than bytes")
    headers: list[tuple[str, bytes | None]] = []
    for _ in range(count):
        name, pos = _bytes(batch, pos, end)
        content, pos = _bytes(batch, pos, end)
        headers.append(((name or b"").decode(errors="replace"), content))
    return Record(key, value, headers, base + delta), end


def _bytes(batch: bytes, pos: int, end: int) -> tuple[bytes | None, int]:
    length, pos = _varint(batch, pos)
    if length < 0:
        return None, pos
    if pos + length > end:
        raise ValueError("bytes beyond the end of their record")
    return batch[pos : pos + length], pos + length


def _varint(batch: bytes, pos: int) -> tuple[int, int]:
    """A zigzag varint and the position after it."""
    value = 0
    for number, byte in enumerate(batch[pos : pos + _MAX_VARINT_BYTES]):
        value |= (byte & 0x7F) << 7 * number
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), pos + number + 1
    raise ValueError("a varint without an end")
