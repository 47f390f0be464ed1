"""The interface of SASL mechanisms, and the failures of logins."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from gateway.identity import Identity, InvalidPrincipal, check_principal


class AuthenticationFailed(Exception):
    """The client did not prove its identity.

    ``reason`` is for the log and the audit log. ``message`` is for the client, and is empty if it
    would reveal which users exist.
    """

    def __init__(self, reason: str, message: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.message = message


class CannotTell(Exception):
    """Tokens cannot be checked now, because there are no keys. The connection is closed without a
    response, so the client retries; an error would be final for it."""


class CredentialsError(Exception):
    """Passwords or keys cannot be read; the text has the configuration key and the file."""


class Exchange(Protocol):
    """The server's side of one client's exchange (RFC 4422). Sans-IO. Each mechanism has its own
    class: ``PlainExchange``, ``ScramExchange``, ``OAuthBearerExchange``.

    ``user`` is the name that the client has claimed so far. ``identity`` is set once it is proved;
    then the exchange has no further step.
    """

    user: str
    identity: Identity | None

    def work(self, token: bytes) -> Callable[[], None] | None:
        """The part of a step with this token that takes milliseconds, to be run in a thread before
        the step; None if there is no such part. Neither this nor the part raises, whatever the
        token."""
        ...

    def step(self, token: bytes) -> bytes:
        """The challenge, or outcome, for a client's token. Raises AuthenticationFailed or
        CannotTell, and no other error, whatever the token."""
        ...


def is_name(user: str) -> bool:
    """Whether a user may have this name (:func:`gateway.identity.check_principal`)."""
    try:
        check_principal(principal_of(user))
    except InvalidPrincipal:
        return False
    return True


def proved(
    user: str, mechanism: str, expires: float | None = None, *, here: bool = False
) -> Identity:
    """The identity that a SASL mechanism has proved, until ``expires`` (seconds since the epoch).
    ``here``: proved by a credential of this gateway. Raises AuthenticationFailed."""
    try:
        return Identity(principal_of(user), mechanism, expires, user if here else None)
    except InvalidPrincipal as error:
        raise AuthenticationFailed(str(error)) from None


def principal_of(user: str) -> str:
    """The principal of a SASL user name (KafkaPrincipal)."""
    return f"User:{user}"


MAX_TOKEN: Final = 64 * 1024
"""Bytes of the longest token that is parsed; passwords may be tokens of identity providers."""


def check_size(token: bytes, most: int = MAX_TOKEN) -> None:
    """Reject a token before a library parses it, so an unauthenticated client costs no more than a
    message of that length. Raises AuthenticationFailed."""
    if len(token) > most:
        raise AuthenticationFailed(f"a token of {len(token)} bytes, of at most {most}")


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
    """Raise AuthenticationFailed if the client wants to act for another user."""
    if authzid and authzid != user:
        raise AuthenticationFailed("it asked to act for another user (authzid)")


FileStamp: TypeAlias = tuple[int, int, int]
"""Inode, size and time of change (ns) of a file."""


def file_stamp(path: Path) -> FileStamp | None:
    """The stamp of a file, which differs after a change; None if the file cannot be read."""
    try:
        status = os.stat(path)  # noqa: PTH116 - every user's, every second
    except (OSError, ValueError):
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
