"""Unpacking what a client pushes: gzip, within a bound."""

from __future__ import annotations

import zlib
from typing import Final

from gateway.error_codes import INVALID_RECORD, TELEMETRY_TOO_LARGE
from gateway.telemetry.instances import GZIP
from gateway.telemetry.limits import MAX_BYTES
from protocol.pausing import pause_point

PIECE: Final = 4 * 1024
"""Packed bytes between two pause points: blocks of a few bytes each take 1 ms for these."""

_GZIP_HEADER: Final = 16 + zlib.MAX_WBITS


class Unreadable(Exception):
    """A push cannot be kept; ``code`` is the error that its client gets."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def unpacked(metrics: bytes, compression: int) -> bytes:
    """The bytes of a push as OTLP has them, ``MAX_BYTES`` at most. Raises Unreadable."""
    if compression != GZIP:
        return metrics
    unpacking = zlib.decompressobj(_GZIP_HEADER)
    plain = bytearray()
    try:
        for start in range(0, len(metrics), PIECE):
            pause_point()
            # One byte more than is allowed, so that what is too large is seen without unpacking it.
            piece = metrics[start : start + PIECE]
            plain += unpacking.decompress(piece, MAX_BYTES + 1 - len(plain))
            if len(plain) > MAX_BYTES:
                raise Unreadable(TELEMETRY_TOO_LARGE)
            if unpacking.eof:
                break
    except zlib.error as error:
        raise Unreadable(INVALID_RECORD) from error
    if not unpacking.eof:
        raise Unreadable(INVALID_RECORD)
    return bytes(plain)
