"""gateway.brokers.messages: requests of the gateway's own, and their responses."""

from __future__ import annotations

import pytest

from gateway.brokers.messages import (
    broker_addresses,
    is_address,
    request_frame,
    response_body,
    response_entity,
)
from protocol import messages
from protocol.errors import ProtocolError
from protocol.headers import read_request_header, response_header, response_header_version
from protocol.messages import element_class, make


@pytest.mark.parametrize("version", [1, 2])  # version 2 has flexible headers
def test_a_request(version: int) -> None:
    message = messages.message_class("SaslAuthenticateRequest", version)
    frame = request_frame(
        "SaslAuthenticateRequest", version, 9, messages.build(message, auth_bytes=b"token")
    )
    assert int.from_bytes(frame[:4], "big") == len(frame) - 4
    header = read_request_header(frame, 4, len(frame))
    assert header[:4] == (36, version, 9, b"kafka-namespace-gateway")
    request = messages.parse("SaslAuthenticateRequest", version, frame[header[4] :])
    assert request.auth_bytes == b"token"


@pytest.mark.parametrize("version", [1, 2])
def test_a_response(version: int) -> None:
    message = messages.message_class("SaslAuthenticateResponse", version)
    body = messages.write(messages.build(message, auth_bytes=b"challenge"))
    payload = response_header(9, response_header_version(36, version)) + body
    found = response_body("SaslAuthenticateRequest", version, 9, payload)
    assert found == body
    assert response_entity("SaslAuthenticateRequest", version, found).auth_bytes == b"challenge"


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", "it has 0 bytes"),
        (b"\0\0\0", "it has 3 bytes"),
        (b"\0\0\0\x08\0", "it has correlation id 8, not 9"),
        (b"\0\0\0\x09", "."),
    ],
)
def test_no_response_to_it(payload: bytes, reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        response_body("SaslAuthenticateRequest", 2, 9, payload)


@pytest.mark.parametrize(
    ("host", "port", "can_be"),
    [("b", 1, True), ("::1", 65_535, True), ("", 9092, False), ("b", 0, False), ("b", -1, False)],
)
def test_what_can_be_an_address(host: str, port: int, can_be: bool) -> None:
    assert is_address(host, port) is can_be
    cls = messages.message_class("MetadataResponse", 12)
    broker = make(element_class(cls, "brokers"), {"node_id": 7, "host": host, "port": port})
    found = broker_addresses(make(cls, {"brokers": (broker,)}))
    assert found == ({7: (host, port)} if can_be else {})
