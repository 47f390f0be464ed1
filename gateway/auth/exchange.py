"""The interface of SASL mechanisms, and the messages that carry their tokens (KIP-152)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

from gateway.acl_model import ANY_USER
from gateway.error_codes import ILLEGAL_SASL_STATE, SASL_AUTHENTICATION_FAILED
from gateway.identity import Identity
from protocol import messages
from protocol.messages import make
from protocol.walkers import validator


class AuthenticationFailed(Exception):
    """The client did not prove its identity.

    ``reason`` is for the log and the audit. ``message`` is for the client; empty where it would
    reveal which users there are.
    """

    def __init__(self, reason: str, message: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.message = message


class CannotTell(Exception):
    """Tokens cannot be checked for now, as there are no keys: the connection ends without a
    response, so that the client, which takes an error to be final, tries again."""


class CredentialsError(Exception):
    """Passwords or keys cannot be read; the text has the key and the file."""


class Exchange(Protocol):
    """One client's exchange, the server's side of it (RFC 4422). Sans-IO.

    ``user`` is the name that the client has claimed so far; ``identity`` is set once it is proved,
    and then there is no further step.
    """

    user: str
    identity: Identity | None

    def step(self, token: bytes) -> bytes:
        """The challenge, or outcome, for a client's token. Raises AuthenticationFailed or
        CannotTell, and nothing else, for any token."""
        ...


def is_name(user: str) -> bool:
    """Whether a name from outside may be a user's: ``User:*`` is everyone in ACLs, and logs would
    not show characters that cannot be printed."""
    return principal_of(user) != ANY_USER and user.isprintable()


def principal_of(user: str) -> str:
    """The principal that a user name of SASL stands for (KafkaPrincipal)."""
    return f"User:{user}"


def utf8(data: bytes) -> str:
    """The text of a part of a token. Raises AuthenticationFailed."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise AuthenticationFailed("the token is not UTF-8") from None


def sasl_name(escaped: str) -> str:
    """A name as RFC 5802 and RFC 7628 write it: ``=2C`` is a comma, ``=3D`` an equals sign."""
    return escaped.replace("=2C", ",").replace("=3D", "=")


def check_authzid(authzid: str, user: str) -> None:
    """Raises AuthenticationFailed for a client that wants to act for another user."""
    if authzid and authzid != user:
        raise AuthenticationFailed("it asked to act for another user (authzid)")


FileStamp: TypeAlias = tuple[int, int, int]
"""Inode, size and time of change (ns) of a file."""


def file_stamp(path: Path) -> FileStamp | None:
    """The stamp of a file, by which its changes are noticed; None: it cannot be read."""
    try:
        status = os.stat(path)  # noqa: PTH116 - every user's, every second
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


HANDSHAKE: Final = "SaslHandshake"
AUTHENTICATE: Final = "SaslAuthenticate"


def request_body(name: str, version: int, body: bytes) -> bytes:
    """A request's body without bytes after its end, which Kafka ignores. Raises ProtocolError."""
    return body[: validator(f"{name}Request", version)(body, 0, len(body), [])]


def parse(name: str, version: int, body: bytes) -> Any:
    """Parse a request. Raises ProtocolError."""
    return messages.parse(f"{name}Request", version, request_body(name, version, body))


def handshake_answer(version: int, mechanisms: Sequence[str], error_code: int = 0) -> bytes:
    """The response to SaslHandshake, with the mechanisms that are enabled."""
    return _answer(HANDSHAKE, version, error_code=error_code, mechanisms=tuple(mechanisms))


def authenticate_answer(version: int, token: bytes, lifetime_ms: int) -> bytes:
    """The response to a token: a challenge, or the outcome; ``lifetime_ms`` is the session's."""
    lifetime = timedelta(milliseconds=lifetime_ms)
    return _answer(AUTHENTICATE, version, auth_bytes=token, session_lifetime=lifetime)


def authenticate_rejection(version: int, mechanism: str, failure: AuthenticationFailed) -> bytes:
    """The error response to a token. It does not reveal which users there are."""
    message = failure.message or "the credentials are not valid"
    text = f"Authentication with {mechanism} failed: {message}."
    return _answer(AUTHENTICATE, version, error_code=SASL_AUTHENTICATION_FAILED, error_message=text)


def illegal_state(name: str, version: int, text: str) -> bytes:
    """The response to a request at the wrong time."""
    return _answer(name, version, error_code=ILLEGAL_SASL_STATE, error_message=text)


def _answer(name: str, version: int, **values: object) -> bytes:
    return messages.write(make(messages.message_class(f"{name}Response", version), values))
