"""SASL PLAIN (RFC 4616): a user name and a password, which TLS has to hide.

Passwords stand in files or the environment. They are read at start; files are looked at again
now and then, so that one can be changed, or taken away, while the gateway runs.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gateway.auth.exchange import AuthenticationFailed, CredentialsError, principal_of
from gateway.config.security import Secret, SecretError
from gateway.identity import Identity

log = logging.getLogger(__name__)

MECHANISM: Final = "PLAIN"

_PARTS: Final = 3
"""authzid, authcid, passwd"""

_Stamp = tuple[int, int, int] | None
"""What a file looks like from outside (inode, size, time of change in ns); None: it is gone."""


class PlainUsers:
    """The users of one listener. Of passwords only keyed hashes are kept.

    ``key`` is where the users stand in the configuration, for error texts. A user whose secret
    cannot be read any more is none.
    """

    def __init__(self, users: Mapping[str, Secret], key: str) -> None:
        self._users = users
        self._key = key
        self._pepper = secrets.token_bytes(32)
        self._nobody = self._hash(secrets.token_hex())
        self._hashes: dict[str, bytes] = {}
        self._stamps: dict[str, _Stamp] = {}

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
        """Read the secrets whose files have changed; whether a user is gone by that."""
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
        """Whether it is the user's password; for unknown users the same is computed."""
        expected = self._hashes.get(user, self._nobody)
        return hmac.compare_digest(self._hash(password), expected)

    def _hash(self, password: str) -> bytes:
        return hashlib.blake2b(password.encode(errors="replace"), key=self._pepper).digest()

    def _stamp(self, user: str) -> _Stamp:
        file = self._users[user].file
        return None if file is None else _stamp_of(file)


class PlainExchange:
    """One client's exchange: a single token."""

    def __init__(self, users: PlainUsers) -> None:
        self._users = users
        self.user = ""
        self.identity: Identity | None = None

    def step(self, token: bytes) -> bytes:
        """See :class:`gateway.auth.exchange.Exchange`."""
        parts = token.split(b"\0")
        if len(parts) != _PARTS:
            raise AuthenticationFailed(f"PLAIN takes {_PARTS} parts, not {len(parts)} (RFC 4616)")
        try:
            asked_for, user, password = (part.decode() for part in parts)
        except UnicodeDecodeError:
            raise AuthenticationFailed("the token is not UTF-8") from None
        self.user = user
        if not user or not password:
            raise AuthenticationFailed(f"without a {'password' if user else 'user name'}")
        if not self._users.matches(user, password):
            known = user in self._users
            raise AuthenticationFailed("wrong password" if known else "there is no such user")
        if asked_for and asked_for != user:
            raise AuthenticationFailed("it asked to act for another user (authzid)")
        self.identity = Identity(principal_of(user), MECHANISM, user=user)
        return b""


def _stamp_of(path: Path) -> _Stamp:
    try:
        status = os.stat(path)  # noqa: PTH116 - every user's, every second
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
