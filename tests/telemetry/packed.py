"""Short payloads in the compressions of Kafka's clients, stored and not compressed: this takes no
library, and what unpacks them cannot tell."""

from __future__ import annotations

import struct
from typing import Final

LONGEST: Final = 60
"""Bytes of a payload, at most: the longest literal of snappy whose tag is one byte."""

_SNAPPY_HEAD: Final = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
"""Of SnappyOutputStream (snappy-java), in which Kafka frames snappy."""

_LZ4_HEAD: Final = bytes.fromhex("04224d18 60 40 82")
"""Magic number, version 1 with independent blocks, blocks of 64 KiB, checksum of both."""

_ZSTD_HEAD: Final = bytes.fromhex("28b52ffd 20")
"""Magic number, a single segment with its size in one byte."""


def as_snappy(payload: bytes) -> bytes:
    """A block that is one literal, in Kafka's frame."""
    assert 0 < len(payload) <= LONGEST
    block = bytes([len(payload), (len(payload) - 1) << 2]) + payload
    return _SNAPPY_HEAD + struct.pack(">i", len(block)) + block


def as_lz4(payload: bytes) -> bytes:
    """A frame of one block that is not compressed, and the end mark."""
    return _LZ4_HEAD + struct.pack("<I", len(payload) | 1 << 31) + payload + bytes(4)


def as_zstd(payload: bytes) -> bytes:
    """A frame of one raw block, the last one."""
    head = struct.pack("<I", len(payload) << 3 | 1)[:3]
    return _ZSTD_HEAD + bytes([len(payload)]) + head + payload
