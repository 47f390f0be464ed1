"""What every SASL mechanism is to a login: tokens of a client that end in an identity, or not."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final, Protocol

from gateway.acl_model import ANY_USER
from gateway.error_codes import ILLEGAL_SASL_STATE, SASL_AUTHENTICATION_FAILED
from gateway.identity import Identity
from protocol import messages
from protocol.messages import make
from protocol.walkers import validator


class AuthenticationFailed(Exception):
    """The client did not prove who it is.

    ``reason`` is for the log and the audit. ``told`` is what the client is told of it; nothing
    where that would say which users there are.
    """

    def __init__(self, reason: str, told: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.told = told


class CannotTell(Exception):
    """Nothing can be said for now (there are no keys to check with): the connection ends without
    an answer, so that the client, which takes a refusal to be final, comes back."""


class CredentialsError(Exception):
    """What logins are checked with cannot be read; the text has the key and the file."""


class Exchange(Protocol):
    """One client's exchange, the server's side of it (RFC 4422). Sans-IO.

    ``user`` is who the client claims to be, as soon as it has; ``identity`` is set once that is
    proved, and then there is no further step.
    """

    user: str
    identity: Identity | None

    def step(self, token: bytes) -> bytes:
        """The challenge, or outcome, that answers a client's token.

        Raises AuthenticationFailed or CannotTell, and nothing else whatever the token holds.
        """
        ...


def is_name(user: str) -> bool:
    """Whether a user whom somebody else has named may be called so: ``User:*`` is everyone in ACLs,
    and what cannot be printed would not be seen in logs."""
    return principal_of(user) != ANY_USER and user.isprintable()


def principal_of(user: str) -> str:
    """The principal that a user name of SASL stands for (KafkaPrincipal)."""
    return f"User:{user}"


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
