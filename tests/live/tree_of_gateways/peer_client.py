"""A peer's side of a peer listener by hand: TLS with any certificate, and any bytes."""

from __future__ import annotations

import socket
import ssl
import struct
from typing import Final, Self

from devkit.certificates import Authority, Credentials
from gateway.referrals import envelope
from gateway.referrals.questions import Answer, Kind, Question
from tests.live.support.wire import ConnectionEnded, request_frame, response_body

SECONDS: Final = 120.0
_HEADER_VERSION: Final = 2

_ENDS: Final = (ssl.SSLError, ConnectionError)
"""In TLS 1.3, a client learns only with its next read that its certificate was rejected."""


class PeerClient:
    """A connection to ``host:port``, whose certificate must be signed by ``authority``.

    ``shown``: the certificate that it presents, or None. Raises ConnectionEnded if the handshake
    fails.
    """

    def __init__(self, address: str, authority: Authority, shown: Credentials | None) -> None:
        host, _, port = address.rpartition(":")
        context = ssl.create_default_context(cafile=str(authority.file))
        if shown is not None:
            context.load_cert_chain(shown.certificate, shown.key)
        plain = socket.create_connection((host, int(port)), timeout=SECONDS)
        try:
            self._socket = context.wrap_socket(plain, server_hostname=host)
        except _ENDS as error:
            plain.close()
            raise ConnectionEnded(str(error)) from error

    def ask(self, question: Question) -> Answer:
        """The answer to a question. Raises ConnectionEnded if the peer closes the connection."""
        self.send_request(envelope.API_KEY, envelope.VERSION, envelope.request_body(question))
        return envelope.read_response(
            response_body(envelope.API_KEY, envelope.VERSION, 1, self._frame())
        )

    def send_request(self, api_key: int, version: int, body: bytes) -> None:
        """Send a request. Raises ConnectionEnded."""
        header = _HEADER_VERSION if api_key == envelope.API_KEY else 1
        self.send(request_frame(api_key, version, body, header_version=header))

    def send(self, data: bytes) -> None:
        """Send bytes as they are. Raises ConnectionEnded."""
        try:
            self._socket.sendall(data)
        except _ENDS as error:
            raise ConnectionEnded(str(error)) from error

    def wait_for_end(self) -> bytes:
        """The bytes that still come before the gateway closes the connection, as it must."""
        found = b""
        try:
            while part := self._socket.recv(65_536):
                found += part
        except _ENDS:
            pass
        return found

    def _frame(self) -> bytes:
        (size,) = struct.unpack(">i", self._receive(4))
        return self._receive(size)

    def _receive(self, size: int) -> bytes:
        found = b""
        while len(found) < size:
            try:
                part = self._socket.recv(size - len(found))
            except _ENDS as error:
                raise ConnectionEnded(str(error)) from error
            if not part:
                raise ConnectionEnded(f"after {len(found)} of {size} bytes")
            found += part
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def locate(target: str, *path: str, hops: int = 16) -> Question:
    """The question who owns ``target``, after it has passed the gateways in ``path``."""
    return Question(Kind.LOCATE, "", target, path, hops, 30.0, "User:ANONYMOUS")


def request(
    target: str, api_key: int, version: int, body: bytes, *path: str, principal: str
) -> Question:
    """A client's request for the volume at a path, from a client of the root."""
    data = request_frame(api_key, version, body, header_version=_HEADER_VERSION)[4:]
    return Question(Kind.REQUEST, "", target, path, 16, 30.0, principal, request=data)
