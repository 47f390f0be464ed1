"""Re-authentication: a client proves its identity again on an open connection (KIP-368).

This prolongs a session that ends with its token, or after ``max_reauth_seconds``, without a
reconnect. Principal and mechanism have to stay the same.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.auth.exchange import AuthenticationFailed, CannotTell, principal_of
from gateway.auth.mechanisms import Mechanisms
from gateway.auth.messages import authenticate_answer, authenticate_rejection, handshake_answer
from gateway.auth.pass_through import NotOffered, PassThrough
from gateway.brokers.login_exchange import Ask
from gateway.error_codes import UNSUPPORTED_SASL_MECHANISM
from gateway.identity import Identity


class _Attempt:
    """One re-authentication, from SaslHandshake on.

    ``began``: when it began, in seconds of the monotonic clock. At its end either ``identity`` is
    set, or ``failed`` has the reason why the connection is closed.
    """

    def __init__(self, before: Identity, mechanism: str, began: float) -> None:
        self._before = before
        self.mechanism = mechanism
        self.began = began
        self.identity: Identity | None = None
        self.failed: str | None = None

    @property
    def over(self) -> bool:
        """Whether the re-authentication has succeeded or failed."""
        return self.identity is not None or self.failed is not None

    def _check_mechanism(self) -> None:
        if self.mechanism != self._before.mechanism:
            message = f"a session begun with {self._before.mechanism} goes on with that"
            raise AuthenticationFailed("it changed the mechanism", message)

    def _check_principal(self, principal: str) -> None:
        if principal != self._before.principal:
            message = "a session goes on with the principal that began it"
            raise AuthenticationFailed("it changed the principal", message)


class Reauthentication(_Attempt):
    """A re-authentication on which the gateway decides."""

    def __init__(self, accepts: Mechanisms, before: Identity, mechanism: str, began: float) -> None:
        """``before`` is the client's present identity; ``mechanism`` is one of the listener's."""
        super().__init__(before, mechanism, began)
        self._accepts = accepts
        self._exchange = accepts.begin(mechanism)

    @property
    def user(self) -> str:
        """The name that the client has claimed so far."""
        return self._exchange.user

    def work(self, token: bytes) -> Callable[[], None] | None:
        """The work to be done in a thread before :meth:`step`."""
        return self._exchange.work(token)

    def step(self, version: int, token: bytes) -> bytes:
        """The body of the response to SaslAuthenticate with this token; empty if the client gets no
        response."""
        lifetime = 0
        try:
            self._check_mechanism()
            outcome = self._exchange.step(token)
            proved = self._exchange.identity
            if proved is not None:
                self._check_principal(proved.principal)
                self.identity, lifetime = self._accepts.session(proved)
        except AuthenticationFailed as failure:
            self.failed = failure.reason
            return authenticate_rejection(version, self.mechanism, failure)
        except CannotTell as reason:
            self.failed = str(reason)
            return b""
        return authenticate_answer(version, outcome, lifetime)


class RejectedReauthentication(_Attempt):
    """A re-authentication by a mechanism that the listener does not have."""

    user = ""

    def __init__(self, before: Identity, began: float) -> None:
        super().__init__(before, "", began)


class PassThroughReauthentication(_Attempt):
    """A re-authentication on which the client's broker decides."""

    def __init__(
        self, through: PassThrough, before: Identity, mechanism: str, began: float
    ) -> None:
        super().__init__(before, mechanism, began)
        self._through = through
        self._claim = through.claim(mechanism)

    @property
    def user(self) -> str:
        """The name that the client has claimed so far."""
        return self._claim.user

    async def agree(self, version: int, ask: Ask) -> bytes:
        """The body of the response to SaslHandshake, from the broker's own response."""
        answer = await ask(*self._through.handshake_request(self.mechanism))
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
            self._check_mechanism()
            self._claim.sent(token)
            if self.user:
                self._check_principal(principal_of(self.user))
            answer = await ask(*self._through.token_request(token))
            session = self._through.granted_session(answer, self._claim, self.mechanism)
        except AuthenticationFailed as failure:
            self.failed = failure.reason
            return authenticate_rejection(version, self.mechanism, failure)
        if session is not None:
            self.identity, lifetime = session
        return authenticate_answer(version, answer.auth_bytes, lifetime)


AnyReauthentication = Reauthentication | RejectedReauthentication | PassThroughReauthentication
