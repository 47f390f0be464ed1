"""The user that a client claims to be, in an exchange that passes through to a broker.

The gateway reads each token. A token that hides the user name, or that can be read in two ways, is
rejected before it reaches the broker. If the broker accepts the exchange, the gateway accepts it,
too. Sans-IO.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any, Final, Protocol

from gateway.auth.exchange import AuthenticationFailed, check_authzid, is_name, sasl_name, utf8
from gateway.auth.oauthbearer import AFTER_CHALLENGE, OAUTHBEARER, parse_response
from gateway.auth.passwords import PLAIN, SCRAM

DEFAULT_CLAIM: Final = "sub"
"""The brokers' default of ``sasl.oauthbearer.sub.claim.name``."""

MECHANISMS: Final = (PLAIN, *SCRAM, OAUTHBEARER)
"""The mechanisms whose tokens show the user name; GSSAPI's do not."""

_NAME: Final = rb"(?:[^=,\x00]|=2C|=3D)+"
_NONCE: Final = rb"[\x21-\x2b\x2d-\x7e]+"
_SCRAM_FIRST: Final = re.compile(
    rb"n,(?:a=(?P<authzid>"
    + _NAME
    + rb"))?,n=(?P<user>"
    + _NAME
    + rb"),r=(?P<nonce>"
    + _NONCE
    # Extensions: unknown ones may change the meaning of the rest.
    + rb")(?P<extensions>,.*)?",
    re.DOTALL,
)
_SCRAM_CHALLENGE: Final = re.compile(rb"r=(?P<nonce>" + _NONCE + rb"),s=[^,]+,i=\d+(?:,.*)?")
_SCRAM_FINAL: Final = re.compile(rb"c=[^,]+,r=(?P<nonce>" + _NONCE + rb"),p=[^,]+")
_SCRAM_OUTCOME: Final = re.compile(rb"v=[A-Za-z0-9+/]+={0,2}(?:,.*)?")
_JWT: Final = re.compile(r"[A-Za-z0-9_-]+\.(?P<claims>[A-Za-z0-9_-]+)\.[A-Za-z0-9_-]*")


class BrokerNonsense(AuthenticationFailed):
    """The broker's response does not follow the mechanism."""


class Claim(Protocol):
    """One exchange, by one of three mechanisms (:class:`PlainClaim`, :class:`ScramClaim`,
    :class:`OAuthBearerClaim`). ``user``: the name that the client has claimed; empty before that.

    ``sent`` takes a token of the client, and raises AuthenticationFailed if the token must not
    reach the broker. ``answered`` takes a response of the broker without an error, returns whether
    the response proves the claim, and raises BrokerNonsense.
    """

    user: str

    def sent(self, token: bytes) -> None: ...
    def answered(self, challenge: bytes) -> bool: ...


def claim_of(mechanism: str, principal_claim: str = DEFAULT_CLAIM) -> Claim:
    """A new exchange by one of :data:`MECHANISMS`."""
    if mechanism == OAUTHBEARER:
        return OAuthBearerClaim(principal_claim)
    return PlainClaim() if mechanism == PLAIN else ScramClaim()


class PlainClaim:
    """RFC 4616: one token, which has the name, and no challenge."""

    def __init__(self) -> None:
        self.user = ""

    def sent(self, token: bytes) -> None:
        if self.user:
            raise AuthenticationFailed("PLAIN has one token")
        parts = token.split(b"\0")
        if len(parts) != 3 or not parts[1]:
            raise AuthenticationFailed("the token is none of PLAIN (RFC 4616)")
        self.user = utf8(parts[1])
        check_authzid(utf8(parts[0]), self.user)

    def answered(self, challenge: bytes) -> bool:
        if challenge:
            raise BrokerNonsense("the broker answers PLAIN with a challenge")
        return True


class ScramClaim:
    """RFC 5802: two tokens; the name is in the first, the proof in the second."""

    def __init__(self) -> None:
        self.user = ""
        self._nonce = b""
        self._tokens = 0

    def sent(self, token: bytes) -> None:
        self._tokens += 1
        if self._tokens == 1:
            self._first(token)
        elif self._tokens == 2:
            found = _SCRAM_FINAL.fullmatch(token)
            if found is None or found["nonce"] != self._nonce:
                raise AuthenticationFailed("the second token is none of SCRAM (RFC 5802)")
        else:
            raise AuthenticationFailed("SCRAM has two tokens")

    def answered(self, challenge: bytes) -> bool:
        if self._tokens == 1:
            found = _SCRAM_CHALLENGE.fullmatch(challenge)
            own = self._nonce
            if found is None or not found["nonce"].startswith(own) or found["nonce"] == own:
                raise BrokerNonsense("the broker's challenge is none of SCRAM")
            self._nonce = found["nonce"]
            return False
        if _SCRAM_OUTCOME.fullmatch(challenge) is None:
            raise BrokerNonsense("the broker's last word is none of SCRAM")
        return True

    def _first(self, token: bytes) -> None:
        found = _SCRAM_FIRST.fullmatch(token)
        if found is None:
            raise AuthenticationFailed("the first token is none of SCRAM (RFC 5802)")
        user = sasl_name(utf8(found["user"]))
        if found["extensions"]:
            name = utf8(found["extensions"][1:].partition(b"=")[0])
            # A delegation token does not name its owner (KIP-48).
            what = "delegation tokens" if name == "tokenauth" else "extensions of SCRAM"
            raise AuthenticationFailed(f"it uses {what}", f"{what} do not pass through here")
        self.user = user
        self._nonce = found["nonce"]
        check_authzid(sasl_name(utf8(found["authzid"] or b"")), user)


class OAuthBearerClaim:
    """RFC 7628: one token, with a JWT that has the name. After a challenge, which gives the error
    in the token, the client only requests the error response."""

    def __init__(self, principal_claim: str) -> None:
        self.user = ""
        self._principal_claim = principal_claim
        self._challenged = False

    def sent(self, token: bytes) -> None:
        if self._challenged:
            if token != AFTER_CHALLENGE:
                raise AuthenticationFailed("what answers a challenge is \\x01 (RFC 7628)")
        elif self.user:
            raise AuthenticationFailed("OAUTHBEARER has one token")
        else:
            authzid, bearer = parse_response(token)
            self.user = _jwt_claim(bearer, self._principal_claim)
            check_authzid(authzid, self.user)

    def answered(self, challenge: bytes) -> bool:
        if self._challenged:
            raise BrokerNonsense("the broker accepts what it has challenged")
        self._challenged = bool(challenge)
        return not challenge


def _jwt_claim(token: str, name: str) -> str:
    """A claim of a JWT (RFC 7519), whose signature is not checked."""
    found = _JWT.fullmatch(token)
    if found is None:
        raise AuthenticationFailed("the token is no JWT that shows its claims")
    encoded = found["claims"]
    try:
        text = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
        claims = json.loads(text, object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError):
        raise AuthenticationFailed("the token's claims cannot be read") from None
    value = claims.get(name) if isinstance(claims, dict) else None
    # Some brokers strip spaces around a name, and others do not.
    if not isinstance(value, str) or not value or value != value.strip():
        raise AuthenticationFailed(f"the token has no claim {name!r} that is a name")
    if not is_name(value):
        reason = f"the token's claim {name} is '*' or has control characters"
        raise AuthenticationFailed(reason, reason)
    return value


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The claims. Raises ValueError for two claims with one name, of which the broker may read the
    other."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice")
    return found
