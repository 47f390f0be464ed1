"""The SASL mechanisms of one listener, their credentials, and the lifetime of sessions."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from gateway.auth.exchange import Exchange
from gateway.auth.jwks import URLS, FileKeys, Keys
from gateway.auth.oauthbearer import OAUTHBEARER, OAuthBearerExchange, TokenChecker
from gateway.auth.passwords import (
    PLAIN,
    SCRAM,
    PlainExchange,
    PlainUsers,
    ScramExchange,
)
from gateway.auth.unknown_users import Credentials, UnknownUsers
from gateway.config.security import ListenerSasl, OAuthBearer
from gateway.identity import Identity

USER_IS_GONE: Final = "user is gone"


class Session(NamedTuple):
    """A proved identity, and the lifetime of its session."""

    identity: Identity
    lifetime_ms: int
    """Milliseconds from now, as in SaslAuthenticate (KIP-368); 0: as long as its connection."""


class Mechanisms:
    """Authenticates the clients of one listener.

    ``key``: the configuration key of its ``sasl``, for error texts. ``credentials`` returns the
    catalog's present SCRAM credentials. ``now`` returns seconds since the epoch.
    """

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
        self._users = PlainUsers(sasl.users, f"{key}.users")
        self._keys: Keys | None = None
        self._tokens: TokenChecker | None = None
        if sasl.oauthbearer is not None and not sasl.pass_through:
            self._keys = _keys_of(sasl.oauthbearer, f"{key}.oauthbearer.jwks")
            self._tokens = TokenChecker(sasl.oauthbearer, self._keys, now)

    def load(self) -> None:
        """Read users and keys; keys at a URL are fetched later. Needs a running event loop. Raises
        CredentialsError."""
        self._users.load()
        if self._keys is not None:
            self._keys.load()

    def prepare(self) -> None:
        """Do the work for which the first logins would wait otherwise, once the catalog is read."""
        self._unknown.catch_up(self._credentials())

    def look_again(self) -> bool:
        """Read the users and keys whose files have changed; True if a user was removed. Also
        follows changes of the catalog's credentials."""
        self._unknown.follow(self._credentials())
        if self._keys is not None:
            self._keys.look_again()
        return self._users.look_again()

    async def stop(self) -> None:
        """End the background task of the key set, if it has one."""
        if self._keys is not None:
            await self._keys.stop()

    def begin(self, mechanism: str) -> Exchange:
        """A new exchange by one of ``names``."""
        if mechanism == PLAIN:
            return PlainExchange(self._users)
        if mechanism in SCRAM:
            return ScramExchange(mechanism, self._credentials, self._unknown)
        assert mechanism == OAUTHBEARER
        assert self._tokens is not None, "the configuration's rules see to it"
        return OAuthBearerExchange(self._tokens)

    def session(self, identity: Identity) -> Session:
        """The session of an identity: it ends with its token, or after ``max_reauth_seconds``."""
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
        """Why an identity has ended before it expires, or None if it has not."""
        if identity.user is None:
            return None
        if identity.mechanism == PLAIN:
            known = identity.user in self._users
        else:
            known = (identity.mechanism, identity.user) in self._credentials()
        return None if known else USER_IS_GONE


def _keys_of(settings: OAuthBearer, key: str) -> Keys:
    assert settings.jwks is not None, "the configuration's rules see to it"
    if settings.jwks.startswith(URLS):
        # Imported while the mechanisms are created, before clients wait on the event loop.
        from gateway.auth.jwks_url import UrlKeys

        return UrlKeys(settings.jwks, settings.refresh_seconds, key)
    return FileKeys(Path(settings.jwks), key)
