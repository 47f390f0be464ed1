"""The end of a client connection that loses nothing of what was written last.

A socket that is closed while bytes of the client wait in it is reset, and the client may lose the
response that it has not read yet: it would ask again for what was done. So our side ends first, and
what the client still sends is dropped until it has closed its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

FAREWELL_SECONDS: Final = 1.0
"""For a client to see that the gateway has ended its side; idle ones may not look that often."""


class Farewell(asyncio.Protocol):
    """Takes over a client's transport; ``ended`` is called when it is closed."""

    def __init__(self, transport: asyncio.Transport, ended: Callable[[], None]) -> None:
        self._ended = ended
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(FAREWELL_SECONDS, transport.close)

    def data_received(self, data: bytes) -> None:
        """Requests that nobody serves any more; the client sends them again elsewhere."""

    def connection_lost(self, exc: Exception | None) -> None:
        """Both sides have ended."""
        self._timer.cancel()
        self._ended()


def part(transport: asyncio.Transport, ended: Callable[[], None], *, paused: bool) -> bool:
    """End a connection so; False where it cannot be: TLS has no end of one side. ``paused`` says
    that nothing is read from it now."""
    if transport.is_closing() or not transport.can_write_eof():
        return False
    transport.set_protocol(Farewell(transport, ended))
    transport.write_eof()
    if paused:
        transport.resume_reading()
    return True
