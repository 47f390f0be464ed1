"""SCRAM credentials of users that do not exist, so that a first message tells nobody who does.

A server shows a user's salt and iterations to whoever names the user (RFC 5802, section 9). For
an unknown name it has to show something that looks the same, and the same each time, from every
worker and gateway: it is derived from the credential that comes next in the order of hashes.
Whether a salt is a word (Kafka's tools make such) or bytes, how long it is and how many
iterations there are is therefore as common among unknown users as among known ones.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from bisect import bisect
from collections.abc import Mapping
from typing import Final

from gateway.catalog.entities import ScramCredential

DEFAULT_ITERATIONS: Final = 4_096
_WORD: Final = b"0123456789abcdefghijklmnopqrstuvwxyz"
_KEY_SIZES: Final = {"SCRAM-SHA-256": 32, "SCRAM-SHA-512": 64}
_SALT_SIZE: Final = 26

Credentials = Mapping[tuple[str, str], ScramCredential]
"""The catalog's, by mechanism and user."""


class UnknownUsers:
    """Makes those credentials. What it works out of the catalog's is kept until those change."""

    def __init__(self) -> None:
        self._credentials: Credentials = {}
        self._rings: dict[str, list[tuple[bytes, ScramCredential]]] = {}
        self._alone = secrets.token_bytes(32)

    def credential(self, known: Credentials, mechanism: str, user: str) -> ScramCredential:
        """What is shown for a user that is not among the ``known``; no proof fits its keys."""
        size = _KEY_SIZES[mechanism]
        like = self._next(known, mechanism, _place(mechanism, user))
        if like is None:  # there is nobody to be told from
            key, iterations, length, alphabet = self._alone, DEFAULT_ITERATIONS, _SALT_SIZE, _WORD
        else:
            key, iterations, length = like.server_key, like.iterations, len(like.salt)
            alphabet = _WORD if like.salt.isalnum() else b""
        salt = hashlib.shake_256(hmac.digest(key, _place(mechanism, user), "sha256")).digest(length)
        if alphabet:
            salt = bytes(alphabet[byte % len(alphabet)] for byte in salt)
        return ScramCredential(
            user, mechanism, iterations, salt, secrets.token_bytes(size), secrets.token_bytes(size)
        )

    def _next(self, known: Credentials, mechanism: str, place: bytes) -> ScramCredential | None:
        if known is not self._credentials:
            self._credentials, self._rings = known, {}
        ring = self._rings.get(mechanism)
        if ring is None:
            ring = self._rings[mechanism] = sorted(
                (
                    (_place(mechanism, user), credential)
                    for (kind, user), credential in known.items()
                    if kind == mechanism
                ),
                key=lambda entry: entry[0],
            )
        if not ring:
            return None
        return ring[bisect(ring, place, key=lambda entry: entry[0]) % len(ring)][1]


def _place(mechanism: str, user: str) -> bytes:
    return hashlib.sha256(f"{mechanism}/{user}".encode(errors="replace")).digest()
