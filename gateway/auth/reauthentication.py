"""Re-authentication: proving on an open connection that one still is who one was (KIP-368).

A session that ends with its token, or after ``max_reauth_seconds``, is prolonged so without a
reconnect. Principal and mechanism have to stay what they are.
"""

from __future__ import annotations

from gateway.auth.exchange import (
    AuthenticationFailed,
    CannotTell,
    Exchange,
    authenticate_answer,
    authenticate_refusal,
    handshake_answer,
    principal_of,
)
from gateway.auth.login import Accepts
from gateway.auth.pass_through import NotOffered, PassThrough
from gateway.brokers.login import Ask
from gateway.error_codes import UNSUPPORTED_SASL_MECHANISM
from gateway.identity import Identity


class Reauthentication:
    """One of them, from SaslHandshake on.

    ``began`` is its time of the monotonic clock, in seconds. At its end either ``identity`` is
    set, or ``failed`` says why it ended the connection.
    """

    __slots__ = ("_accepts", "_before", "_exchange", "began", "failed", "identity", "mechanism")

    def __init__(self, accepts: Accepts, before: Identity, mechanism: str, began: float) -> None:
        """``before`` is who the client is so far; ``mechanism`` is one of the listener's."""
        self._accepts = accepts
        self._before = before
        self._exchange: Exchange = accepts.begin(mechanism)
        self.mechanism = mechanism
        self.began = began
        self.identity: Identity | None = None
        self.failed: str | None = None

    @property
    def user(self) -> str:
        """Who the client claims to be, as far as it has."""
        return self._exchange.user

    @property
    def over(self) -> bool:
        """Whether it has succeeded or failed."""
        return self.identity is not None or self.failed is not None

    def step(self, version: int, token: bytes) -> bytes:
        """The body of the response to SaslAuthenticate with this token; empty: there is none."""
        lifetime = 0
        try:
            outcome = self._step(token)
        except AuthenticationFailed as failure:
            self.failed = failure.reason
            return authenticate_refusal(version, self.mechanism, failure)
        except CannotTell as reason:
            self.failed = str(reason)
            return b""
        if self._exchange.identity is not None:
            session = self._accepts.session(self._exchange.identity)
            self.identity, lifetime = session
        return authenticate_answer(version, outcome, lifetime)

    def _step(self, token: bytes) -> bytes:
        if self.mechanism != self._before.mechanism:
            told = f"a session begun with {self._before.mechanism} goes on with that"
            raise AuthenticationFailed("it changed the mechanism", told)
        outcome = self._exchange.step(token)
        identity = self._exchange.identity
        if identity is not None and identity.principal != self._before.principal:
            told = "a session goes on with the principal that began it"
            raise AuthenticationFailed("it changed the principal", told)
        return outcome


class PassThroughReauthentication:
    """One of them, from SaslHandshake on; see
    :class:`gateway.auth.reauthentication.Reauthentication`."""

    def __init__(
        self, through: PassThrough, before: Identity, mechanism: str, began: float
    ) -> None:
        self.mechanism = mechanism
        self.began = began
        self.identity: Identity | None = None
        self.failed: str | None = None
        self._through = through
        self._before = before
        self._claim = through.claim(mechanism)

    @property
    def user(self) -> str:
        """Who the client claims to be, as far as it has."""
        return self._claim.user

    @property
    def over(self) -> bool:
        """Whether it has succeeded or failed."""
        return self.identity is not None or self.failed is not None

    async def agree(self, version: int, ask: Ask) -> bytes:
        """The body of the response to SaslHandshake, of which the broker is asked."""
        answer = await ask(*self._through.handshake_question(self.mechanism))
        try:
            names = self._through.agreed(answer, self.mechanism)
        except AuthenticationFailed as failure:
            self.failed = failure.reason
            names = failure.names if isinstance(failure, NotOffered) else ()
            return handshake_answer(version, names, UNSUPPORTED_SASL_MECHANISM)
        return handshake_answer(version, names)

    async def step(self, version: int, token: bytes, ask: Ask) -> bytes:
        """The body of the response to SaslAuthenticate with this token."""
        lifetime = 0
        try:
            self._check(token)
            answer = await ask(*self._through.token_question(token))
            session = self._through.judged(answer, self._claim, self.mechanism)
        except AuthenticationFailed as failure:
            self.failed = failure.reason
            return authenticate_refusal(version, self.mechanism, failure)
        if session is not None:
            self.identity, lifetime = session
        return authenticate_answer(version, answer.auth_bytes, lifetime)

    def _check(self, token: bytes) -> None:
        """Raises AuthenticationFailed for a token that is not to reach the broker."""
        if self.mechanism != self._before.mechanism:
            told = f"a session begun with {self._before.mechanism} goes on with that"
            raise AuthenticationFailed("it changed the mechanism", told)
        self._claim.sent(token)
        if self.user and principal_of(self.user) != self._before.principal:
            told = "a session goes on with the principal that began it"
            raise AuthenticationFailed("it changed the principal", told)
