"""Re-authentication on one connection (KIP-368): a broker and the gateway answer alike.

Each sequence of requests is sent on a connection that has just logged in to a broker 4.3.1 with
``connections.max.reauth.ms``, and to a listener of the gateway with ``max_reauth_seconds``. What
comes back is compared: the error code of each response, and whether the connection is served
afterwards or closed. ``DIFFERENT`` has the sequences that the gateway answers otherwise, and why.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest
from scramp import ScramClient

from devkit.gateway_config import Listener
from devkit.gateway_process import GatewayProcess
from protocol import messages
from protocol.schema import api_key_of
from tests.live.support import sasl
from tests.live.support.secured_brokers import PASSWORDS, SecuredBrokers
from tests.live.support.wire import ConnectionEnded, Wire, entity, request_frame

pytestmark = pytest.mark.long("kills")  # it starts a broker, and waits for a second to pass

SESSION_SECONDS: Final = 600
SECOND: Final = 1.1
"""After so many seconds a connection may begin another re-authentication
(KafkaChannel.MIN_REAUTH_INTERVAL_ONE_SECOND_NANOS)."""

UNLIMITED: Final = "SCRAM-SHA-256"
"""The mechanism whose sessions last as long as their connections, at the broker and at the
listener ``unlimited``."""


@pytest.fixture(scope="module")
def brokers() -> Iterator[SecuredBrokers]:
    key = "listener.name.sasl_plaintext.{}.connections.max.reauth.ms"
    limited = ("plain", "scram-sha-512")
    overrides = {key.format(one): str(SESSION_SECONDS * 1_000) for one in limited}
    with SecuredBrokers(overrides=overrides) as started:
        yield started


@pytest.fixture(scope="module")
def gateway(brokers: SecuredBrokers) -> Iterator[GatewayProcess]:
    users = {}
    for user in ("alice", "bob"):
        (brokers.directory / user).write_text(PASSWORDS[user])
        users[user] = {"file": str(brokers.directory / user)}
    own = {"mechanisms": ["PLAIN", UNLIMITED, "SCRAM-SHA-512"], "users": users}
    limited = {**own, "max_reauth_seconds": float(SESSION_SECONDS)}
    listeners = [Listener("all", "asks nobody")] + [
        Listener(name, "logs in", security={"security_protocol": "SASL_PLAINTEXT", "sasl": one})
        for name, one in (("limited", limited), ("unlimited", own))
    ]
    security = brokers.identity("SASL_PLAINTEXT", UNLIMITED)
    with brokers.gateway(security, listeners) as started:
        for mechanism in ("SCRAM-SHA-512", UNLIMITED):
            servers = started.bootstrap_servers("all")
            sasl.set_password(servers, "alice", PASSWORDS["alice"], mechanism)
        yield started


class Talk:
    """The requests of a sequence, and what came back, in ``told``: the error code of a response,
    ``answered`` if it has none, and at the end ``served`` or ``closed``."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.told: list[object] = []

    def ask(self, name: str, version: int, **values: object) -> Any:
        """Send a request; returns its response, or None on a closed connection."""
        if self.told[-1:] == ["closed"]:
            return None
        try:
            answer = self.wire.ask(name, version, **values)
        except (ConnectionEnded, ConnectionError):
            self.told.append("closed")
            return None
        code = getattr(answer, "error_code", None)
        self.told.append("answered" if code is None else int(code))
        return answer

    def handshake(self, mechanism: str = "PLAIN", version: int = 1) -> Any:
        return self.ask("SaslHandshake", version, mechanism=mechanism)

    def prove(self, user: str = "alice", version: int = 2) -> Any:
        return self.token(f"\0{user}\0{PASSWORDS[user]}".encode(), version)

    def token(self, token: bytes, version: int = 2) -> Any:
        return self.ask("SaslAuthenticate", version, auth_bytes=token)

    def again(self, **values: Any) -> None:
        """A whole re-authentication."""
        self.handshake()
        self.prove(**values)

    def raw(self, *frames: bytes) -> None:
        """Send bytes in one piece, and read as many responses as there are frames: each is the
        correlation id and the first two bytes of its body, which are an error code in responses to
        SaslHandshake and, behind a tag buffer, to SaslAuthenticate v2."""
        try:
            self.wire.send(b"".join(frames))
            for _ in frames:
                payload = self.wire.frame()
                self.told.append((int.from_bytes(payload[:4], "big"), payload[4:7].hex()))
        except (ConnectionEnded, ConnectionError):
            self.told.append("closed")

    def end(self) -> list[object]:
        """What came back, and what becomes of the connection."""
        if self.told[-1:] != ["closed"]:
            try:
                self.wire.ask("Metadata", 4, topics=[], allow_auto_topic_creation=False)
                self.told.append("served")
            except (ConnectionEnded, ConnectionError):
                self.told.append("closed")
        return self.told


def framed(name: str, version: int, correlation_id: int, **values: object) -> bytes:
    request = messages.write(entity(messages.message_class(f"{name}Request", version), values))
    header = 2 if (name, version) == ("SaslAuthenticate", 2) else 1
    return request_frame(api_key_of(f"{name}Request"), version, request, correlation_id, header)


PROOF: Final = f"\0alice\0{PASSWORDS['alice']}".encode()
HANDSHAKE: Final = framed("SaslHandshake", 1, 21, mechanism="PLAIN")
TOKEN: Final = framed("SaslAuthenticate", 2, 22, auth_bytes=PROOF)
METADATA: Final = framed("Metadata", 4, 23, topics=[], allow_auto_topic_creation=False)


# -- sequences ------------------------------------------------------------------------------------


def nothing(talk: Talk) -> None:
    pass


def again_at_once(talk: Talk) -> None:
    """The first one may begin at any time."""
    talk.again()


def again_in_older_versions(talk: Talk) -> None:
    talk.again(version=0)
    time.sleep(SECOND)
    talk.again(version=1)


def twice_at_once(talk: Talk) -> None:
    talk.again()
    talk.again()


def twice_in_one_piece(talk: Talk) -> None:
    talk.raw(HANDSHAKE, TOKEN, HANDSHAKE, TOKEN)


def twice_after_a_second(talk: Talk) -> None:
    talk.again()
    time.sleep(SECOND)
    talk.again()


def one_too_soon_and_another(talk: Talk) -> None:
    """An attempt that came too soon does not count."""
    talk.again()
    time.sleep(SECOND / 2)
    talk.handshake()
    time.sleep(SECOND / 2)
    talk.again()


def another_handshake_within_it(talk: Talk) -> None:
    talk.handshake()
    talk.handshake()
    talk.prove()


def another_handshake_within_it_after_a_second(talk: Talk) -> None:
    talk.handshake()
    time.sleep(SECOND)
    talk.handshake()


def another_handshake_between_tokens(talk: Talk) -> None:
    """A mechanism with several tokens."""
    talk.handshake("SCRAM-SHA-512")
    client = ScramClient(["SCRAM-SHA-512"], "alice", PASSWORDS["alice"])
    talk.token(client.get_client_first().encode())
    talk.handshake("SCRAM-SHA-512")


def another_mechanism(talk: Talk) -> None:
    talk.handshake("SCRAM-SHA-512")
    talk.prove()


def a_mechanism_that_is_not_enabled(talk: Talk) -> None:
    answer = talk.handshake("GSSAPI")
    talk.told.append(bool(answer and answer.mechanisms))


def another_user(talk: Talk) -> None:
    talk.handshake()
    talk.prove("bob")


def a_wrong_password(talk: Talk) -> None:
    talk.handshake()
    talk.token(b"\0alice\0wrong")


def garbage_for_a_token(talk: Talk) -> None:
    talk.handshake()
    talk.token(b"\xff\x00\xff garbage")


def an_empty_token(talk: Talk) -> None:
    talk.handshake()
    talk.token(b"")


def garbage_for_a_request(talk: Talk) -> None:
    talk.handshake()
    talk.raw(b"\x00\x00\x00\x10" + b"\xff" * 16)


def metadata_within_it(talk: Talk) -> None:
    talk.handshake()
    talk.ask("Metadata", 4, topics=[], allow_auto_topic_creation=False)


def versions_within_it(talk: Talk) -> None:
    talk.handshake()
    talk.ask("ApiVersions", 0)


def a_token_alone(talk: Talk) -> None:
    talk.prove()


def a_token_too_many(talk: Talk) -> None:
    talk.again()
    talk.prove()


def requests_behind_it_in_one_piece(talk: Talk) -> None:
    talk.raw(HANDSHAKE, TOKEN, METADATA)


def requests_behind_a_failure_in_one_piece(talk: Talk) -> None:
    wrong = framed("SaslAuthenticate", 2, 22, auth_bytes=b"\0alice\0wrong")
    talk.raw(HANDSHAKE, wrong, METADATA)


def bare_tokens(talk: Talk) -> None:
    """SaslHandshake v0 announces tokens without a header."""
    talk.handshake(version=0)
    if talk.told == [0]:
        talk.raw(len(PROOF).to_bytes(4, "big") + PROOF)


SEQUENCES: Final[tuple[Callable[[Talk], None], ...]] = (
    nothing,
    again_at_once,
    again_in_older_versions,
    twice_at_once,
    twice_in_one_piece,
    twice_after_a_second,
    one_too_soon_and_another,
    another_handshake_within_it,
    another_handshake_within_it_after_a_second,
    another_handshake_between_tokens,
    another_mechanism,
    a_mechanism_that_is_not_enabled,
    another_user,
    a_wrong_password,
    garbage_for_a_token,
    an_empty_token,
    garbage_for_a_request,
    metadata_within_it,
    versions_within_it,
    a_token_alone,
    a_token_too_many,
    requests_behind_it_in_one_piece,
    requests_behind_a_failure_in_one_piece,
    bare_tokens,
)

DIFFERENT: Final[Mapping[Callable[[Talk], None], list[object]]] = {
    # A broker closes the connection without a response to the token; the client gets the reason.
    another_mechanism: [0, 58, "closed"],
    # A broker's response is lost as it closes the connection.
    a_mechanism_that_is_not_enabled: [33, True, "closed"],
    # A broker has put the session aside until it is proved again. The gateway keeps it, so what
    # comes meanwhile has the rights of the present identity, and no longer than until its end.
    metadata_within_it: [0, "answered", "served"],
    versions_within_it: [0, 0, "served"],
    # Bare tokens could not be told from requests. Clients of SaslHandshake v0 know no KIP-368.
    bare_tokens: [34, "served"],
}
"""What the gateway does differently, and why."""


def outcomes(address: str) -> dict[str, list[object]]:
    """What comes of each sequence, on a connection of its own, all at the same time."""

    def take(sequence: Callable[[Talk], None]) -> list[object]:
        with Wire(address) as wire:
            first = "SCRAM-SHA-512" if sequence is another_handshake_between_tokens else "PLAIN"
            answer = sasl.log_in(wire, first)
            assert int(answer.error_code) == 0
            assert 0 < answer.session_lifetime.total_seconds() <= SESSION_SECONDS
            talk = Talk(wire)
            sequence(talk)
            return talk.end()

    with ThreadPoolExecutor(len(SEQUENCES)) as pool:
        taken = {sequence.__name__: pool.submit(take, sequence) for sequence in SEQUENCES}
        return {name: future.result() for name, future in taken.items()}


def test_what_a_broker_answers_the_gateway_answers(
    brokers: SecuredBrokers, gateway: GatewayProcess
) -> None:
    direct = outcomes(brokers.kafka.servers("SASL_PLAINTEXT"))
    through = outcomes(gateway.bootstrap_servers("limited"))
    different = {sequence.__name__: told for sequence, told in DIFFERENT.items()}
    assert through == direct | different
    assert not [name for name, told in different.items() if direct[name] == told]


def test_sessions_that_do_not_end(brokers: SecuredBrokers, gateway: GatewayProcess) -> None:
    """Where a session lasts as long as its connection, a broker begins no re-authentication."""
    told = []
    for address in (
        brokers.kafka.servers("SASL_PLAINTEXT"),
        gateway.bootstrap_servers("unlimited"),
    ):
        with Wire(address) as wire:
            answer = sasl.log_in(wire, UNLIMITED)
            assert not answer.session_lifetime.total_seconds()
            talk = Talk(wire)
            answer = talk.handshake(UNLIMITED)
            talk.told.append(bool(answer and answer.mechanisms))
            talk.prove()
            told.append(talk.end())
    direct, through = told
    assert through == direct
