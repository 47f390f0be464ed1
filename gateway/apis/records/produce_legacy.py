"""Produce v0 to v2: advertised, since librdkafka looks for them (KIP-896), and always refused.

Kafka 4 has no message definition for them any more, so they are read by hand: acks (int16),
timeout (int32), topics of a name and partitions of a number (int32) and record bytes. A response
holds topics of a name and partitions of a number, an error code, a base offset and, in v2, the
append time; v1 and v2 end with the throttle time.
"""

from __future__ import annotations

import struct

from protocol.errors import ProtocolError

VERSIONS = range(3)
ACKS_NONE = 0
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_NO_OFFSET = (-1).to_bytes(8, "big", signed=True)
_NO_TIME = (-1).to_bytes(8, "big", signed=True)
_NO_THROTTLE = bytes(4)


def refuse(version: int, body: bytes, code: int) -> bytes:
    """The response to a Produce request of version 0 to 2, each partition refused with ``code``.

    Answers ``b""`` for acks=0, which has no response. Raises ProtocolError.
    """
    try:
        (acks,) = _INT16.unpack_from(body, 0)
        parts, end = _topics(version, body, code)
    except struct.error as error:
        raise ProtocolError(f"Produce v{version} request ends too early") from error
    if end != len(body):
        raise ProtocolError(f"Produce v{version} request has {len(body) - end} bytes too many")
    if acks == ACKS_NONE:
        return b""
    if version >= 1:
        parts.append(_NO_THROTTLE)
    return b"".join(parts)


def _topics(version: int, body: bytes, code: int) -> tuple[list[bytes], int]:
    """The response's topics, and where the request's end."""
    answer = _INT16.pack(code) + _NO_OFFSET + (_NO_TIME if version >= 2 else b"")
    pos = _INT16.size + _INT32.size
    topics, pos = _count(body, pos)
    parts = [_INT32.pack(topics)]
    for _ in range(topics):
        (length,) = _INT16.unpack_from(body, pos)
        name_end = _advance(body, pos + _INT16.size, length)
        partitions, start = _count(body, name_end)
        parts.append(body[pos:start])
        pos = start
        for _ in range(partitions):
            _, length = _INT32.unpack_from(body, pos)[0], _INT32.unpack_from(body, pos + 4)[0]
            parts.append(body[pos : pos + 4] + answer)
            pos = _advance(body, pos + 8, max(length, 0))
    return parts, pos


def _count(body: bytes, pos: int) -> tuple[int, int]:
    (count,) = _INT32.unpack_from(body, pos)
    if not 0 <= count <= len(body):
        raise ProtocolError(f"array of {count} elements in {len(body)} bytes")
    return count, pos + _INT32.size


def _advance(body: bytes, pos: int, length: int) -> int:
    if length < 0 or pos + length > len(body):
        raise ProtocolError(f"{length} bytes announced, {len(body) - pos} there")
    return pos + length
