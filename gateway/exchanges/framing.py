"""Bytes that wait for more, and frames that leave with some of their bytes replaced."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Final

from protocol.splice import Edit

Buffer = bytes | memoryview

SIZE: Final = Struct(">i")

SMALL: Final = 16 * 1024
"""Slices up to this many bytes are copied; longer ones are passed on as views."""

ALL: Final = 1 << 62
"""Wanted by whoever will take the held bytes without waiting for more."""


class Held:
    """What has arrived of something that is not whole yet.

    ``wanted`` is how many bytes make it worth another look, counted from the first held one.
    Growing costs no more than the bytes added, however small the pieces.
    """

    __slots__ = ("_bytes", "wanted")

    def __init__(self) -> None:
        self._bytes: bytes | bytearray = b""
        self.wanted = 0

    def __len__(self) -> int:
        return len(self._bytes)

    def join(self, data: bytes) -> bytes | None:
        """What is held and ``data`` behind it, to be read now; None to wait for more."""
        held = self._bytes
        if not held and len(data) >= self.wanted:
            return data
        if not isinstance(held, bytearray):
            held = self._bytes = bytearray(held)
        held += data
        return self.take() if len(held) >= self.wanted else None

    def keep(self, rest: bytes, wanted: int) -> None:
        """Hold ``rest`` until ``wanted`` bytes are there."""
        self._bytes = rest
        self.wanted = wanted if rest else 0

    def take(self) -> bytes:
        """All that is held; nothing is, afterwards."""
        held, self._bytes, self.wanted = bytes(self._bytes), b"", 0
        return held


def slice_of(buf: bytes, start: int, stop: int) -> Buffer:
    """buf[start:stop], without a copy where it is long or the whole of it."""
    if stop - start == len(buf):
        return buf
    return buf[start:stop] if stop - start <= SMALL else memoryview(buf)[start:stop]


def write_frame(
    out: list[Buffer], buf: bytes, start: int, limit: int, end: int, edits: Sequence[Edit]
) -> int:
    """Write the frame at ``start`` with its edits, as far as it has arrived (``limit``).

    The frame ends at ``end``, maybe later than ``limit``; its size field is made to fit. Returns
    by how many bytes it has become longer.
    """
    if not edits:
        out.append(slice_of(buf, start, limit))
        return 0
    at = start + 4
    if len(edits) == 1 and limit - start <= SMALL:
        begin, stop, new = edits[0]
        longer = len(new) - stop + begin
        out.append(SIZE.pack(end - at + longer) + buf[at:begin] + new + buf[stop:limit])
        return longer
    change = 0
    for begin, stop, new in edits:
        change += len(new) - stop + begin
    out.append(SIZE.pack(end - at + change))
    for begin, stop, new in edits:
        out.append(buf[at:begin])
        out.append(new)
        at = stop
    out.append(slice_of(buf, at, limit))
    return change


def bad_size(what: str, size: int, least: int, most: int) -> str:
    """Why a frame's size is refused."""
    return f"a {what} of {size} bytes is not between {least} and {most} bytes"
