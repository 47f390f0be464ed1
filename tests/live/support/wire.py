"""Kafka's wire protocol by hand: frames over a socket, for requests that no client sends."""

from __future__ import annotations

import itertools
import socket
import struct
from typing import Any, Self

from devkit.exact_messages import exactly
from protocol import messages
from protocol.headers import (
    request_header_version,
    response_body_pos,
    response_header_version,
)
from protocol.schema import api_key_of

SECONDS = 120.0


class ConnectionEnded(Exception):
    """The other side closed the connection."""


def request_frame(
    api_key: int, version: int, body: bytes, correlation_id: int = 1, header_version: int = 1
) -> bytes:
    """A request with its size and header; client id ``wire``."""
    tags = b"\x00" if header_version == 2 else b""
    head = struct.pack(">hhih", api_key, version, correlation_id, 4) + b"wire" + tags
    return struct.pack(">i", len(head) + len(body)) + head + body


class Wire:
    """A connection to ``host:port``, from this machine's address ``source`` if it is given.

    Every wait has a deadline.
    """

    def __init__(
        self,
        address: str,
        *,
        receive_buffer: int | None = None,
        source: str | None = None,
        seconds: float = SECONDS,
    ) -> None:
        host, _, port = address.rpartition(":")
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._socket.settimeout(seconds)
        try:
            if source is not None:
                self._socket.bind((source, 0))
            self._socket.connect((host, int(port)))
        except OSError:
            self._socket.close()
            raise
        self._correlation_ids = itertools.count(1)

    @property
    def local_address(self) -> str:
        """This side's ``host:port``, as the gateway's log names it."""
        host, port = self._socket.getsockname()
        return f"{host}:{port}"

    def fileno(self) -> int:
        """The socket's descriptor."""
        return self._socket.fileno()

    def send(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._socket.sendall(data)

    def send_until_stuck(self, data: bytes, seconds: float = 0.5) -> int:
        """Send until the other side has read nothing for ``seconds``; how many bytes it read."""
        view, sent = memoryview(data), 0
        self._socket.settimeout(seconds)
        try:
            while sent < len(data):
                sent += self._socket.send(view[sent:])
        except TimeoutError:
            pass
        finally:
            self._socket.settimeout(SECONDS)
        return sent

    def until(self, seconds: float) -> None:
        """Set the longest wait from here on, after which TimeoutError is raised."""
        self._socket.settimeout(seconds)

    def receive(self, size: int) -> bytes:
        """Exactly ``size`` bytes. Raises ConnectionEnded."""
        parts = bytearray()
        while len(parts) < size:
            part = self._receive_some(size - len(parts))
            if not part:
                raise ConnectionEnded(f"after {len(parts)} of {size} bytes")
            parts += part
        return bytes(parts)

    def frame(self) -> bytes:
        """The next frame, without its size. Raises ConnectionEnded."""
        (size,) = struct.unpack(">i", self.receive(4))
        return self.receive(size)

    def exchange(self, api_key: int, version: int, body: bytes) -> bytes:
        """Send a request and return the body of its response."""
        correlation_id = next(self._correlation_ids)
        header = request_header_version(api_key, version)
        self.send(request_frame(api_key, version, body, correlation_id, header))
        return response_body(api_key, version, correlation_id, self.frame())

    def ask(self, name: str, version: int, /, **values: object) -> Any:
        """Exchange entities: ``ask("Metadata", 4, topics=[{"name": "t"}])``.

        Lists are arrays, dictionaries their elements; fields not given are zero.
        """
        request = entity(messages.message_class(f"{name}Request", version), values)
        answer = self.exchange(api_key_of(f"{name}Request"), version, messages.write(request))
        return messages.parse(f"{name}Response", version, answer)

    def end(self) -> None:
        """Half-close: this side sends nothing more; responses may still come."""
        self._socket.shutdown(socket.SHUT_WR)

    def wait_for_end(self) -> bytes:
        """The bytes that still come before the other side closes. Fails if it does not close."""
        parts = bytearray()
        while part := self._receive_some(65_536):
            parts += part
        return bytes(parts)

    def close(self) -> None:
        """Close this side."""
        self._socket.close()

    def _receive_some(self, most: int) -> bytes:
        try:
            return self._socket.recv(most)
        except ConnectionResetError:
            return b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def response_body(api_key: int, version: int, correlation_id: int, frame: bytes) -> bytes:
    """The body of a response frame, whose correlation id must be this one."""
    (answered,) = struct.unpack_from(">i", frame)
    assert answered == correlation_id, f"{answered} was answered, not {correlation_id}"
    header = response_header_version(api_key, version)
    return frame[response_body_pos(frame, 0, len(frame), header) :]


entity = exactly
"""A message or a struct in one, from plain values."""
