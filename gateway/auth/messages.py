"""SaslHandshake and SaslAuthenticate, as they are read and answered (KIP-43, KIP-152, KIP-368)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

from gateway.auth.exchange import AuthenticationFailed
from gateway.error_codes import ILLEGAL_SASL_STATE, SASL_AUTHENTICATION_FAILED
from gateway.rules.nested import make
from protocol import messages
from protocol.walkers import validator

HANDSHAKE: Final = "SaslHandshake"
AUTHENTICATE: Final = "SaslAuthenticate"


def request_body(name: str, version: int, body: bytes) -> bytes:
    """The body of a request without bytes after its end, which Kafka ignores. Raises
    ProtocolError."""
    return body[: validator(f"{name}Request", version)(body, 0, len(body), [])]


def parse(name: str, version: int, body: bytes) -> Any:
    """A request. Raises ProtocolError."""
    return messages.parse(f"{name}Request", version, request_body(name, version, body))


def handshake_answer(version: int, mechanisms: Sequence[str], error_code: int = 0) -> bytes:
    """The answer to SaslHandshake: the mechanisms that are enabled."""
    return _answer(HANDSHAKE, version, error_code=error_code, mechanisms=tuple(mechanisms))


def authenticate_answer(version: int, token: bytes, lifetime_ms: int) -> bytes:
    """The answer to a token: the next one, or the outcome; ``lifetime_ms`` is the session's."""
    lifetime = timedelta(milliseconds=lifetime_ms)
    return _answer(AUTHENTICATE, version, auth_bytes=token, session_lifetime=lifetime)


def authenticate_refusal(version: int, mechanism: str, failure: AuthenticationFailed) -> bytes:
    """The answer to a token that proves nothing. It does not tell which users there are."""
    told = failure.told or "the credentials are not valid"
    text = f"Authentication with {mechanism} failed: {told}."
    return _answer(AUTHENTICATE, version, error_code=SASL_AUTHENTICATION_FAILED, error_message=text)


def illegal_state(name: str, version: int, text: str) -> bytes:
    """The answer to what comes at the wrong time."""
    return _answer(name, version, error_code=ILLEGAL_SASL_STATE, error_message=text)


def _answer(name: str, version: int, **values: object) -> bytes:
    return messages.write(make(messages.message_class(f"{name}Response", version), values))
