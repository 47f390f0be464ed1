"""A client's login on a listener with SASL (KIP-43, KIP-152), sans-IO: bytes in, frames out.

States and order are those of Kafka's SaslServerAuthenticator: ApiVersions once, SaslHandshake, then
tokens. Tokens come in SaslAuthenticate requests after SaslHandshake v1, and bare, after their size,
after v0. Any other request closes the connection.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from struct import Struct
from typing import Final, NamedTuple

from gateway.auth.exchange import AuthenticationFailed, CannotTell, Exchange
from gateway.auth.mechanisms import Mechanisms
from gateway.auth.messages import (
    AUTHENTICATE,
    HANDSHAKE,
    authenticate_answer,
    authenticate_rejection,
    handshake_answer,
    parse,
    request_body,
)
from gateway.error_codes import INVALID_REQUEST, UNSUPPORTED_SASL_MECHANISM
from gateway.identity import Identity
from gateway.rules import api_versions
from gateway.rules.api_versions import API_VERSIONS
from protocol.errors import ProtocolError
from protocol.headers import frame, read_request_header, response_header, response_header_version
from protocol.schema import api_key_of

MIN_REQUEST: Final = 10
"""Bytes: API key, version, correlation id and the client id's length."""

MAX_VERSION_TRIES: Final = 16
"""ApiVersions requests in a version that is not served. Clients send one; 64 KiB of such requests
in one read would take the event loop 0.2 s."""

_SIZE: Final = Struct(">i")
_HEAD: Final = Struct(">hhi")


class State(Enum):
    """States of a login, each with its names in Kafka's SaslServerAuthenticator."""

    START = auto()
    """INITIAL_REQUEST, HANDSHAKE_OR_VERSIONS_REQUEST"""
    HANDSHAKE = auto()
    """HANDSHAKE_REQUEST"""
    AUTHENTICATE = auto()
    """AUTHENTICATE, in SaslAuthenticate requests"""
    TOKENS = auto()
    """AUTHENTICATE, bare"""
    OVER = auto()
    """COMPLETE, FAILED"""


class Failure(NamedTuple):
    """The end of a failed login."""

    reason: str
    """For the log and the audit log."""
    response: bytes = b""
    """The client's frame, sent after the delay for failures; empty: there is no response."""


@dataclass(frozen=True, slots=True)
class Request:
    """One whole request of a client that is logging in."""

    api_key: int
    version: int
    correlation_id: int
    body: bytes = field(repr=False)

    def reply(self, body: bytes) -> bytes:
        """The frame of the response."""
        header_version = response_header_version(self.api_key, self.version)
        return frame(response_header(self.correlation_id, header_version), body)


class Login:
    """One client's login.

    ``to_client`` holds the frames to write; the writer clears it. Once ``identity`` is set,
    ``rest`` holds the bytes that the client sent after its login. Once ``failed`` is set, no more
    bytes are read. ``work`` is to be run in a thread, and then :meth:`worked` to be called; bytes
    received meanwhile are held. ``mechanism`` and ``user`` are the client's claims so far.
    ``to_broker`` and ``wants_broker`` are for logins that a broker decides on, and are never set
    here.
    """

    def __init__(
        self, accepts: Mechanisms, versions: Callable[[int], bytes], max_bytes: int
    ) -> None:
        """``versions`` returns the body of an ApiVersions response of a version. ``max_bytes``: the
        bytes that the client may send in all."""
        self.to_client: list[bytes] = []
        self.to_broker: list[bytes] = []
        self.wants_broker = False
        self.identity: Identity | None = None
        self.failed: Failure | None = None
        self.rest = b""
        self.mechanism = ""
        self.user = ""
        self.work: Callable[[], None] | None = None
        self.software = api_versions.UNKNOWN_SOFTWARE
        self._accepts = accepts
        self._versions = versions
        self._left = max_bytes
        self._tries = MAX_VERSION_TRIES
        self._max_bytes = max_bytes
        self._state = State.START
        self._waits = False
        self._held = bytearray()
        self._exchange: Exchange | None = None
        self._taken: tuple[Request | None, bytes] = None, b""

    def worked(self) -> None:
        """``work`` is done: continue with its token."""
        self.work = None
        self._step(*self._taken)
        self._go_on()

    def data(self, data: bytes) -> None:
        """Take bytes from the client. Raises ProtocolError for bytes that no client may send."""
        if self._state is not State.OVER:
            self._held += data
            self._read()

    def broker_ready(self) -> None:
        """The broker connection that ``wants_broker`` requested is open."""

    def broker_data(self, data: bytes) -> None:
        """Take bytes from the broker. Raises ProtocolError for bytes that no broker may send."""
        raise ProtocolError("it was not asked")

    # -- steps, which PassThroughLogin overrides ---------------------------------------------------

    def _begin(self, handshake: Request) -> None:
        """The client has chosen one of the listener's mechanisms."""
        answer = handshake_answer(handshake.version, self._accepts.names)
        self.to_client.append(handshake.reply(answer))
        self._exchange = self._accepts.begin(self.mechanism)

    def _token(self, request: Request | None, token: bytes) -> None:
        """Process a token of a SaslAuthenticate request, or (None) a bare token."""
        assert self._exchange is not None
        self.work = self._exchange.work(token)
        if self.work is None:
            self._step(request, token)
        else:
            self._waits = True
            self._taken = request, token

    def _step(self, request: Request | None, token: bytes) -> None:
        exchange = self._exchange
        assert exchange is not None
        try:
            outcome = exchange.step(token)
        except AuthenticationFailed as failure:
            self.user = exchange.user
            self._reject(request, failure)
            return
        except CannotTell as reason:
            self._fail(Failure(str(reason)))
            return
        self.user = exchange.user
        lifetime = 0
        if exchange.identity is not None:
            session = self._accepts.session(exchange.identity)
            lifetime = session.lifetime_ms
            self._prove(session.identity)
        self._respond(request, outcome, lifetime)

    # -- outcomes of steps -------------------------------------------------------------------------

    def _respond(self, request: Request | None, token: bytes, lifetime_ms: int) -> None:
        """Send the mechanism's token, in a response or bare."""
        if request is None:
            self.to_client.append(frame(token))
        else:
            body = authenticate_answer(request.version, token, lifetime_ms)
            self.to_client.append(request.reply(body))

    def _prove(self, identity: Identity) -> None:
        self._state = State.OVER
        self.identity = identity

    def _reject(self, request: Request | None, failure: AuthenticationFailed) -> None:
        response = b""
        if request is not None:
            rejection = authenticate_rejection(request.version, self.mechanism, failure)
            response = request.reply(rejection)
        self._fail(Failure(failure.reason, response))

    def _fail(self, failure: Failure) -> None:
        self._state = State.OVER
        self.failed = failure

    # -- requests ----------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Continue to read after a step that waited (``_waits``)."""
        self._waits = False
        self._read()

    def _read(self) -> None:
        """Process the frames received so far."""
        held, position = self._held, 0
        while self._state is not State.OVER and not self._waits:
            if len(held) - position < _SIZE.size:
                break
            start = position + _SIZE.size
            size: int = _SIZE.unpack_from(held, position)[0]
            if size < (0 if self._state is State.TOKENS else MIN_REQUEST):
                raise ProtocolError(f"a frame of {size} bytes during login")
            if _SIZE.size + size > self._left:
                raise ProtocolError(self._too_much)
            if start + size > len(held):
                break
            self._left -= _SIZE.size + size
            position = start + size
            self._frame(bytes(held[start:position]))
        del held[:position]
        if self._state is State.OVER:
            self.rest = bytes(held) if self.identity is not None else b""
            held.clear()
        elif len(held) > self._left:
            raise ProtocolError(self._too_much)

    @property
    def _too_much(self) -> str:
        return f"more than {self._max_bytes} bytes during login"

    def _frame(self, payload: bytes) -> None:
        if self._state is State.TOKENS:
            self._token(None, payload)
            return
        api_key, version, correlation_id = _HEAD.unpack_from(payload)
        step = _STEPS.get((self._state, api_key))
        if step is None:
            raise ProtocolError(f"API key {api_key} at this point of a login")
        if version not in step.versions:
            if api_key != API_VERSIONS:
                raise ProtocolError(f"API key {api_key} version {version} during login")
            # KIP-511: a client whose version is too new gets a response of version 0, and retries.
            self._tries -= 1
            if self._tries < 0:
                raise ProtocolError(f"API versions asked for in over {MAX_VERSION_TRIES} versions")
            request = Request(api_key, version, correlation_id, b"")
            self.to_client.append(request.reply(api_versions.unsupported_version()))
            return
        body_at = read_request_header(payload, 0, len(payload))[4]
        step.take(self, Request(api_key, version, correlation_id, payload[body_at:]))

    def _on_versions(self, request: Request) -> None:
        version = request.version
        body = request_body("ApiVersions", version, request.body)
        try:
            self.software = api_versions.client_software(version, body)
        except api_versions.InvalidClientSoftware:
            self.to_client.append(request.reply(api_versions.rejected(version, INVALID_REQUEST)))
            return
        self.to_client.append(request.reply(self._versions(version)))
        self._state = State.HANDSHAKE

    def _on_handshake(self, request: Request) -> None:
        version, offered = request.version, self._accepts.names
        mechanism = parse(HANDSHAKE, version, request.body).mechanism
        if mechanism not in offered:
            answer = handshake_answer(version, offered, UNSUPPORTED_SASL_MECHANISM)
            self._fail(Failure("it chose a mechanism that is not enabled", request.reply(answer)))
            return
        self.mechanism = mechanism
        self._state = State.AUTHENTICATE if version else State.TOKENS
        self._begin(request)

    def _on_authenticate(self, request: Request) -> None:
        self._token(request, parse(AUTHENTICATE, request.version, request.body).auth_bytes)


class Step(NamedTuple):
    """A request that is accepted in a state: its versions, and its handler."""

    versions: range
    take: Callable[[Login, Request], None]


_VERSIONS: Final = Step(
    range(api_versions.OWN_VERSIONS[0], api_versions.OWN_VERSIONS[1] + 1), Login._on_versions
)
_HANDSHAKE: Final = Step(range(2), Login._on_handshake)
_AUTHENTICATE: Final = Step(range(3), Login._on_authenticate)

_SASL_HANDSHAKE: Final = api_key_of(f"{HANDSHAKE}Request")
_SASL_AUTHENTICATE: Final = api_key_of(f"{AUTHENTICATE}Request")

_STEPS: Final[dict[tuple[State, int], Step]] = {
    (State.START, API_VERSIONS): _VERSIONS,
    (State.START, _SASL_HANDSHAKE): _HANDSHAKE,
    (State.HANDSHAKE, _SASL_HANDSHAKE): _HANDSHAKE,
    (State.AUTHENTICATE, _SASL_AUTHENTICATE): _AUTHENTICATE,
}
"""The requests accepted in each state; bare tokens have no API key."""
