"""Record batch headers (magic 2): what can be told of a batch without touching its records.

Layout: KIP-98 and https://kafka.apache.org/documentation/#recordbatch; all integers big-endian.
"""

from __future__ import annotations

from struct import Struct
from typing import NamedTuple

BATCH_HEADER_SIZE = 61
"""Bytes from the base offset through the record count."""

_MAGIC_AT = 16
_ATTRIBUTES = Struct(">h")
_ATTRIBUTES_AT = 21
_PRODUCER_ID = Struct(">q")
_PRODUCER_ID_AT = 43
_COUNT = Struct(">i")
_COUNT_AT = 57
_TRANSACTIONAL = 0x10
_MAGIC_2 = 2


class BatchFacts(NamedTuple):
    """``records`` in the batch, whether its producer is idempotent, and transactional."""

    records: int
    idempotent: bool
    transactional: bool


def batch_facts(buf: bytes, start: int, end: int) -> BatchFacts | None:
    """Read the batch that starts at ``start``; None if its header does not stand before ``end``
    or it is not of magic 2 (older formats have no such header)."""
    if end - start < BATCH_HEADER_SIZE or buf[start + _MAGIC_AT] != _MAGIC_2:
        return None
    attributes = _ATTRIBUTES.unpack_from(buf, start + _ATTRIBUTES_AT)[0]
    return BatchFacts(
        max(_COUNT.unpack_from(buf, start + _COUNT_AT)[0], 0),
        _PRODUCER_ID.unpack_from(buf, start + _PRODUCER_ID_AT)[0] >= 0,
        bool(attributes & _TRANSACTIONAL),
    )
