"""Writing long responses to a client only as far as it takes them.

A transport takes whatever it is given, and over TLS it does not say how much of that waits below
it. So what is counted until the client has taken it is written in parts, of which no more than two
wait. Each is a copy, because the transport would keep all of the response for the last byte of it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import Any, Final

from gateway.connections.transports import WRITE_HIGH

PART: Final = WRITE_HIGH
"""Bytes that are written at a time."""


class PacedTransport(asyncio.Transport):
    """A client's transport that is given a part whenever it has room; ``inner`` is that transport.
    What is left is written, or given up, with its end."""

    def __init__(self, inner: asyncio.Transport) -> None:
        super().__init__()
        self.inner = inner
        self._rest: deque[memoryview] = deque()
        self._size = 0

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write bytes behind those that are left."""
        self.writelines((data,))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        """Write pieces behind those that are left."""
        for data in list_of_data:
            if data:
                self._rest.append(memoryview(data))
                self._size += len(data)
        self.go_on()

    def go_on(self) -> None:
        """Write what the transport has room for. It has told its protocol if bytes are left, and
        tells it when there is room again."""
        while self._rest and self.inner.get_write_buffer_size() <= WRITE_HIGH:
            self._write_part()

    def _write_part(self) -> None:
        piece = self._rest[0]
        if len(piece) > PART:
            self._rest[0] = piece[PART:]
            piece = piece[:PART]
        else:
            self._rest.popleft()
        self._size -= len(piece)
        self.inner.write(bytes(piece))

    def _write_all(self) -> None:
        while self._rest and not self.inner.is_closing():
            self._write_part()

    @property
    def left(self) -> int:
        """The bytes that the transport has no room for yet."""
        return self._size

    def get_write_buffer_size(self) -> int:
        """The bytes that are left, here and in the transport."""
        return self._size + self.inner.get_write_buffer_size()

    def close(self) -> None:
        """Close the transport once all is written."""
        self._write_all()
        self.inner.close()

    def write_eof(self) -> None:
        """End this side once all is written."""
        self._write_all()
        self.inner.write_eof()

    def abort(self) -> None:
        """Close the transport at once; what is left is given up."""
        self._rest.clear()
        self._size = 0
        self.inner.abort()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.inner.get_extra_info(name, default)

    def is_closing(self) -> bool:
        return self.inner.is_closing()

    def can_write_eof(self) -> bool:
        return self.inner.can_write_eof()

    def pause_reading(self) -> None:
        self.inner.pause_reading()

    def resume_reading(self) -> None:
        self.inner.resume_reading()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.inner.set_protocol(protocol)
