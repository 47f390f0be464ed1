"""The server name in a ClientHello, read before TLS begins (RFC 8446, 4.1.2; RFC 6066, 3).

OpenSSL's callback for it comes too late, and not for every name: by then it is decided which
sessions may be resumed, for a resumed session (TLS 1.2) it gets the session's name, and if a name
is not ASCII, it is never called. So the name is read here; OpenSSL reads it again, and rejects a
malformed ClientHello.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

MAX_HELLO: Final = 16 * 1024
"""Bytes that a ClientHello, with its records, has at most; clients' have 200 to some 2,000, with
post-quantum keys."""

RECORD: Final = Struct(">BHH")
HANDSHAKE: Final = 22
CLIENT_HELLO: Final = 1
HELLO_HEAD: Final = 4
"""Bytes: a type, and a length of 24 bits."""

BEFORE_SESSION_ID: Final = 2 + 32
"""Bytes: the version and the random."""

SERVER_NAME: Final = 0
HOST_NAME: Final = 0


class ClientHello(NamedTuple):
    """The first bytes of a client, and the host name in them, if they name a host."""

    data: bytes = b""
    server_name: bytes | None = None


class InvalidHello(Exception):
    """The bytes begin a ClientHello, and are none that the gateway waits for; the text says why."""


class HelloReader:
    """Reads a ClientHello from bytes as they arrive, each byte once."""

    __slots__ = ("_data", "_left", "_message", "_position")

    def __init__(self) -> None:
        self._data = bytearray()
        self._message = bytearray()
        self._position = 0  # of the next bytes to read
        self._left = 0  # bytes of the record that begins before ``_position``

    def read(self, received: bytes) -> ClientHello | None:
        """Read the next bytes; None: the ClientHello is not complete yet. Raises InvalidHello.

        If the bytes are no ClientHello, or malformed, there is no name: OpenSSL rejects them, and
        knows the reason best.
        """
        self._data += received
        if self._data and self._data[0] != HANDSHAKE:
            return ClientHello(bytes(self._data))
        while self._next_record():
            piece = self._data[self._position : self._position + self._left]
            self._position += len(piece)
            self._left -= len(piece)
            self._message += piece
            if self._message and self._message[0] != CLIENT_HELLO:
                return ClientHello(bytes(self._data))
            if len(self._message) < HELLO_HEAD:
                continue
            wanted = HELLO_HEAD + int.from_bytes(self._message[1:HELLO_HEAD], "big")
            if wanted > MAX_HELLO:
                break
            if len(self._message) >= wanted:
                name = _server_name(memoryview(self._message)[HELLO_HEAD:wanted])
                return ClientHello(bytes(self._data), name)
        else:
            if not self._left and self._foreign():
                return ClientHello(bytes(self._data))
            if len(self._data) <= MAX_HELLO:
                return None
        raise InvalidHello("the ClientHello is too long")

    def _next_record(self) -> bool:
        """Whether there are bytes of a handshake record to read. Raises InvalidHello."""
        if not self._left:
            if len(self._data) - self._position < RECORD.size or self._foreign():
                return False
            _, _, self._left = RECORD.unpack_from(self._data, self._position)
            self._position += RECORD.size
            if not self._left:
                # RFC 8446, 5.1. Otherwise 5 bytes without content could go on for ever.
                raise InvalidHello("a record of the ClientHello is empty")
        return self._position < len(self._data)

    def _foreign(self) -> bool:
        """Whether the next record is not of the handshake."""
        return self._position < len(self._data) and self._data[self._position] != HANDSHAKE


def _server_name(hello: memoryview) -> bytes | None:
    try:
        _, rest = _split(hello, BEFORE_SESSION_ID)
        for width in (1, 2, 1):  # session id, cipher suites, compression methods
            _, rest = _vector(rest, width)
        if not rest:
            return None  # no extensions
        extensions, _ = _vector(rest, 2)
        while extensions:
            kind, extensions = _number(extensions, 2)
            content, extensions = _vector(extensions, 2)
            if kind == SERVER_NAME:
                return _host_name(_vector(content, 2)[0])
    except EOFError:
        pass
    return None


def _host_name(names: memoryview) -> bytes | None:
    """The first host name of a ServerNameList, if it has any. Raises EOFError."""
    while names:
        kind, names = _number(names, 1)
        name, names = _vector(names, 2)
        if kind == HOST_NAME:
            return bytes(name)
    return None


def _vector(data: memoryview, width: int) -> tuple[memoryview, memoryview]:
    """A vector whose length has ``width`` bytes, and the bytes after it. Raises EOFError."""
    size, rest = _number(data, width)
    return _split(rest, size)


def _number(data: memoryview, width: int) -> tuple[int, memoryview]:
    number, rest = _split(data, width)
    return int.from_bytes(number, "big"), rest


def _split(data: memoryview, size: int) -> tuple[memoryview, memoryview]:
    if size > len(data):
        raise EOFError
    return data[:size], data[size:]
