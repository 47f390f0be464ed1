"""The authenticated identity of a client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_EVERYONE: Final = "*"
"""The name that stands for every principal of a type in ACLs."""


class InvalidPrincipal(ValueError):
    """No client may have this principal; the text says why."""


def check_principal(principal: str) -> None:
    """Raise InvalidPrincipal if a client must not have this principal: ``User:*`` stands for
    everyone in ACLs, and a principal with unprintable characters would look like another principal
    in logs, listings and commands.

    The rule applies to all sources: certificates, tokens, SASL, pass-through and other gateways.
    """
    kind, colon, name = principal.partition(":")
    if not (kind and colon and name):
        raise InvalidPrincipal(f"{principal!r} is no principal; write it like User:alice")
    if name == _EVERYONE:
        raise InvalidPrincipal(f"{principal!r} stands for everyone in ACLs, so it is nobody's name")
    if not principal.isprintable():
        raise InvalidPrincipal(f"{principal!r} has characters that cannot be printed")


@dataclass(frozen=True, slots=True)
class Identity:
    """An authenticated principal. Raises InvalidPrincipal (:func:`check_principal`).

    ``principal`` is ``User:alice``. ``mechanism`` is the SASL mechanism that proved it, ``TLS`` for
    a client certificate, or empty if the client proved nothing. ``expires`` is its end in seconds
    since the epoch, or None for the end of the connection. ``user`` is the name of the gateway's
    ``PLAIN`` or SCRAM credential; if that credential is removed, the identity ends.
    """

    principal: str
    mechanism: str = ""
    expires: float | None = None
    user: str | None = None

    def __post_init__(self) -> None:
        check_principal(self.principal)


ANONYMOUS: Final = Identity("User:ANONYMOUS")
"""Kafka's own name for a client that proved nothing (PLAINTEXT, SSL without a certificate)."""
