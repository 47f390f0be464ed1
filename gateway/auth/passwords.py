"""Logins with a password: SASL PLAIN (RFC 4616) and SCRAM (RFC 5802, RFC 7677).

PLAIN's passwords are in files or the environment and are read at start. Files are read again when
they change, so a password can be changed, or removed, while the gateway runs.

SCRAM's credentials are in the catalog. scramp does the messages and the arithmetic. Kafka's rules
are applied here: names are taken as sent, not prepared (RFC 4013), and delegation tokens
(``tokenauth``, KIP-48) are rejected. An unknown user fails at the same step as a wrong password, so
clients cannot find out users by trying.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from gateway.auth.exchange import (
    AuthenticationFailed,
    CredentialsError,
    FileStamp,
    check_authzid,
    check_size,
    file_stamp,
    proved,
    sasl_name,
    utf8,
)
from gateway.auth.unknown_users import Credentials, UnknownUsers
from gateway.config.connecting import SecretError
from gateway.config.security import Secret
from gateway.identity import Identity

if TYPE_CHECKING:
    from scramp import ScramException

log = logging.getLogger(__name__)

PLAIN: Final = "PLAIN"
SCRAM: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")

MAX_MESSAGE: Final = 2 * 1024
"""Bytes of a SCRAM message. scramp prepares its name (RFC 4013), 2 us a character, although the
prepared name is not used (:meth:`ScramExchange._look_up`)."""

_PARTS: Final = 3
"""authzid, authcid, passwd"""
_TOKENS: Final = "delegation tokens are not served"
_SHOWN: Final = 200


class PlainUsers:
    """The users of one listener, with keyed hashes of their passwords.

    ``key``: the configuration key of the users, for error texts. A user whose secret cannot be read
    any more cannot log in.
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
        """Read every secret. Raises CredentialsError with the keys of the secrets that cannot be
        read."""
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
        """Read the secrets whose files have changed; True if a user was removed by that."""
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

    def work(self, token: bytes) -> None:
        """Nothing: a keyed hash takes microseconds."""

    def step(self, token: bytes) -> bytes:
        check_size(token)
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
        self.identity = proved(user, PLAIN, here=True)
        return b""


class ScramExchange:
    """One client's exchange: two tokens. ``nonce``: for tests; by default it is random."""

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
        # Imported by the first login, because it is large and most listeners do not need it.
        from scramp import ScramMechanism

        # scramp does not know that it is typed.
        self._server: Any = ScramMechanism(mechanism).make_server(self._look_up, s_nonce=nonce)

    def work(self, token: bytes) -> None:
        """Nothing: the server's side is a few HMACs, and the iterations are the client's."""

    def step(self, token: bytes) -> bytes:
        from scramp import ScramException

        check_size(token, MAX_MESSAGE)
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
        self.identity = proved(self.user, self._mechanism, here=True)
        return outcome

    def _look_up(self, _prepared: str) -> tuple[bytes, bytes, bytes, int]:
        """The credential by which scramp checks the proof: the user's, by the name as it was sent,
        or one that is made up for an unknown user, so that nobody can find out users."""
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
