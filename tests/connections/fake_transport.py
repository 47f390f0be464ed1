"""A transport that keeps what is written, for protocols under test."""

from __future__ import annotations

import asyncio


class FakeTransport(asyncio.Transport):
    """``protocol`` is who took it over last."""

    def __init__(self, port: int = 5_000) -> None:
        super().__init__({"peername": ("127.0.0.1", port)})
        self.written = b""
        self.closed = self.paused = False
        self.protocol: asyncio.BaseProtocol | None = None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        assert not self.closed
        self.written += bytes(data)

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

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

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def taken(self) -> bytes:
        """What was written since the last call."""
        written, self.written = self.written, b""
        return written
