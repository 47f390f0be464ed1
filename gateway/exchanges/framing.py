"""Incomplete frames that wait for more bytes, and frames in which some bytes are replaced."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from struct import Struct
from typing import Final, Protocol

from protocol.pausing import FEW, eased, paced
from protocol.splice import Edit

Buffer = bytes | memoryview

SIZE: Final = Struct(">i")

SMALL: Final = 16 * 1024
"""Slices up to this many bytes are copied; longer slices are passed on as views."""

LONG: Final = 1024 * 1024
"""Longer frames are collected in memory that need not be copied when it is complete:
copying 100 MiB takes 50 ms."""

JOINED: Final = 256 * 1024
"""Bytes that are joined in one go."""

ALL: Final = 1 << 62
"""``wanted`` of a caller that takes the held bytes itself, without waiting for more bytes."""


class Watcher(Protocol):
    """Counts the held bytes: ``connections.connection.Connection``, in a layer above this one.
    Tests fill it in, because frames are tested without connections."""

    def holds_more(self, change: int) -> object:
        """An incomplete request holds so many bytes more (or less, if negative)."""
        ...


class Held:
    """The bytes of a frame that has not wholly arrived.

    ``wanted`` is the number of bytes, from the first held byte, for which another look is worth it.
    The cost of growing is the added bytes', however small the pieces. ``watcher`` is called with
    changes in the number of held bytes, if the frame needs more than :data:`SMALL`, or holds more
    than that while it waits to be decided. It is an object because a bound method would take 64
    bytes of each connection.
    """

    __slots__ = ("_bytes", "_counted", "wanted", "watcher")

    def __init__(self) -> None:
        self._bytes: bytes | bytearray | BytesIO = b""
        self._counted = 0
        self.wanted = 0
        self.watcher: Watcher | None = None

    def __len__(self) -> int:
        held = self._bytes
        return held.tell() if isinstance(held, BytesIO) else len(held)

    def join(self, data: bytes) -> bytes | None:
        """The held bytes with ``data`` after them, to be read now; None to wait for more."""
        held = self._bytes
        if not held and len(data) >= self.wanted:
            return data
        if isinstance(held, bytes):
            rest = held
            if self.wanted > LONG:
                held = BytesIO()
                held.write(rest)
            else:
                held = bytearray(rest)
            self._bytes = held
        if isinstance(held, bytearray):
            held += data
            length = len(held)
        else:
            held.write(data)
            length = held.tell()
        if length >= self.wanted:
            return self.take()
        if self._counted:
            self._count(len(data))
        elif self.wanted == ALL and length > SMALL:
            self._count(length)
        return None

    def keep(self, rest: bytes, wanted: int) -> None:
        """Hold ``rest`` until ``wanted`` bytes have arrived."""
        self._bytes = rest
        self.wanted = wanted if rest else 0
        if wanted > SMALL and (wanted < ALL or len(rest) > SMALL):
            self._count(len(rest))

    def take(self) -> bytes:
        """Take all held bytes out."""
        held = self._bytes
        self._bytes, self.wanted = b"", 0
        if self._counted:
            self._count(-self._counted)
        # The value of a BytesIO is its own memory, not a copy.
        return held.getvalue() if isinstance(held, BytesIO) else bytes(held)

    def _count(self, change: int) -> None:
        if self.watcher is not None:
            self._counted += change
            self.watcher.holds_more(change)


def slice_of(buf: bytes, start: int, stop: int) -> Buffer:
    """buf[start:stop], without a copy if it is long or all of ``buf``."""
    if stop - start == len(buf):
        return buf
    return buf[start:stop] if stop - start <= SMALL else memoryview(buf)[start:stop]


def rest_of(buf: bytes, position: int) -> bytes:
    """``buf[position:]``, without the copy of all of ``buf`` that compiled code would make."""
    return buf[position:] if position else buf


def write_frame(
    out: list[Buffer], buf: bytes, start: int, limit: int, end: int, edits: Sequence[Edit]
) -> int:
    """Write the frame at ``start`` with its edits, as far as it has arrived (``limit``).

    The frame ends at ``end``, which may be after ``limit``; its size field is adjusted. Returns the
    number of bytes by which the frame became longer.
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
    for begin, stop, new in eased(edits):
        change += len(new) - stop + begin
    out.append(SIZE.pack(end - at + change))
    if len(edits) > FEW:
        out += pieces_of(buf, at, limit, edits)
        return change
    for begin, stop, new in edits:
        out.append(slice_of(buf, at, begin))
        out.append(new)
        at = stop
    out.append(slice_of(buf, at, limit))
    return change


def pieces_of(buf: bytes, start: int, end: int, edits: Sequence[Edit]) -> list[Buffer]:
    """``buf[start:end]`` with many edits, in pieces: long parts are not copied, and the rest is
    joined a little at a time."""
    pieces: list[Buffer] = []
    short: list[Buffer] = []
    held, at = 0, start
    for begin, stop, new in paced([*edits, (end, end, b"")]):
        part = slice_of(buf, at, begin)
        is_long = len(part) > SMALL
        if is_long or held > JOINED:
            pieces.append(b"".join(short))
            short.clear()
            held = 0
        if is_long:
            pieces.append(part)
        else:
            short.append(part)
            held += len(part)
        short.append(new)
        held += len(new)
        at = stop
    pieces.append(b"".join(short))
    return pieces


def bad_size(what: str, size: int, least: int, most: int) -> str:
    """The reason why a frame's size is rejected."""
    return f"a {what} of {size} bytes is not between {least} and {most} bytes"
