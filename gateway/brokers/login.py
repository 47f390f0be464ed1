"""The gateway's own login at a broker (KIP-43, KIP-152): what to send, what the answers mean.

Sans-IO: :class:`BrokerLogin` makes tokens and judges answers; :func:`log_in` brings them to a
broker over whatever asks one question after the other on a connection. The same exchange on a
connection that is logged in already is a re-authentication (KIP-368).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import TYPE_CHECKING, Any, Final

from gateway.brokers.messages import SecurityError
from gateway.error_codes import ILLEGAL_SASL_STATE, UNSUPPORTED_SASL_MECHANISM
from protocol import messages
from protocol.schema import api_key_of, message_versions

if TYPE_CHECKING:
    from scramp import ScramClient

HANDSHAKE: Final = "SaslHandshakeRequest"
AUTHENTICATE: Final = "SaslAuthenticateRequest"

HANDSHAKE_VERSION: Final = 1
"""From here on tokens come in SaslAuthenticate (KIP-152), not bare."""

MAX_ITERATIONS: Final = 16_384
"""Of SCRAM's hash: the most that Kafka stores a credential with."""

_LOWEST_AUTHENTICATE: Final = 1  # v0 does not tell how long the session lasts (KIP-368)
_SHOWN: Final = 200


class LoginError(SecurityError):
    """The login failed; the text says what to do, and holds no secret."""


class BrokerLogin:
    """One login by PLAIN (RFC 4616) or SCRAM (RFC 5802).

    ``key`` is where the configuration has the identity, for error texts. ``session_seconds`` is
    how long the broker lets the session last, once logged in; 0: as long as its connection.
    """

    def __init__(self, mechanism: str, username: str, password: str, key: str) -> None:
        """Raises LoginError where a mechanism forbids such a name or password: SCRAM prepares
        strings (RFC 4013), PLAIN ends them with zero bytes."""
        # Loaded by the first login, as it is much for those who have none.
        from scramp import ScramClient, ScramException

        self.mechanism = mechanism
        self.session_seconds = 0.0
        self._username = username
        self._password = password
        self._key = key
        self._scram: ScramClient | None = None
        self._tokens = 0
        try:
            if mechanism.startswith("SCRAM-"):
                self._scram = ScramClient([mechanism], username, password)
            elif "\0" in username + password:
                raise ScramException("a zero byte")
        except ScramException as error:
            text = f"{mechanism} does not allow that user or password ({error.args[0]})"
            raise LoginError(f"{text}; change {self._secrets}") from None

    @property
    def is_slow(self) -> bool:
        """True if the next token costs milliseconds of computing."""
        return self._scram is not None and self._tokens == 1

    def first_token(self, error_code: int, offered: Collection[str]) -> bytes:
        """The answer to SaslHandshake came: the first token. Raises LoginError."""
        if error_code == ILLEGAL_SASL_STATE:
            raise LoginError(f"has no SASL there; correct {_parent(self._key)}.protocol")
        if error_code == UNSUPPORTED_SASL_MECHANISM or self.mechanism not in offered:
            names = ", ".join(map(_printable, offered)) or "nothing"
            raise LoginError(
                f"does not offer {self.mechanism} but {names}; correct {self._key}.mechanism"
            )
        if error_code:
            raise LoginError(f"SaslHandshake is answered with error {error_code}")
        self._tokens = 1
        if self._scram is not None:
            return str(self._scram.get_client_first()).encode()
        return f"\0{self._username}\0{self._password}".encode()

    def next_token(
        self, error_code: int, message: str | None, challenge: bytes, session_seconds: float
    ) -> bytes | None:
        """The answer to a token came: the next one; None: logged in. Raises LoginError.

        A broker that does not know the password either is not believed (SCRAM).
        """
        if error_code:
            said = f" ({_printable(message)})" if message else ""
            raise LoginError(
                f"refuses user '{_printable(self._username)}' by {self.mechanism}{said}; "
                f"correct {self._secrets}"
            )
        from scramp import ScramException

        if self._scram is not None:
            try:
                token = self._scram_token(self._scram, challenge.decode())
            except (ScramException, ValueError) as error:
                reason = error.args[0] if isinstance(error, ScramException) else "not UTF-8"
                raise LoginError(
                    f"is not to be trusted with {self.mechanism}: {reason}; "
                    f"is it the right broker, and {self._key}.password its user's?"
                ) from None
            if token is not None:
                return token
        elif challenge:
            raise LoginError("answers PLAIN with a challenge, which has none")
        self.session_seconds = max(session_seconds, 0.0)
        return None

    def _scram_token(self, scram: ScramClient, challenge: str) -> bytes | None:
        from scramp import ScramException

        self._tokens += 1
        if self._tokens > 2:
            scram.set_server_final(challenge)
            return None
        scram.set_server_first(challenge)
        if int(scram.iterations) > MAX_ITERATIONS:
            raise ScramException(f"more than {MAX_ITERATIONS} iterations are asked for")
        return str(scram.get_client_final()).encode()

    @property
    def _secrets(self) -> str:
        return f"{self._key}.username or {self._key}.password"


Ask = Callable[[str, int, Any], Awaitable[Any]]
"""(request's name, version, request entity) -> response entity, in turn."""


async def log_in(login: BrokerLogin, ask: Ask, version: int) -> None:
    """Do the exchange of SaslHandshake and SaslAuthenticate, the latter in ``version``. Raises
    LoginError, and whatever ``ask`` raises.

    A password's hash is computed in a thread: it would hold up everyone else for milliseconds.
    """
    handshake = messages.message_class(HANDSHAKE, HANDSHAKE_VERSION)
    request = messages.build(handshake, mechanism=login.mechanism)
    response = await ask(HANDSHAKE, HANDSHAKE_VERSION, request)
    token: bytes | None = login.first_token(int(response.error_code), response.mechanisms)
    authenticate = messages.message_class(AUTHENTICATE, version)
    while token is not None:
        request = messages.build(authenticate, auth_bytes=token)
        response = await ask(AUTHENTICATE, version, request)
        seconds = response.session_lifetime.total_seconds()
        answer = int(response.error_code), response.error_message, response.auth_bytes, seconds
        if login.is_slow:
            token = await asyncio.to_thread(login.next_token, *answer)
        else:
            token = login.next_token(*answer)


def authenticate_version(api_versions: dict[int, tuple[int, int]]) -> int:
    """The version of SaslAuthenticate to ask a broker in, of which these versions are known.

    Raises LoginError for a broker before Kafka 2.2.
    """
    newest = message_versions(AUTHENTICATE)[-1]
    _, highest = api_versions.get(api_key_of(AUTHENTICATE), (0, _LOWEST_AUTHENTICATE))
    if highest < _LOWEST_AUTHENTICATE:
        raise LoginError("speaks no SaslAuthenticate of Kafka 2.2 or later")
    return min(newest, highest)


def _parent(key: str) -> str:
    return key.rpartition(".")[0]


def _printable(text: str) -> str:
    """A broker's text for a log line: no control characters, not too long."""
    return "".join(c if c.isprintable() else "?" for c in text[:_SHOWN])
