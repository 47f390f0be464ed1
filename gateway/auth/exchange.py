"""What every SASL mechanism is to a login: tokens of a client that end in an identity, or not."""

from __future__ import annotations

from typing import Protocol

from gateway.acl_model import ANY_USER
from gateway.identity import Identity


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
