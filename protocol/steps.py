"""What generated walkers call when a field is not in the form that they handle inline: lengths
of more than one byte, nulls where none may be, and tagged fields nobody wants.

``path`` names the field in error messages. Like the walkers these read ``buf[:end]`` only as far
as lengths go; whoever slices or emits checks the returned position against ``end`` first.
"""

from __future__ import annotations

from typing import Final, NoReturn

from protocol.errors import ProtocolError, TruncatedError
from protocol.pausing import pause_point
from protocol.primitives import read_uvarint

PAUSE_MASK: Final = 1023
"""Tagged fields are passed so many, and one, between two pause points."""


def refuse_length(length: int, path: str) -> NoReturn:
    """A legacy length that is negative and not a null that may be."""
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


def skip_tags(buf: bytes, pos: int, end: int) -> int:
    """Skip the tagged fields that start at ``pos`` with their count; returns where they end.

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
