"""Frames: every request and response is preceded by its size, an int32 that excludes itself."""

from __future__ import annotations

from struct import Struct

SIZE_PREFIX = Struct(">i")
"""Unpacks a frame's size; negative or oversized values are the caller's to refuse."""


def frame(*parts: bytes) -> bytes:
    """One frame of the payload that ``parts`` make when joined."""
    return SIZE_PREFIX.pack(sum(map(len, parts))) + b"".join(parts)
