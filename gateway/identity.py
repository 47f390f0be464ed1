"""The authenticated identity of a client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_EVERYONE: Final = "*"
"""The name that ACLs read as every principal of a type."""


class InvalidPrincipal(ValueError):
    """No client may be this principal; the text says why."""


def check_principal(principal: str) -> None:
    """Raise InvalidPrincipal for what is not one client: ``User:*`` is everyone in ACLs,
    and what cannot be printed would look like another one in logs, listings and commands.

    The rule for all sources: certificates, tokens, SASL, pass-through and other gateways.
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
    """One authenticated principal. Raises InvalidPrincipal (:func:`check_principal`).

    ``principal`` is ``User:alice``. ``mechanism`` is the SASL mechanism that proved it, ``TLS`` for
    a client certificate, empty if nothing did. ``expires`` is its end in seconds since the epoch;
    None: with the connection. ``user`` is the name of the ``PLAIN`` or SCRAM credential here;
    without that credential the identity ends.
    """

    principal: str
    mechanism: str = ""
    expires: float | None = None
    user: str | None = None

    def __post_init__(self) -> None:
        check_principal(self.principal)


ANONYMOUS: Final = Identity("User:ANONYMOUS")
"""Kafka's own name for a client that proved nothing (PLAINTEXT, SSL without a certificate)."""
