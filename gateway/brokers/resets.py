"""Resets connections, so that the broker drops requests that it has not begun to handle."""

from __future__ import annotations

import asyncio
from socket import SO_LINGER, SOL_SOCKET
from struct import pack
from typing import Final

LINGER_NOT: Final = pack("ii", 1, 0)
"""The value of SO_LINGER (on, for 0 s) with which closing a socket resets its connection."""


def reset(transport: asyncio.WriteTransport) -> None:
    """Reset a connection to a broker, because the broker would still handle requests that arrive
    before a FIN. A lost reset is not repeated. A connection that is closing already is aborted."""
    if not transport.is_closing():
        socket = transport.get_extra_info("socket")
        socket.setsockopt(SOL_SOCKET, SO_LINGER, LINGER_NOT)
    transport.abort()
