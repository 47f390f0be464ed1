"""What one listener with SASL accepts: its mechanisms, their credentials, and for how long."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from gateway.auth import oauthbearer, plain, scram
from gateway.auth.exchange import Exchange
from gateway.auth.jwks import FileKeys, Keys
from gateway.auth.oauthbearer import TokenChecker
from gateway.auth.scram import Credentials, UnknownUsers
from gateway.config.security import ListenerSasl, OAuthBearer
from gateway.identity import Identity

USER_IS_GONE: Final = "user is gone"

URLS: Final = ("http://", "https://")
"""How a key set begins that is no file."""


class Session(NamedTuple):
    """A proved identity, and how long its session lasts from now, in ms as SaslAuthenticate
    tells it (KIP-368); 0: as long as its connection."""

    identity: Identity
    lifetime_ms: int


class Mechanisms:
    """``key`` is where the listener's ``sasl`` stands in the configuration, for error texts;
    ``credentials`` gives the catalog's SCRAM credentials as they are now; ``now`` is seconds
    since the epoch."""

    def __init__(
        self,
        sasl: ListenerSasl,
        key: str,
        credentials: Callable[[], Credentials],
        now: Callable[[], float] = time.time,
    ) -> None:
        self.names: tuple[str, ...] = sasl.mechanisms
        self._max_seconds = sasl.max_reauth_seconds
        self._credentials = credentials
        self._now = now
        self._unknown = UnknownUsers()
        self._users = plain.PlainUsers(sasl.users, f"{key}.users")
        self._keys: Keys | None = None
        self._tokens: TokenChecker | None = None
        if sasl.oauthbearer is not None and not sasl.pass_through:
            self._keys = _keys_of(sasl.oauthbearer, f"{key}.oauthbearer.jwks")
            self._tokens = TokenChecker(sasl.oauthbearer, self._keys, now)

    def load(self) -> None:
        """Read users and keys; keys at a URL come later. Needs a running event loop.

        Raises CredentialsError.
        """
        self._users.load()
        if self._keys is not None:
            self._keys.load()

    def look_again(self) -> bool:
        """Read what has changed of users and keys; whether a user is gone."""
        if self._keys is not None:
            self._keys.look_again()
        return self._users.look_again()

    async def stop(self) -> None:
        """End what runs in the background."""
        if self._keys is not None:
            await self._keys.stop()

    def begin(self, mechanism: str) -> Exchange:
        """The exchange of a client that has chosen one of ``names``."""
        if mechanism == plain.MECHANISM:
            return plain.PlainExchange(self._users)
        if mechanism in scram.MECHANISMS:
            return scram.ScramExchange(mechanism, self._credentials, self._unknown)
        assert mechanism == oauthbearer.MECHANISM
        assert self._tokens is not None, "the configuration's rules see to it"
        return oauthbearer.OAuthBearerExchange(self._tokens)

    def session(self, identity: Identity) -> Session:
        """The identity as of now: it ends with its token, or after ``max_reauth_seconds``."""
        now = self._now()
        ends = [] if identity.expires is None else [identity.expires]
        if self._max_seconds:
            ends.append(now + self._max_seconds)
        if not ends:
            return Session(identity, 0)
        expires = min(ends)
        lifetime = max(int((expires - now) * 1_000), 1)
        return Session(replace(identity, expires=expires), lifetime)

    def why_gone(self, identity: Identity) -> str | None:
        """Why an identity is no more, before its time is over; None: it still is."""
        if identity.user is None:
            return None
        if identity.mechanism == plain.MECHANISM:
            known = identity.user in self._users
        else:
            known = (identity.mechanism, identity.user) in self._credentials()
        return None if known else USER_IS_GONE


def _keys_of(settings: OAuthBearer, key: str) -> Keys:
    assert settings.jwks is not None, "the configuration's rules see to it"
    if settings.jwks.startswith(URLS):
        # Only then: an HTTP client is much to load for everyone else.
        from gateway.auth.jwks_url import UrlKeys

        return UrlKeys(settings.jwks, settings.refresh_seconds, key)
    return FileKeys(Path(settings.jwks), key)
