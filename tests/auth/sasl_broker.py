"""A broker that lets users log in by SASL: bytes in, bytes out."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from kio.schema.errors import ErrorCode
from scramp import ScramException, ScramMechanism

from protocol import messages
from protocol.headers import frame, read_request_header, response_header, response_header_version

HANDSHAKE, API_VERSIONS, AUTHENTICATE = 17, 18, 36
ALL = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
REFUSED = "Authentication failed, says the broker"


@dataclass(frozen=True)
class Asked:
    api_key: int
    version: int
    correlation_id: int
    body: bytes


@dataclass
class Outcome:
    """The outcome of a token."""

    challenge: bytes = b""
    error: int = 0
    message: str | None = None
    lifetime_ms: int = 0


class SaslBroker:
    """Knows ``users``, name to password; believes every OAUTHBEARER token but ``bad``.

    ``lies`` are outcomes that take the place of the true ones, in order (None: no lie). ``spoil``
    changes the bytes of every response.
    """

    def __init__(
        self,
        users: Mapping[str, str],
        mechanisms: Sequence[str] = ALL,
        lifetime_ms: int = 0,
        handshake_error: int = 0,
    ) -> None:
        self.users = users
        self.mechanisms = tuple(mechanisms)
        self.lifetime_ms = lifetime_ms
        self.handshake_error = handshake_error
        self.iterations = 4_096
        self.asked: list[Asked] = []
        self.tokens: list[bytes] = []
        self.logins: list[str] = []
        self.lies: deque[Outcome | None] = deque()
        self.spoil: Callable[[bytes], bytes] = bytes
        self._held = b""
        self._mechanism = ""
        self._step = 0
        self._scram: Any = None
        self._user = ""

    def take(self, data: bytes) -> bytes:
        """The responses to the requests that are whole now."""
        self._held += data
        answers = b""
        while len(self._held) >= 4:
            end = 4 + int.from_bytes(self._held[:4], "big")
            if len(self._held) < end:
                break
            payload, self._held = self._held[4:end], self._held[end:]
            answers += self.spoil(self._answer(payload))
        return answers

    def _answer(self, payload: bytes) -> bytes:
        api_key, version, correlation_id, _, start = read_request_header(payload, 0, len(payload))
        asked = Asked(api_key, version, correlation_id, payload[start:])
        self.asked.append(asked)
        body = self._handshake(asked) if api_key == HANDSHAKE else self._authenticate(asked)
        header = response_header(correlation_id, response_header_version(api_key, version))
        return frame(header, body)

    def _handshake(self, asked: Asked) -> bytes:
        request = messages.parse("SaslHandshakeRequest", asked.version, asked.body)
        self._mechanism, self._step = request.mechanism, 0
        error = 0 if request.mechanism in self.mechanisms else 33
        message = messages.message_class("SaslHandshakeResponse", asked.version)
        return messages.write(
            messages.build(
                message,
                error_code=ErrorCode(self.handshake_error or error),
                mechanisms=self.mechanisms,
            )
        )

    def _authenticate(self, asked: Asked) -> bytes:
        request = messages.parse("SaslAuthenticateRequest", asked.version, asked.body)
        self.tokens.append(request.auth_bytes)
        lie = self.lies.popleft() if self.lies else None
        outcome = lie or self._outcome(request.auth_bytes)
        message = messages.message_class("SaslAuthenticateResponse", asked.version)
        values = {"session_lifetime": timedelta(milliseconds=outcome.lifetime_ms)}
        return messages.write(
            messages.build(
                message,
                error_code=ErrorCode(outcome.error),
                error_message=outcome.message,
                auth_bytes=outcome.challenge,
                **(values if asked.version else {}),
            )
        )

    def _outcome(self, token: bytes) -> Outcome:
        self._step += 1
        if self._mechanism == "PLAIN":
            _, user, password = token.decode().split("\0")
            return self._done(user) if self.users.get(user) == password else _rejected()
        if self._mechanism == "OAUTHBEARER":
            if token == b"\x01":
                return _rejected()
            bad = b".bad" in token
            return Outcome(b'{"status":"invalid_token"}') if bad else self._done(token.decode())
        try:
            return self._scram_outcome(token.decode())
        except ScramException:
            return _rejected()

    def _scram_outcome(self, token: str) -> Outcome:
        if self._step == 1:
            mechanism = ScramMechanism(self._mechanism)

            def look_up(user: str) -> Any:
                self._user = user
                return mechanism.make_auth_info(self.users[user], iteration_count=self.iterations)

            self._scram = mechanism.make_server(look_up)
            self._scram.set_client_first(token)
            return Outcome(self._scram.get_server_first().encode())
        self._scram.set_client_final(token)
        return self._done(self._user, self._scram.get_server_final().encode())

    def _done(self, user: str, challenge: bytes = b"") -> Outcome:
        self.logins.append(user)
        return Outcome(challenge, lifetime_ms=self.lifetime_ms)


def _rejected() -> Outcome:
    return Outcome(error=58, message=REFUSED)
