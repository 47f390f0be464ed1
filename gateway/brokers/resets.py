"""Ending a connection so that the broker drops what it has not begun with."""

from __future__ import annotations

import asyncio
from socket import SO_LINGER, SOL_SOCKET
from struct import pack
from typing import Final

LINGER_NOT: Final = pack("ii", 1, 0)
"""The value of SO_LINGER (on, for 0 s) with which closing a socket resets its connection."""


def reset(transport: asyncio.WriteTransport) -> None:
    """Reset a connection to a broker, which would still do what stands before a FIN. A reset that
    is lost is not repeated. One that closes already is aborted."""
    if not transport.is_closing():
        socket = transport.get_extra_info("socket")
        socket.setsockopt(SOL_SOCKET, SO_LINGER, LINGER_NOT)
    transport.abort()
