"""Writing long responses to a client only as far as it takes them.

A transport takes whatever it is given, and over TLS it does not say how much of that waits below
it. So what is counted until the client has taken it is written in parts, of which no more than two
wait. Each is a copy, because the transport would keep all of the response for the last byte of it.

A client that takes all at once gets a few parts in each round of the event loop, because copying
and sending one takes up to 1 ms. The end of the connection comes behind what is left, as at other
transports: whoever closes a transport aborts it if its client does not read (``transports.close``).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Final

from gateway.connections.transports import WRITE_HIGH

PART: Final = WRITE_HIGH
"""Bytes that are written at a time."""

MOST: Final = 4 * PART
"""Bytes that are written in one callback."""

LEAST: Final = PART // 32
"""Bytes that a shorter piece counts for, because each is a call of its own."""


class PacedTransport(asyncio.Transport):
    """A client's transport that is given a part whenever it has room; ``inner`` is that transport.

    ``write_on`` is called in a later round if the transport has room for more than is written at a
    time; it has to call :meth:`go_on`. After :meth:`close` and :meth:`write_eof` it is called no
    more, and the transport's protocol learns only when the connection is lost.
    """

    def __init__(
        self, inner: asyncio.Transport, write_on: Callable[[], object] | None = None
    ) -> None:
        super().__init__()
        self.inner = inner
        self._write_on = write_on or self.go_on
        self._is_next = False  # whether more is written in the next round
        self._rest: deque[memoryview] = deque()
        self._size = 0
        self._ending: _Ending | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write bytes behind those that are left."""
        self.writelines((data,))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Write pieces behind those that are left."""
        for data in list_of_data:
            if data:
                self._rest.append(memoryview(data))
                self._size += len(data)
        if not self._is_next:  # else they come in the next round
            self.go_on()

    def go_on(self) -> None:
        """Write what the transport has room for, up to a few parts; then the end, if there is one.
        If the transport has room for no more, it has told its protocol so, and tells it when there
        is room again."""
        if self.inner.is_closing():
            self.give_up()
            return
        more = MOST
        while self._rest and self.inner.get_write_buffer_size() <= WRITE_HIGH:
            if more <= 0:
                self._go_on_later()
                return
            more -= max(self._write_part(), LEAST)
        if self._ending is not None and not self._rest:
            self._ending.come()

    def _go_on_later(self) -> None:
        if not self._is_next:
            self._is_next = True
            asyncio.get_running_loop().call_soon(self._next_round)

    def _next_round(self) -> None:
        self._is_next = False
        if self._ending is None:
            self._write_on()
        else:
            self.go_on()

    def _write_part(self) -> int:
        """Write the next part, and return its size."""
        piece = self._rest[0]
        if len(piece) > PART:
            self._rest[0] = piece[PART:]
            piece = piece[:PART]
        else:
            self._rest.popleft()
        self._size -= len(piece)
        self.inner.write(bytes(piece))
        return len(piece)

    def give_up(self) -> None:
        """Drop what is left."""
        self._rest.clear()
        self._size = 0

    @property
    def left(self) -> int:
        """The bytes that the transport has no room for yet."""
        return self._size

    def get_write_buffer_size(self) -> int:
        """The bytes that are left, here and in the transport."""
        return self._size + self.inner.get_write_buffer_size()

    def close(self) -> None:
        """Close the transport once all is written; nothing is read from the client any more."""
        if not self._rest or self.inner.is_closing():
            self.inner.close()
            return
        self.inner.pause_reading()
        self._end_later(closes=True)

    def write_eof(self) -> None:
        """End this side once all is written."""
        if not self._rest:
            self.inner.write_eof()
            return
        self._end_later(closes=False)

    def _end_later(self, *, closes: bool) -> None:
        if self._ending is None:
            self._ending = _Ending(self, self.inner.get_protocol())
            self.inner.set_protocol(self._ending)
        self._ending.closes |= closes

    def abort(self) -> None:
        """Close the transport at once; what is left is given up."""
        self.give_up()
        self.inner.abort()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.inner.get_extra_info(name, default)

    def is_closing(self) -> bool:
        closes = self._ending is not None and self._ending.closes
        return closes or self.inner.is_closing()

    def can_write_eof(self) -> bool:
        return self.inner.can_write_eof()

    def pause_reading(self) -> None:
        self.inner.pause_reading()

    def resume_reading(self) -> None:
        self.inner.resume_reading()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.inner.set_protocol(protocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.inner.get_protocol()


class _Ending(asyncio.Protocol):
    """Owns a client's transport while what is left is written before the end, and until it is
    closed. ``closes``: both sides end, not this one alone. ``before``: the protocol that gets the
    end of the connection."""

    def __init__(self, paced: PacedTransport, before: asyncio.BaseProtocol) -> None:
        self._paced = paced
        self._before = before
        self._has_come = False
        self.closes = False

    def come(self) -> None:
        """End, once."""
        if not self._has_come:
            self._has_come = True
            inner = self._paced.inner
            if self.closes:
                inner.close()
            else:
                inner.write_eof()

    def data_received(self, data: bytes) -> None:
        """Drop requests, which are not served any more."""

    def eof_received(self) -> bool:
        """Close, but not before all is written: the client has closed its own side only."""
        left = bool(self._paced.left)
        self.closes |= left
        return left

    def resume_writing(self) -> None:
        self._paced.go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        self._paced.give_up()
        self._before.connection_lost(exc)
