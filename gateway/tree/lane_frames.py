"""Kafka requests and responses as frames without their size, sent on a client's behalf."""

from __future__ import annotations

from typing import Final

from protocol.errors import ProtocolError
from protocol.headers import (
    request_header_version,
    response_body_pos,
    response_header_version,
)
from protocol.primitives import legacy_string

_CORRELATION_ID: Final = bytes(4)
"""The correlation id of every request: any id will do for a single request under way."""

_NULL: Final = b"\xff\xff"
"""The length of a string that is null."""


def request_payload(api_key: int, version: int, client_id: bytes | None, body: bytes) -> bytes:
    """The header and body of a request, with correlation id 0 and the client id as the client sent
    it."""
    start = (api_key << 16 | version).to_bytes(4, "big") + _CORRELATION_ID
    tagged_fields = b"\x00" if request_header_version(api_key, version) >= 2 else b""
    return b"".join(
        (start, _NULL if client_id is None else legacy_string(client_id), tagged_fields, body)
    )


def response_payload(api_key: int, version: int, correlation_id: bytes, body: bytes) -> bytes:
    """The header and body of a response; ``correlation_id`` is 4 bytes."""
    tagged_fields = b"\x00" if response_header_version(api_key, version) >= 1 else b""
    return correlation_id + tagged_fields + body


def response_body(api_key: int, version: int, payload: bytes) -> bytes:
    """The body of the response to a :func:`request_payload`. Raises ProtocolError."""
    if payload[:4] != _CORRELATION_ID:
        raise ProtocolError("a response has another correlation id than its request")
    header_version = response_header_version(api_key, version)
    return payload[response_body_pos(payload, 0, len(payload), header_version) :]
