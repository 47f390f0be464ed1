"""A client whose login passes through to a broker, all in this process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from scramp import ScramClient

from gateway.auth.mechanisms import Mechanisms
from gateway.auth.pass_through import PassThrough, PassThroughLogin
from gateway.brokers.messages import request_frame, response_body, response_entity
from gateway.config.security import ListenerSasl
from protocol import messages
from tests.auth.bearer_tokens import bearer, jwt
from tests.auth.sasl_broker import ALL, AUTHENTICATE, SaslBroker

NOW = 1_000_000.0
SECRET = "alice-secret"  # noqa: S105
LIMIT = 4_096
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")


def mechanisms_of(names: Sequence[Any] = ALL, **options: Any) -> Mechanisms:
    sasl = ListenerSasl(mechanisms=tuple(names), pass_through=True, **options)
    return Mechanisms(sasl, "listeners[0].sasl", dict, lambda: NOW)


def through_of(
    names: Sequence[Any] = ALL, served: tuple[int, int] = (0, 2), **options: Any
) -> PassThrough:
    """``served`` are the versions of SaslAuthenticate that brokers have."""
    accepts = mechanisms_of(names, **options)
    return PassThrough(accepts, "sub", lambda: {AUTHENTICATE: served}, lambda: NOW)


def login_of(names: Sequence[Any] = ALL, limit: int = LIMIT, **options: Any) -> PassThroughLogin:
    return PassThroughLogin(through_of(names, **options), lambda _: b"versions", limit)


def broker_of(**options: Any) -> SaslBroker:
    return SaslBroker({"alice": SECRET}, **options)


@dataclass
class PassingClient:
    """Sends requests to a login and reads its responses, with the broker behind it.

    ``cut`` cuts the bytes of both sides into pieces.
    """

    login: PassThroughLogin
    broker: SaslBroker
    cut: Callable[[bytes], Sequence[bytes]] = lambda data: [data]
    connected: bool = False
    received: bytes = b""
    asked: list[tuple[str, int, int]] = field(default_factory=list)

    def send(self, data: bytes) -> None:
        for piece in self.cut(data):
            self.login.data(piece)
            self.pump()

    def pump(self) -> None:
        login = self.login
        self.received += b"".join(login.to_client)
        login.to_client.clear()
        if login.failed is not None:
            return
        if login.wants_broker and not self.connected:
            self.connected = True
            login.broker_ready()
        while login.to_broker and login.failed is None:
            sent = b"".join(login.to_broker)
            login.to_broker.clear()
            for piece in self.cut(self.broker.take(sent)):
                login.broker_data(piece)
            self.received += b"".join(login.to_client)
            login.to_client.clear()

    def ask(self, name: str, version: int, entity: Any) -> Any:
        """The response entity; the response of a failure is in ``login.failed``."""
        number = len(self.asked) + 7
        self.asked.append((name, version, number))
        self.send(request_frame(name, version, number, entity))
        return self.answer()

    def answer(self) -> Any:
        name, version, number = self.asked[-1]
        failed = self.login.failed
        response = failed.response if failed is not None else self.received
        if failed is None:
            self.received = b""
        if not response:
            return None
        assert int.from_bytes(response[:4], "big") == len(response) - 4
        return response_entity(name, version, response_body(name, version, number, response[4:]))

    def handshake(self, mechanism: str, version: int = 1) -> Any:
        message = messages.message_class("SaslHandshakeRequest", version)
        entity = messages.build(message, mechanism=mechanism)
        return self.ask("SaslHandshakeRequest", version, entity)

    def token(self, token: bytes, version: int = 2) -> Any:
        message = messages.message_class("SaslAuthenticateRequest", version)
        entity = messages.build(message, auth_bytes=token)
        return self.ask("SaslAuthenticateRequest", version, entity)

    def log_in(self, mechanism: str, version: int = 2, password: str = SECRET) -> Any:
        """Carry an exchange out to its end; returns the last response."""
        self.handshake(mechanism)
        honest = HonestTokens(mechanism, password)
        answer = self.token(honest.first, version)
        while not int(answer.error_code) and (token := honest.after(answer.auth_bytes)) is not None:
            answer = self.token(token, version)
        return answer


class HonestTokens:
    """The tokens of an honest client: ``first``, and the response to a challenge."""

    def __init__(self, mechanism: str, password: str = SECRET) -> None:
        self._scram: ScramClient | None = None
        self._challenges = 0
        if mechanism == "PLAIN":
            self.first = f"\0alice\0{password}".encode()
        elif mechanism == "OAUTHBEARER":
            self.first = bearer(jwt({"sub": "alice"}))
        else:
            self._scram = ScramClient([mechanism], "alice", password)
            self.first = self._scram.get_client_first().encode()

    def after(self, challenge: bytes) -> bytes | None:
        """The next token, or None if the last token was sent, and the broker has proved itself."""
        self._challenges += 1
        if self._scram is None:
            return None
        if self._challenges > 1:
            self._scram.set_server_final(challenge.decode())
            return None
        self._scram.set_server_first(challenge.decode())
        return bytes(self._scram.get_client_final(), "utf-8")
