"""Whether something listens."""

from __future__ import annotations

import socket


def accepts(port: int) -> bool:
    """Whether a connection to the port of this machine is accepted."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
