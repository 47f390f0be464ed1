"""Logins as a client sends them, and the responses to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gateway.auth.exchange import AuthenticationFailed, CannotTell, Exchange, proved
from gateway.auth.login import Login
from gateway.auth.mechanisms import Mechanisms, Session
from gateway.identity import Identity
from protocol import messages
from protocol.headers import (
    frame,
    request_header_version,
    response_body_pos,
    response_header_version,
)
from protocol.primitives import legacy_string
from protocol.schema import api_key_of

MAX_BYTES = 4_096
SERVED = b"what is served"
"""In place of an ApiVersions response body."""


def request(name: str, version: int, correlation_id: int = 1, **values: object) -> bytes:
    """A frame with a request of a client whose id is ``test``."""
    api_key = api_key_of(f"{name}Request")
    head = (api_key << 48 | version << 32 | correlation_id).to_bytes(8, "big")
    tags = b"\x00" if request_header_version(api_key, version) >= 2 else b""
    entity = messages.build(messages.message_class(f"{name}Request", version), **values)
    return frame(head, legacy_string(b"test"), tags, messages.write(entity))


def api_versions(version: int = 3) -> bytes:
    if version < 3:
        return request("ApiVersions", version)
    return request(
        "ApiVersions", version, client_software_name="test-client", client_software_version="1.0"
    )


def handshake(mechanism: str, version: int = 1) -> bytes:
    return request("SaslHandshake", version, mechanism=mechanism)


def authenticate(token: bytes, version: int = 2) -> bytes:
    return request("SaslAuthenticate", version, auth_bytes=token)


def frames(data: bytes) -> Iterator[bytes]:
    """The payloads of frames."""
    while data:
        size = int.from_bytes(data[:4], "big")
        assert len(data) >= 4 + size
        yield data[4 : 4 + size]
        data = data[4 + size :]


def answer(name: str, version: int, payload: bytes) -> Any:
    """The response in a frame."""
    header = response_header_version(api_key_of(f"{name}Request"), version)
    assert payload[:4] == (1).to_bytes(4, "big")
    body = payload[response_body_pos(payload, 0, len(payload), header) :]
    return messages.parse(f"{name}Response", version, body)


class EchoExchange:
    """An exchange with ``rounds`` challenges; the token ``bad`` fails, ``wait`` cannot be decided;
    the last token is the user."""

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        self.user = ""
        self.identity: Identity | None = None

    def work(self, token: bytes) -> Callable[[], None] | None:
        return None

    def step(self, token: bytes) -> bytes:
        self.user = token.decode(errors="replace")
        if token == b"bad":
            raise AuthenticationFailed("it was bad", "it is bad")
        if token == b"wait":
            raise CannotTell("not now")
        self._rounds -= 1
        if self._rounds:
            return b"more " + token
        self.identity = proved(self.user or "nameless", "ONE")
        return b"done"


class Accepts(Mechanisms):
    """A listener with the mechanisms ONE and TWO, named by their numbers of tokens."""

    names: tuple[str, ...] = ("ONE", "TWO")

    def __init__(self, lifetime_ms: int = 0) -> None:
        self.lifetime_ms = lifetime_ms

    def begin(self, mechanism: str) -> Exchange:
        return EchoExchange({"ONE": 1, "TWO": 2}[mechanism])

    def session(self, identity: Identity) -> Session:
        return Session(identity, self.lifetime_ms)


def login(
    accepts: Accepts | None = None, versions: Callable[[int], bytes] = lambda _: SERVED
) -> Login:
    return Login(accepts or Accepts(), versions, MAX_BYTES)


def taken(login: Login) -> bytes:
    """The bytes written to the client since the last call."""
    written = b"".join(login.to_client)
    login.to_client.clear()
    return written
