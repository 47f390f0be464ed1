"""The messages that carry the tokens of SASL mechanisms (KIP-152)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from gateway.auth.exchange import AuthenticationFailed
from gateway.error_codes import ILLEGAL_SASL_STATE, SASL_AUTHENTICATION_FAILED
from protocol import messages
from protocol.messages import make
from protocol.text import readable

HANDSHAKE: Final = "SaslHandshake"
AUTHENTICATE: Final = "SaslAuthenticate"


def request_body(name: str, version: int, body: bytes) -> bytes:
    """A request's body as a broker reads it: without bytes after its end, and with valid UTF-8.
    Raises ProtocolError."""
    return readable(f"{name}Request", version, body)


def parse(name: str, version: int, body: bytes) -> Any:
    """Parse a request. Raises ProtocolError."""
    return messages.parse(f"{name}Request", version, request_body(name, version, body))


def handshake_answer(version: int, mechanisms: Sequence[str], error_code: int = 0) -> bytes:
    """The response to SaslHandshake, with the mechanisms that are enabled."""
    return _answer(HANDSHAKE, version, error_code=error_code, mechanisms=tuple(mechanisms))


def authenticate_answer(version: int, token: bytes, lifetime_ms: int) -> bytes:
    """The response to a token: a challenge, or the outcome. ``lifetime_ms``: the session's."""
    lifetime = timedelta(milliseconds=lifetime_ms)
    return _answer(AUTHENTICATE, version, auth_bytes=token, session_lifetime=lifetime)


def authenticate_rejection(version: int, mechanism: str, failure: AuthenticationFailed) -> bytes:
    """The error response to a token. It does not reveal which users exist."""
    message = failure.message or "the credentials are not valid"
    text = f"Authentication with {mechanism} failed: {message}."
    return _answer(AUTHENTICATE, version, error_code=SASL_AUTHENTICATION_FAILED, error_message=text)


def illegal_state(name: str, version: int, text: str) -> bytes:
    """The response to a request at the wrong time."""
    return _answer(name, version, error_code=ILLEGAL_SASL_STATE, error_message=text)


def _answer(name: str, version: int, **values: object) -> bytes:
    return messages.write(make(messages.message_class(f"{name}Response", version), values))
