"""SASL SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), with credentials of the catalog.

scramp knows the messages and the arithmetic. What is Kafka's stands here: names are taken as they
are sent, not prepared (RFC 4013), delegation tokens (``tokenauth``, KIP-48) are refused, and so
that users cannot be found out by trying, an unknown one fails where a wrong password does.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from bisect import bisect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from gateway.auth.exchange import AuthenticationFailed, principal_of
from gateway.catalog.entities import ScramCredential
from gateway.identity import Identity

if TYPE_CHECKING:
    from scramp import ScramException

MECHANISMS: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")

_TOKENS: Final = "delegation tokens are not served"
_SHOWN: Final = 200


class ScramExchange:
    """One client's exchange: two tokens. ``nonce`` is for tests; else it is random."""

    def __init__(
        self,
        mechanism: str,
        credentials: Callable[[], Credentials],
        unknown: UnknownUsers,
        nonce: str | None = None,
    ) -> None:
        self.user = ""
        self.identity: Identity | None = None
        self._mechanism = mechanism
        self._credentials = credentials
        self._unknown = unknown
        self._known = False
        self._begun = False
        # Loaded by the first login, as it is much for those who have none.
        from scramp import ScramMechanism

        # scramp does not know that it is typed.
        self._server: Any = ScramMechanism(mechanism).make_server(self._look_up, s_nonce=nonce)

    def step(self, token: bytes) -> bytes:
        """See :class:`gateway.auth.exchange.Exchange`."""
        from scramp import ScramException

        try:
            text = token.decode()
        except UnicodeDecodeError:
            raise AuthenticationFailed("the token is not UTF-8") from None
        try:
            if not self._begun:
                return self._first(text)
            return self._last(text)
        except ScramException as error:
            raise AuthenticationFailed(self._reason(error)) from None

    def _first(self, text: str) -> bytes:
        self._begun = True
        _, _, bare = text.partition(",")[2].partition(",")
        self.user = _user_name(bare)
        if ",tokenauth=" in bare:
            raise AuthenticationFailed(_TOKENS, _TOKENS)
        self._server.set_client_first(text)
        return str(self._server.get_server_first()).encode()

    def _last(self, text: str) -> bytes:
        self._server.set_client_final(text)
        outcome = str(self._server.get_server_final()).encode()
        if not self._known:
            raise AuthenticationFailed("there is no such user")
        self.identity = Identity(principal_of(self.user), self._mechanism, user=self.user)
        return outcome

    def _look_up(self, _prepared: str) -> tuple[bytes, bytes, bytes, int]:
        credentials = self._credentials()
        found = credentials.get((self._mechanism, self.user))
        self._known = found is not None
        if found is None:
            found = self._unknown.credential(credentials, self._mechanism, self.user)
        return found.salt, found.stored_key, found.server_key, found.iterations

    def _reason(self, error: ScramException) -> str:
        if error.server_error is not None and error.server_error.value == "invalid-proof":
            return "wrong password" if self._known else "there is no such user"
        return str(error.args[0])[:_SHOWN]


def _user_name(bare: str) -> str:
    """The name of a first message, as RFC 5802 writes it: ``=2C`` is a comma, ``=3D`` itself."""
    attribute = bare.partition(",")[0]
    if not attribute.startswith("n="):
        return ""
    return attribute[2:].replace("=2C", ",").replace("=3D", "=")


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
