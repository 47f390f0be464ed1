"""Record batch headers (magic 2): what can be told of a batch without touching its records.

Layout: KIP-98 and https://kafka.apache.org/documentation/#recordbatch; all integers big-endian.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

BATCH_HEADER_SIZE: Final = 61
"""Bytes from the base offset through the record count."""

_MAGIC_AT: Final = 16
_HEADER: Final = Struct(">16xb4xh20xq6xi")
"""Magic, attributes, producer id, record count; what stands between them is skipped."""
_TRANSACTIONAL: Final = 0x10
_MAGIC_2: Final = 2

BatchFacts = tuple[int, bool, bool]
"""Records in the batch, whether its producer is idempotent, and transactional."""


def batch_facts(buf: bytes, start: int, end: int) -> BatchFacts | None:
    """Read the batch that starts at ``start``; None if its header does not stand before ``end``
    or it is not of magic 2 (older formats have no such header)."""
    if end - start < BATCH_HEADER_SIZE:
        return None
    magic, attributes, producer_id, records = _HEADER.unpack_from(buf, start)
    if magic != _MAGIC_2:
        return None
    return records if records > 0 else 0, producer_id >= 0, attributes & _TRANSACTIONAL != 0


def is_older_format(buf: bytes, start: int, end: int) -> bool:
    """Whether what starts at ``start`` is a message set of magic 0 or 1 (before KIP-98), which
    has its magic at the same place; False where that does not stand before ``end``."""
    return end - start > _MAGIC_AT and buf[start + _MAGIC_AT] < _MAGIC_2
