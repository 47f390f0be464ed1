"""Logins with a password: SASL PLAIN (RFC 4616) and SCRAM (RFC 5802, RFC 7677).

PLAIN's passwords stand in files or the environment and are read at start; files are read again when
they change, so that a password can be changed, or removed, while the gateway runs.

SCRAM's credentials are the catalog's. scramp does the messages and the arithmetic; Kafka's rules
are applied here: names are taken as they are sent, not prepared (RFC 4013), and delegation tokens
(``tokenauth``, KIP-48) are rejected. An unknown user fails where a wrong password does, so that
users cannot be found out by trying.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from bisect import bisect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from gateway.auth.exchange import (
    AuthenticationFailed,
    CredentialsError,
    FileStamp,
    check_authzid,
    file_stamp,
    principal_of,
    sasl_name,
    utf8,
)
from gateway.catalog.entities import ScramCredential
from gateway.config.connecting import SecretError
from gateway.config.security import Secret
from gateway.identity import Identity

if TYPE_CHECKING:
    from scramp import ScramException

log = logging.getLogger(__name__)

PLAIN: Final = "PLAIN"
SCRAM: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")

DEFAULT_ITERATIONS: Final = 4_096
_WORD: Final = b"0123456789abcdefghijklmnopqrstuvwxyz"
_KEY_SIZES: Final = {"SCRAM-SHA-256": 32, "SCRAM-SHA-512": 64}
_SALT_SIZE: Final = 26

_PARTS: Final = 3
"""authzid, authcid, passwd"""
_TOKENS: Final = "delegation tokens are not served"
_SHOWN: Final = 200

Credentials = Mapping[tuple[str, str], ScramCredential]
"""The catalog's credentials, by mechanism and user."""


class PlainUsers:
    """The users of one listener, with keyed hashes of their passwords.

    ``key`` is where the users stand in the configuration, for error texts. A user whose secret
    cannot be read any more cannot log in.
    """

    def __init__(self, users: Mapping[str, Secret], key: str) -> None:
        self._users = users
        self._key = key
        self._pepper = secrets.token_bytes(32)
        self._unknown = self._hash(secrets.token_hex())
        self._hashes: dict[str, bytes] = {}
        self._stamps: dict[str, FileStamp | None] = {}

    def __contains__(self, user: str) -> bool:
        return user in self._hashes

    def __repr__(self) -> str:
        return f"PlainUsers({len(self._users)} at {self._key})"

    def load(self) -> None:
        """Read every secret. Raises CredentialsError with the keys of those that cannot be."""
        wrong = []
        for user in self._users:
            self._stamps[user] = self._stamp(user)
            try:
                self._hashes[user] = self._hash(self._users[user].read())
            except SecretError as error:
                wrong.append(f"{self._key}.{user}: {error}")
        if wrong:
            raise CredentialsError("\n".join(wrong))

    def look_again(self) -> bool:
        """Read the secrets whose files have changed; True if a user is gone by that."""
        gone = False
        for user, secret in self._users.items():
            stamp = self._stamp(user)
            if stamp == self._stamps.get(user):
                continue
            self._stamps[user] = stamp
            try:
                self._hashes[user] = self._hash(secret.read())
            except SecretError as error:
                gone |= self._hashes.pop(user, None) is not None
                log.warning("%s.%s: %s; nobody logs in as this user", self._key, user, error)
            else:
                log.info("%s.%s has been read again", self._key, user)
        return gone

    def matches(self, user: str, password: str) -> bool:
        """Whether the password is the user's; unknown users take the same time."""
        expected = self._hashes.get(user, self._unknown)
        return hmac.compare_digest(self._hash(password), expected)

    def _hash(self, password: str) -> bytes:
        return hashlib.blake2b(password.encode(errors="replace"), key=self._pepper).digest()

    def _stamp(self, user: str) -> FileStamp | None:
        file = self._users[user].file
        return None if file is None else file_stamp(file)


class PlainExchange:
    """One client's exchange: a single token."""

    def __init__(self, users: PlainUsers) -> None:
        self._users = users
        self.user = ""
        self.identity: Identity | None = None

    def step(self, token: bytes) -> bytes:
        parts = token.split(b"\0")
        if len(parts) != _PARTS:
            raise AuthenticationFailed(f"PLAIN takes {_PARTS} parts, not {len(parts)} (RFC 4616)")
        authzid, user, password = map(utf8, parts)
        self.user = user
        if not user or not password:
            raise AuthenticationFailed(f"without a {'password' if user else 'user name'}")
        if not self._users.matches(user, password):
            known = user in self._users
            raise AuthenticationFailed("wrong password" if known else "there is no such user")
        check_authzid(authzid, user)
        self.identity = Identity(principal_of(user), PLAIN, user=user)
        return b""


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
        # Imported by the first login: it is large, and most listeners do not need it.
        from scramp import ScramMechanism

        # scramp does not know that it is typed.
        self._server: Any = ScramMechanism(mechanism).make_server(self._look_up, s_nonce=nonce)

    def step(self, token: bytes) -> bytes:
        from scramp import ScramException

        text = utf8(token)
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
    """The user name of a client's first message (RFC 5802)."""
    attribute = bare.partition(",")[0]
    if not attribute.startswith("n="):
        return ""
    return sasl_name(attribute[2:])


class UnknownUsers:
    """Makes up credentials for unknown users that look like those of the catalog."""

    def __init__(self) -> None:
        self._credentials: Credentials = {}
        self._rings: dict[str, list[tuple[bytes, ScramCredential]]] = {}
        self._secret = secrets.token_bytes(32)

    def credential(self, known: Credentials, mechanism: str, user: str) -> ScramCredential:
        """The credential of a user that is not among the ``known``; no proof fits its keys."""
        size = _KEY_SIZES[mechanism]
        like = self._next(known, mechanism, _place(mechanism, user))
        if like is None:  # there is no credential to look like
            key, iterations, length, alphabet = self._secret, DEFAULT_ITERATIONS, _SALT_SIZE, _WORD
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
