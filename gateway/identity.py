"""Who is on the other side of a connection, once that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Identity:
    """One authenticated principal.

    ``principal`` is ``User:alice``. ``mechanism`` says how it was proved: a SASL mechanism's
    name, ``TLS`` for a client certificate, empty where nothing was asked. ``expires`` is when it
    ends, in seconds since the epoch; None: with the connection. ``user`` is the name that a
    ``PLAIN`` or SCRAM credential has here: without that credential the identity is no more.
    """

    principal: str
    mechanism: str = ""
    expires: float | None = None
    user: str | None = None


ANONYMOUS: Final = Identity("User:ANONYMOUS")
"""Kafka's own name for a client that proved nothing (PLAINTEXT, SSL without a certificate)."""
