"""The gateway's own login at a broker (KIP-43, KIP-152): its tokens and the broker's challenges.

Sans-IO: :class:`BrokerLogin` makes tokens and checks responses; ``login_exchange`` exchanges them
with a broker.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from gateway.brokers.errors import LoginError
from gateway.error_codes import ILLEGAL_SASL_STATE, UNSUPPORTED_SASL_MECHANISM

if TYPE_CHECKING:
    from scramp import ScramClient

MAX_ITERATIONS: Final = 16_384
"""Iterations of SCRAM's hash: the most with which Kafka stores a credential."""

_SHOWN: Final = 200


class BrokerLogin:
    """A login by PLAIN (RFC 4616) or SCRAM (RFC 5802).

    ``key``: the configuration's key of the identity, for error texts.
    ``session_seconds``, set by the last response: how long the broker lets the session last
    (KIP-368), or 0 if as long as its connection.
    """

    def __init__(self, mechanism: str, username: str, password: str, key: str) -> None:
        """Raises LoginError if a mechanism forbids such a name or password: SCRAM prepares strings
        (RFC 4013), PLAIN ends them with zero bytes."""
        # Imported by the first login, because it is large, and gateways without logins do not need
        # it.
        from scramp import ScramClient, ScramException

        self.mechanism = mechanism
        self.session_seconds = 0.0
        self._username = username
        self._password = password
        self._key = key
        self._scram: ScramClient | None = None
        self._tokens = 0  # SCRAM: 1 client-first, 2 client-final is made, 3 server-final is checked
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
        """The first token, after the response to SaslHandshake. Raises LoginError."""
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
        """The next token, after the response to a token, or None if logged in. Raises LoginError.

        With SCRAM, a broker that does not prove that it knows the password is rejected.
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


def _parent(key: str) -> str:
    return key.rpartition(".")[0]


def _printable(text: str) -> str:
    """A broker's text for a log line: no control characters, not too long."""
    return "".join(c if c.isprintable() else "?" for c in text[:_SHOWN])
