"""SASL OAUTHBEARER (RFC 7628, KIP-255): a bearer token in place of a password."""

from __future__ import annotations

import json
import re
from typing import Final

from gateway.auth.exchange import AuthenticationFailed, principal_of
from gateway.auth.tokens import TokenChecker
from gateway.identity import Identity

MECHANISM: Final = "OAUTHBEARER"

_RESPONSE: Final = re.compile(
    rb"[ny],(?:a=(?P<authzid>[^,\x00\x01]*))?,\x01"
    rb"(?P<pairs>(?:[A-Za-z]+=[\x20-\x7e\t\r\n]*\x01)*)\x01"
)
"""A client's initial response (RFC 7628, section 3.1)."""

_AFTER_CHALLENGE: Final = b"\x01"
_SCHEME: Final = "bearer"


class OAuthBearerExchange:
    """One client's exchange: a single token; after a challenge that says what is wrong, an empty
    one (``\\x01``), which the error answers.

    Other pairs than ``auth`` are SASL extensions (KIP-342): nothing here asks for them.
    """

    def __init__(self, tokens: TokenChecker) -> None:
        self._tokens = tokens
        self._failure: AuthenticationFailed | None = None
        self.user = ""
        self.identity: Identity | None = None

    def step(self, token: bytes) -> bytes:
        """See :class:`gateway.auth.exchange.Exchange`."""
        if self._failure is not None:
            if token != _AFTER_CHALLENGE:
                raise AuthenticationFailed("what answers a challenge is \\x01 (RFC 7628)")
            raise self._failure
        asked_for, bearer = parse_response(token)
        try:
            self._prove(asked_for, bearer)
        except AuthenticationFailed as failure:
            self._failure = failure
            return json.dumps({"status": "invalid_token"}, separators=(",", ":")).encode()
        return b""

    def _prove(self, asked_for: str, bearer: str) -> None:
        user, expires = self._tokens.check(bearer)
        self.user = user
        if asked_for and asked_for != user:
            raise AuthenticationFailed("it asked to act for another user (authzid)")
        self.identity = Identity(principal_of(user), MECHANISM, expires)


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
    return authzid.replace("=2C", ",").replace("=3D", "="), bearer.strip()
