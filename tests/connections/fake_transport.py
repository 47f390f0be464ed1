"""A transport that keeps the bytes written, for protocols under test."""

from __future__ import annotations

import asyncio
from socket import SO_LINGER, SOL_SOCKET
from struct import pack


class FakeSocket:
    """The socket below a transport: the options that were set."""

    def __init__(self) -> None:
        self.options: dict[tuple[int, int], bytes] = {}

    def setsockopt(self, level: int, option: int, value: bytes) -> None:
        self.options[level, option] = value


class FakeTransport(asyncio.Transport):
    """``protocol`` is the protocol that took it over last; ``socket`` is the socket below it. If
    ``aborted``, the last bytes written may not have left."""

    def __init__(self, port: int = 5_000, host: str = "127.0.0.1") -> None:
        self.socket = FakeSocket()
        super().__init__({"peername": (host, port), "socket": self.socket})
        self.written = b""
        self.closed = self.paused = self.aborted = False
        self.unread = 0  # bytes that the peer has not taken
        self.protocol: asyncio.BaseProtocol | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.closed
        self.written += bytes(data)

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = self.aborted = True

    @property
    def reset(self) -> bool:
        """Whether the peer was sent a reset, and nothing after it."""
        return self.aborted and self.socket.options.get((SOL_SOCKET, SO_LINGER)) == pack("ii", 1, 0)

    def get_write_buffer_size(self) -> int:
        return self.unread

    def is_closing(self) -> bool:
        return self.closed

    def can_write_eof(self) -> bool:
        return False

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self.protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        return self.protocol or asyncio.BaseProtocol()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def taken(self) -> bytes:
        """The bytes written since the last call."""
        written, self.written = self.written, b""
        return written
