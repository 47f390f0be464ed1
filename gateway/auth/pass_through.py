"""Logins that a broker decides on: the client's own exchange passes through to the broker (KIP-43).

The gateway responds to ApiVersions, as at every login. From SaslHandshake on it forwards the
client's tokens on the client's own broker connection, reads them, and adopts the principal if the
broker accepts it. So the broker's ACLs and quotas apply to the client's principal. Tokens go in the
gateway's own requests, so the versions of both sides need not match, and only the exchange passes.
Sans-IO.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, Final, NamedTuple

from gateway.auth.claims import DEFAULT_CLAIM, Claim, claim_of
from gateway.auth.exchange import AuthenticationFailed, proved
from gateway.auth.login import Failure, Login, Request
from gateway.auth.mechanisms import Mechanisms, Session
from gateway.auth.messages import handshake_answer
from gateway.brokers.errors import LoginError
from gateway.brokers.login_exchange import (
    AUTHENTICATE,
    HANDSHAKE,
    HANDSHAKE_VERSION,
    authenticate_version,
)
from gateway.brokers.messages import (
    CORRELATION_BYTES,
    request_frame,
    response_body,
    response_entity,
)
from gateway.config.security import ListenerSasl
from gateway.error_codes import UNSUPPORTED_SASL_MECHANISM
from protocol import messages
from protocol.errors import ProtocolError

MAX_ANSWER: Final = 64 * 1024
"""Bytes of a broker's longest response to a login."""

_SIZE: Final = Struct(">i")
_SHOWN: Final = 200


def principal_claim(sasl: ListenerSasl) -> str:
    """The claim of a JWT that names the principal."""
    return DEFAULT_CLAIM if sasl.oauthbearer is None else sasl.oauthbearer.principal_claim


class BrokerRequest(NamedTuple):
    """A request to the broker: Kafka's name of it, its version, and the message."""

    name: str
    version: int
    entity: Any


class NotOffered(AuthenticationFailed):
    """The broker does not offer the mechanism. ``names``: the mechanisms that both the broker and
    the listener offer."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__("the broker does not offer the mechanism")
        self.names = names


class PassThrough:
    """Logins and re-authentications of one listener, on which its brokers decide.

    ``principal_claim``: the claim of a JWT that names the principal. ``api_versions`` returns the
    versions that all brokers serve. ``now`` returns seconds since the epoch.
    """

    def __init__(
        self,
        accepts: Mechanisms,
        principal_claim: str,
        api_versions: Callable[[], Mapping[int, tuple[int, int]]],
        now: Callable[[], float] = time.time,
    ) -> None:
        self.accepts = accepts
        self.principal_claim = principal_claim
        self.now = now
        self._api_versions = api_versions

    def handshake_request(self, mechanism: str) -> BrokerRequest:
        """The gateway's SaslHandshake."""
        message = messages.message_class(HANDSHAKE, HANDSHAKE_VERSION)
        return BrokerRequest(
            HANDSHAKE, HANDSHAKE_VERSION, messages.build(message, mechanism=mechanism)
        )

    def token_request(self, token: bytes) -> BrokerRequest:
        """The gateway's SaslAuthenticate. Raises AuthenticationFailed if the broker is too old."""
        try:
            version = authenticate_version(self._api_versions())
        except LoginError as error:
            raise AuthenticationFailed(f"the broker {error}") from None
        message = messages.message_class(AUTHENTICATE, version)
        return BrokerRequest(AUTHENTICATE, version, messages.build(message, auth_bytes=token))

    def claim(self, mechanism: str) -> Claim:
        """A new exchange that the gateway reads."""
        return claim_of(mechanism, self.principal_claim)

    def agreed(self, answer: Any, mechanism: str) -> tuple[str, ...]:
        """The mechanisms of both listener and broker, from the broker's response to SaslHandshake.
        Raises NotOffered if ``mechanism`` is not among them, and AuthenticationFailed."""
        names = tuple(name for name in self.accepts.names if name in answer.mechanisms)
        code = int(answer.error_code)
        if code == UNSUPPORTED_SASL_MECHANISM or (not code and mechanism not in names):
            raise NotOffered(names)
        if code:
            raise AuthenticationFailed(f"the broker answers SaslHandshake with error {code}")
        return names

    def granted_session(self, answer: Any, claim: Claim, mechanism: str) -> Session | None:
        """The session that the broker's response to a token grants; None: the exchange continues.
        Raises AuthenticationFailed."""
        if answer.error_code:
            text = "".join(c for c in (answer.error_message or "")[:_SHOWN] if c.isprintable())
            raise AuthenticationFailed(f"the broker refuses it ({text or int(answer.error_code)})")
        if not claim.answered(answer.auth_bytes):
            return None
        lasts = answer.session_lifetime.total_seconds()
        expires = self.now() + lasts if lasts > 0 else None
        return self.accepts.session(proved(claim.user, mechanism, expires))


class PassThroughLogin(Login):
    """One client's login, on which its broker decides."""

    def __init__(
        self, through: PassThrough, versions: Callable[[int], bytes], max_bytes: int
    ) -> None:
        super().__init__(through.accepts, versions, max_bytes)
        self._through = through
        self._claim: Claim | None = None
        self._received = b""
        self._broker_request: BrokerRequest | None = None
        self._correlation_id = 0
        self._client_request: Request | None = None

    def broker_ready(self) -> None:
        """The broker connection is open: request the client's mechanism from the broker."""
        self._ask(self._through.handshake_request(self.mechanism))

    def broker_data(self, data: bytes) -> None:
        self._received += data
        received = self._received
        if len(received) < _SIZE.size:
            return
        size: int = _SIZE.unpack_from(received)[0]
        if not CORRELATION_BYTES <= size <= MAX_ANSWER:
            raise ProtocolError(f"{size} bytes announced during a login")
        end = _SIZE.size + size
        if len(received) > end or self._broker_request is None:
            raise ProtocolError("more than it was asked during a login")
        if len(received) == end:
            self._received = b""
            request, self._broker_request = self._broker_request, None
            name, version, _ = request
            body = response_body(name, version, self._correlation_id, received[4:])
            self._answered(name, response_entity(name, version, body))

    def _begin(self, handshake: Request) -> None:
        self._client_request = handshake
        self._waits = True
        self.wants_broker = True

    def _token(self, request: Request | None, token: bytes) -> None:
        claim = self._claim
        assert claim is not None
        try:
            claim.sent(token)
            forwarded = self._through.token_request(token)
        except AuthenticationFailed as failure:
            self._reject(request, failure)
            return
        finally:
            self.user = claim.user
        self._client_request = request
        self._waits = True
        self._ask(forwarded)

    def _ask(self, request: BrokerRequest) -> None:
        self._broker_request = request
        self._correlation_id += 1
        name, version, entity = request
        self.to_broker.append(request_frame(name, version, self._correlation_id, entity))

    def _answered(self, name: str, answer: Any) -> None:
        request, self._client_request = self._client_request, None
        try:
            if name == HANDSHAKE:
                assert request is not None
                self._agreed(request, answer)
            else:
                self._finish(request, answer)
        except NotOffered as failure:
            assert request is not None
            version = request.version
            rejection = handshake_answer(version, failure.names, UNSUPPORTED_SASL_MECHANISM)
            self._fail(Failure(failure.reason, request.reply(rejection)))
        except AuthenticationFailed as failure:
            self._reject(request if name != HANDSHAKE else None, failure)
        else:
            self._go_on()

    def _agreed(self, handshake: Request, answer: Any) -> None:
        names = self._through.agreed(answer, self.mechanism)
        self._claim = self._through.claim(self.mechanism)
        self.to_client.append(handshake.reply(handshake_answer(handshake.version, names)))

    def _finish(self, request: Request | None, answer: Any) -> None:
        assert self._claim is not None
        session = self._through.granted_session(answer, self._claim, self.mechanism)
        lifetime = 0
        if session is not None:
            lifetime = session.lifetime_ms
            self._prove(session.identity)
        self._respond(request, answer.auth_bytes, lifetime)
