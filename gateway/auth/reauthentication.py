"""Re-authentication: proving on an open connection that one still is who one was (KIP-368).

A session that ends with its token, or after ``max_reauth_seconds``, is prolonged so without a
reconnect. Principal and mechanism have to stay what they are.
"""

from __future__ import annotations

from gateway.auth.exchange import AuthenticationFailed, CannotTell, Exchange
from gateway.auth.login import Accepts
from gateway.auth.messages import authenticate_answer, authenticate_refusal
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
