"""SASL OAUTHBEARER (RFC 7628, KIP-255): a bearer token in place of a password."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from gateway.auth.exchange import (
    AuthenticationFailed,
    CannotTell,
    check_authzid,
    check_size,
    is_name,
    proved,
    sasl_name,
)
from gateway.auth.jwks import KEY_TYPES, Keys, KeySet
from gateway.config.security import OAuthBearer
from gateway.identity import Identity

if TYPE_CHECKING:
    import jwt

OAUTHBEARER: Final = "OAUTHBEARER"

_RESPONSE: Final = re.compile(
    rb"[ny],(?:a=(?P<authzid>[^,\x00\x01]*))?,\x01"
    rb"(?P<pairs>(?:[A-Za-z]+=[\x20-\x7e\t\r\n]*\x01)*)\x01"
)
"""A client's initial response (RFC 7628, section 3.1)."""

AFTER_CHALLENGE: Final = b"\x01"
_SCHEME: Final = "bearer"


class OAuthBearerExchange:
    """One client's exchange: a single token; after a challenge with the error, an empty token
    (``\\x01``), which gets the error response.

    Pairs other than ``auth`` are SASL extensions (KIP-342), and are ignored.
    """

    def __init__(self, tokens: TokenChecker) -> None:
        self._tokens = tokens
        self._failure: AuthenticationFailed | None = None
        self._begun: tuple[str, Verification] | None = None
        self.user = ""
        self.identity: Identity | None = None

    def work(self, token: bytes) -> Callable[[], None] | None:
        """The verification of the token's signature."""
        if self._failure is not None:
            return None
        try:
            check_size(token)
            authzid, bearer = parse_response(token)
            verification = self._tokens.begin(bearer)
        except (AuthenticationFailed, CannotTell):
            return None  # the step is rejected before it comes to that
        self._begun = authzid, verification
        return verification.run

    def step(self, token: bytes) -> bytes:
        if self._failure is not None:
            if token != AFTER_CHALLENGE:
                raise AuthenticationFailed("what answers a challenge is \\x01 (RFC 7628)")
            raise self._failure
        begun, self._begun = self._begun, None
        if begun is None:
            check_size(token)
            authzid, bearer = parse_response(token)
        try:
            if begun is None:
                self.user, expires = self._tokens.check(bearer)
            else:
                authzid, verification = begun
                self.user, expires = self._tokens.finish(verification)
            check_authzid(authzid, self.user)
        except AuthenticationFailed as failure:
            self._failure = failure
            return b'{"status":"invalid_token"}'
        self.identity = proved(self.user, OAUTHBEARER, expires)
        return b""


def parse_response(response: bytes) -> tuple[str, str]:
    """The authorization id and the bearer token."""
    found = _RESPONSE.fullmatch(response)
    if found is None:
        raise AuthenticationFailed("the token is no response as RFC 7628 has it")
    pairs = [pair.partition(b"=") for pair in found["pairs"].split(b"\x01")[:-1]]
    credentials = [value.decode() for key, _, value in pairs if key == b"auth"]
    if len(credentials) != 1:
        raise AuthenticationFailed(f"it has {len(credentials)} auth pairs, not one (RFC 7628)")
    scheme, _, bearer = credentials[0].partition(" ")
    if scheme.lower() != _SCHEME or not bearer.strip():
        raise AuthenticationFailed("auth is no bearer token")
    try:
        authzid = (found["authzid"] or b"").decode()
    except UnicodeDecodeError:
        raise AuthenticationFailed("the authorization id is not UTF-8") from None
    return sasl_name(authzid), bearer.strip()


MAX_LIFETIME: Final = 10 * 365 * 86_400
"""Seconds; the lifetime of longer tokens is cut to this."""

_NOT_SIGNED: Final = "the token is not signed with a key of the configured set"
_LIST_CLAIMS: Final = frozenset({"scope"})
"""Claims that are a list in one string, separated by spaces (RFC 8693)."""


class Token(NamedTuple):
    """The user of a valid token, and its end in seconds since the epoch."""

    user: str
    expires: float


class Verification:
    """The check of one token's signature, and of the claims that PyJWT checks with it. ``run`` uses
    no state that the event loop changes, so a thread may run it."""

    def __init__(self, token: str, candidates: list[jwt.PyJWK], settings: OAuthBearer) -> None:
        self._token = token
        self._candidates = candidates
        self._settings = settings
        self._claims: dict[str, Any] = {}
        self._failure: AuthenticationFailed | None = None

    def run(self) -> None:
        """Verify the token."""
        try:
            self._claims = self._verified()
        except AuthenticationFailed as failure:
            self._failure = failure

    def claims(self) -> dict[str, Any]:
        """The claims, after ``run``. Raises AuthenticationFailed."""
        if self._failure is not None:
            raise self._failure
        return self._claims

    def _verified(self) -> dict[str, Any]:
        """The claims; PyJWT has checked the claims that it knows."""
        import jwt

        for key in self._candidates:
            try:
                claims: dict[str, Any] = jwt.decode(
                    self._token,
                    key,
                    algorithms=[key.algorithm_name],
                    audience=self._settings.audience,
                    issuer=self._settings.issuer,
                    leeway=self._settings.clock_skew_seconds,
                    options={"require": ["exp"], "enforce_minimum_key_length": True},
                )
            except (jwt.InvalidSignatureError, jwt.InvalidKeyError):
                continue
            except jwt.InvalidTokenError as error:
                reason = _REASONS.get(type(error).__name__, _OTHER_REASON)
                raise AuthenticationFailed(reason, reason) from None
            except (jwt.PyJWTError, ValueError, TypeError):
                raise AuthenticationFailed("it is no JSON Web Token") from None
            return claims
        raise AuthenticationFailed(_NOT_SIGNED)


class TokenChecker:
    """Checks the tokens of one listener. ``now`` returns seconds since the epoch."""

    def __init__(
        self, settings: OAuthBearer, keys: Keys, now: Callable[[], float] = time.time
    ) -> None:
        self._settings = settings
        self._keys = keys
        self._now = now

    def check(self, token: str) -> Token:
        """Verify a token. Raises AuthenticationFailed, CannotTell."""
        verification = self.begin(token)
        verification.run()
        return self.finish(verification)

    def begin(self, token: str) -> Verification:
        """The verification of a token, not run yet. Raises AuthenticationFailed, CannotTell."""
        keys = self._keys.current
        if keys is None:
            raise CannotTell("no keys to check tokens with")
        return Verification(token, self._candidates(token, keys), self._settings)

    def finish(self, verification: Verification) -> Token:
        """The user of a token that has been verified. Raises AuthenticationFailed."""
        claims = verification.claims()
        self._check_required(claims)
        return Token(self._user(claims), self._expires(claims))

    def _candidates(self, token: str, keys: KeySet) -> list[jwt.PyJWK]:
        import jwt

        try:
            header = jwt.get_unverified_header(token)
        except (jwt.PyJWTError, ValueError, TypeError):
            raise AuthenticationFailed("it is no JSON Web Token") from None
        algorithm, key_id = header.get("alg"), header.get("kid")
        if not isinstance(algorithm, str) or algorithm not in KEY_TYPES:
            raise AuthenticationFailed("the token's algorithm is not one that is served")
        if "crit" in header:
            raise AuthenticationFailed("the token asks for extensions (crit) that are not served")
        if key_id is not None and not keys.knows(key_id):
            self._keys.missed()
        candidates = keys.find(key_id, algorithm)
        if not candidates:
            raise AuthenticationFailed(_NOT_SIGNED)
        return candidates

    def _check_required(self, claims: dict[str, Any]) -> None:
        for name, wanted in self._settings.required_claims.items():
            if wanted not in _items(name, claims.get(name)):
                reason = f"the token's claim {name} is not as required"
                raise AuthenticationFailed(reason, reason)

    def _user(self, claims: dict[str, Any]) -> str:
        claim = self._settings.principal_claim
        user = claims.get(claim)
        if not isinstance(user, str) or not user:
            reason = f"the token has no claim {claim} to take the user of"
            raise AuthenticationFailed(reason, reason)
        if not is_name(user):
            reason = f"the token's claim {claim} is '*' or has control characters"
            raise AuthenticationFailed(reason, reason)
        return user

    def _expires(self, claims: dict[str, Any]) -> float:
        """The end of the session: the end of the token, plus the clock skew if the token is
        accepted although it has expired."""
        now, expires = self._now(), int(claims["exp"])
        if expires <= now:
            return expires + self._settings.clock_skew_seconds
        return min(expires, now + MAX_LIFETIME)


def _items(name: str, value: object) -> list[str]:
    """A claim's values as text."""
    if name in _LIST_CLAIMS and isinstance(value, str):
        return [value, *value.split()]
    values = value if isinstance(value, list) else [value]
    return [
        item if isinstance(item, str) else json.dumps(item) for item in values if item is not None
    ]


_OTHER_REASON: Final = "the token's claims are not as they should be"
_REASONS: Final = {
    "ExpiredSignatureError": "the token has expired",
    "ImmatureSignatureError": "the token is not valid yet",
    "InvalidAudienceError": "the token is not for this audience",
    "InvalidIssuerError": "the token is of another issuer",
    "MissingRequiredClaimError": "the token lacks a claim that is required",
}
"""By the name of the error, so the first token imports jwt, and not this module."""
