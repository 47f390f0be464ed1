"""The authenticated identity of a client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Identity:
    """One authenticated principal.

    ``principal`` is ``User:alice``. ``mechanism`` is the SASL mechanism that proved it, ``TLS`` for
    a client certificate, empty if nothing did. ``expires`` is its end in seconds since the epoch;
    None: with the connection. ``user`` is the name of the ``PLAIN`` or SCRAM credential here;
    without that credential the identity ends.
    """

    principal: str
    mechanism: str = ""
    expires: float | None = None
    user: str | None = None


ANONYMOUS: Final = Identity("User:ANONYMOUS")
"""Kafka's own name for a client that proved nothing (PLAINTEXT, SSL without a certificate)."""
