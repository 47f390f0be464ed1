"""SaslHandshake and SaslAuthenticate: every version, and texts that reveal nothing of users."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gateway.auth.exchange import AuthenticationFailed
from gateway.auth.messages import (
    AUTHENTICATE,
    HANDSHAKE,
    authenticate_answer,
    authenticate_rejection,
    handshake_answer,
    illegal_state,
    parse,
)
from protocol import messages
from protocol.errors import ProtocolError


@pytest.mark.parametrize("version", range(2))
def test_handshakes(version: int) -> None:
    body = messages.write(
        messages.build(messages.message_class("SaslHandshakeRequest", version), mechanism="PLAIN")
    )
    assert parse(HANDSHAKE, version, body).mechanism == "PLAIN"
    assert parse(HANDSHAKE, version, body + b"more").mechanism == "PLAIN"  # as Kafka does
    with pytest.raises(ProtocolError):
        parse(HANDSHAKE, version, body[:-1])
    told = messages.parse("SaslHandshakeResponse", version, handshake_answer(version, ["A"], 33))
    assert (int(told.error_code), told.mechanisms) == (33, ("A",))


@pytest.mark.parametrize("version", range(3))
def test_tokens(version: int) -> None:
    body = messages.write(
        messages.build(
            messages.message_class("SaslAuthenticateRequest", version), auth_bytes=b"token"
        )
    )
    assert parse(AUTHENTICATE, version, body).auth_bytes == b"token"
    told = messages.parse(
        "SaslAuthenticateResponse", version, authenticate_answer(version, b"next", 1_500)
    )
    assert (int(told.error_code), told.auth_bytes) == (0, b"next")
    if version:
        assert told.session_lifetime == timedelta(seconds=1.5)


@pytest.mark.parametrize("version", range(3))
def test_rejections(version: int) -> None:
    for failure, text in (
        (
            AuthenticationFailed("there is no such user"),
            "Authentication with PLAIN failed: the credentials are not valid.",
        ),
        (
            AuthenticationFailed("expired", "the token has expired"),
            "Authentication with PLAIN failed: the token has expired.",
        ),
    ):
        body = authenticate_rejection(version, "PLAIN", failure)
        told = messages.parse("SaslAuthenticateResponse", version, body)
        assert (int(told.error_code), told.error_message) == (58, text)


def test_what_comes_at_the_wrong_time() -> None:
    told = messages.parse("SaslAuthenticateResponse", 2, illegal_state(AUTHENTICATE, 2, "Not now."))
    assert (int(told.error_code), told.error_message) == (34, "Not now.")
