"""SASL SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677), with credentials of the catalog.

scramp knows the messages and the arithmetic. What is Kafka's stands here: names are taken as they
are sent, not prepared (RFC 4013), delegation tokens (``tokenauth``, KIP-48) are refused, and so
that users cannot be found out by trying, an unknown one fails where a wrong password does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from gateway.auth.exchange import AuthenticationFailed, principal_of
from gateway.auth.unknown_users import Credentials, UnknownUsers
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
