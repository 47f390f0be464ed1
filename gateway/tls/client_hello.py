"""The server name in a ClientHello, read before TLS begins (RFC 8446, 4.1.2; RFC 6066, 3).

OpenSSL does tell a callback of it, but too late, and not of every name: which sessions may be
resumed is decided by then, of one that is resumed (TLS 1.2) it shows the name of the session, and a
name that is not ASCII never gets as far as the callback. So it is read here, and OpenSSL reads it
again: what it makes of the rest, and of what is no ClientHello, is left to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import Final

MAX_HELLO: Final = 16 * 1024
"""Bytes that a ClientHello, with the records that it is in, has at most; clients' have 200 to some
2,000, with keys that withstand quantum computers."""

RECORD: Final = Struct(">BHH")
HANDSHAKE: Final = 22
CLIENT_HELLO: Final = 1
HELLO_HEAD: Final = 4
"""Bytes: a type, and a length of 24 bits."""

BEFORE_SESSION_ID: Final = 2 + 32
"""Bytes: the version and the random."""

SERVER_NAME: Final = 0
HOST_NAME: Final = 0


@dataclass(frozen=True, slots=True)
class ClientHello:
    """What a client sent first, and the host name in it: None where there is none."""

    data: bytes = b""
    server_name: bytes | None = None


def read_hello(data: bytes) -> ClientHello | None:
    """What has come so far as a ClientHello; None: the rest of it has yet to come.

    What is none, or is malformed, has no name: OpenSSL refuses it, and knows best why.
    """
    message = bytearray()
    position = 0
    while len(data) - position >= RECORD.size:
        kind, _, size = RECORD.unpack_from(data, position)
        if kind != HANDSHAKE:
            return ClientHello(data)
        position += RECORD.size
        message += data[position : position + size]
        position += size
        if len(message) >= HELLO_HEAD and message[0] != CLIENT_HELLO:
            return ClientHello(data)
        wanted = HELLO_HEAD + int.from_bytes(message[1:HELLO_HEAD], "big")
        if len(message) >= max(wanted, HELLO_HEAD):
            return ClientHello(data, _server_name(bytes(message[HELLO_HEAD:wanted])))
    if data and data[0] != HANDSHAKE:
        return ClientHello(data)
    return None


def _server_name(hello: bytes) -> bytes | None:
    try:
        return _Fields(hello).server_name()
    except ValueError:
        return None


class _Fields:
    """The fields of a ClientHello, one after the other. Each raises ValueError at the end."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    def server_name(self) -> bytes | None:
        """The host name; from the beginning."""
        self._take(BEFORE_SESSION_ID)
        for width in (1, 2, 1):  # session id, cipher suites, compression methods
            self._vector(width)
        if self._position == len(self._data):
            return None  # no extensions
        extensions = _Fields(self._vector(2))
        while extensions.left:
            kind = extensions.number(2)
            content = extensions._vector(2)
            if kind == SERVER_NAME:
                return _Fields(_Fields(content)._vector(2)).host_name()
        return None

    def host_name(self) -> bytes | None:
        """The first name of that type in a ServerNameList."""
        while self.left:
            kind = self.number(1)
            name = self._vector(2)
            if kind == HOST_NAME:
                return name
        return None

    @property
    def left(self) -> int:
        """Bytes that have not been read."""
        return len(self._data) - self._position

    def number(self, width: int) -> int:
        """An unsigned integer of so many bytes."""
        return int.from_bytes(self._take(width), "big")

    def _vector(self, width: int) -> bytes:
        return self._take(self.number(width))

    def _take(self, size: int) -> bytes:
        taken = self._data[self._position : self._position + size]
        if len(taken) < size:
            raise ValueError("a ClientHello ends early")
        self._position += size
        return taken
