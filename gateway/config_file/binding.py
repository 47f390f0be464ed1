"""Whether ports can be bound on this machine, for ``check`` and ``init``.

Workers share their ports (SO_REUSEPORT), so a second gateway on the same ports would start without
an error and take half of the connections. Binding without that option detects such a gateway.
"""

from __future__ import annotations

import errno
import socket
from contextlib import ExitStack
from typing import Final

IN_USE: Final = "address already in use"
"""The reason for a port on which another process listens."""


def try_to_bind(host: str, port: int, bound: ExitStack) -> str | None:
    """Bind a port, on each address of ``host``, until ``bound`` is closed. Returns the reason if it
    cannot be bound."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        return str(getattr(error, "strerror", None) or error).lower()
    for family, kind, protocol, _, address in dict.fromkeys(found):
        try:
            listener = bound.enter_context(socket.socket(family, kind, protocol))
            # As servers do: closing connections of an earlier listener are no obstacle.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind(address)
            listener.listen(1)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return IN_USE
            if error.errno == errno.EAFNOSUPPORT and len(found) > 1:
                continue
            return f"{error.strerror or error}".lower()
    return None
