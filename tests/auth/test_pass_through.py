"""gateway.auth.pass_through: logins that a broker of this process decides."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.brokers.messages import request_frame
from gateway.identity import Identity
from protocol import messages
from protocol.errors import ProtocolError
from tests.auth.bearer_tokens import bearer, jwt
from tests.auth.passing_client import (
    NOW,
    SCRAM,
    SECRET,
    HonestTokens,
    PassingClient,
    broker_of,
    login_of,
)
from tests.auth.sasl_broker import ALL, HANDSHAKE, REFUSED


@pytest.mark.parametrize("mechanism", ALL)
@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_principal_is_adopted_when_the_broker_has_accepted_it(
    mechanism: str, version: int
) -> None:
    client = PassingClient(login_of(), broker_of())
    answer = client.log_in(mechanism, version)
    assert client.login.identity == Identity("User:alice", mechanism)
    assert client.login.failed is None
    assert (int(answer.error_code), len(client.broker.logins)) == (0, 1)
    assert client.login.user == "alice"
    assert client.login.mechanism == mechanism


@pytest.mark.parametrize("mechanism", ALL)
def test_not_before_the_last_answer(mechanism: str) -> None:
    client = PassingClient(login_of(), broker_of())
    client.handshake(mechanism)
    login, honest = client.login, HonestTokens(mechanism)
    token: bytes | None = honest.first
    while token is not None:
        assert login.identity is None
        login.data(request_frame(*_token(token, 7)))
        assert login.identity is None
        assert not login.to_client
        client.asked.append(("SaslAuthenticateRequest", 2, 7))
        client.pump()
        token = honest.after(client.answer().auth_bytes)
    assert login.identity is not None


@pytest.mark.parametrize("newest", [1, 2])
def test_the_broker_is_asked_what_the_client_asks(newest: int) -> None:
    client = PassingClient(login_of(served=(0, newest)), broker_of())
    client.log_in("PLAIN", version=0)
    handshake, token = client.broker.asked
    assert (handshake.api_key, handshake.version) == (HANDSHAKE, 1)
    assert token.version == newest
    assert client.broker.tokens == [f"\0alice\0{SECRET}".encode()]


def test_no_broker_is_asked_before_the_client_has_chosen() -> None:
    login = login_of()
    login.data(request_frame("ApiVersionsRequest", 0, 1, _versions_request()))
    assert not login.wants_broker
    assert login.to_client
    assert not login.to_broker


def test_tokens_without_requests_around_them() -> None:
    """SaslHandshake v0, of clients before Kafka 1.0."""
    client = PassingClient(login_of(), broker_of())
    client.handshake("SCRAM-SHA-256", version=0)
    honest = HonestTokens("SCRAM-SHA-256")
    token: bytes | None = honest.first
    while token is not None:
        client.send(len(token).to_bytes(4, "big") + token)
        challenge, client.received = client.received[4:], b""
        token = honest.after(challenge)
    assert client.login.identity == Identity("User:alice", "SCRAM-SHA-256")


def test_the_answer_to_the_handshake_names_what_both_have() -> None:
    client = PassingClient(
        login_of(["PLAIN", "SCRAM-SHA-256"]), broker_of(mechanisms=["PLAIN", "GSSAPI"])
    )
    answer = client.handshake("PLAIN")
    assert (int(answer.error_code), answer.mechanisms) == (0, ("PLAIN",))


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("mechanism", ["GSSAPI", "SCRAM-SHA-1", "", "plain"])
def test_a_mechanism_that_the_listener_has_not(mechanism: str, version: int) -> None:
    client = PassingClient(login_of(["PLAIN"]), broker_of(mechanisms=["PLAIN", mechanism]))
    answer = client.handshake(mechanism, version)
    assert (int(answer.error_code), answer.mechanisms) == (33, ("PLAIN",))
    assert not client.connected


@pytest.mark.parametrize("version", [0, 1])
def test_a_mechanism_that_the_broker_has_not(version: int) -> None:
    client = PassingClient(
        login_of(["PLAIN", "SCRAM-SHA-256"]), broker_of(mechanisms=["SCRAM-SHA-256"])
    )
    answer = client.handshake("PLAIN", version)
    assert (int(answer.error_code), answer.mechanisms) == (33, ("SCRAM-SHA-256",))
    assert client.login.failed is not None
    assert client.login.failed.reason == "the broker does not offer the mechanism"


def test_a_broker_without_sasl() -> None:
    client = PassingClient(login_of(), broker_of(handshake_error=34))
    assert client.handshake("PLAIN") is None
    assert client.login.failed is not None
    assert client.login.failed.reason == "the broker answers SaslHandshake with error 34"


@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAM])
@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_wrong_password(mechanism: str, version: int) -> None:
    client = PassingClient(login_of(), broker_of())
    answer = client.log_in(mechanism, version, "wrong")
    assert int(answer.error_code) == 58
    assert answer.error_message == (
        f"Authentication with {mechanism} failed: the credentials are not valid."
    )
    assert client.login.identity is None
    assert client.login.failed is not None
    assert client.login.failed.reason == f"the broker refuses it ({REFUSED})"


def test_a_token_that_the_broker_challenges() -> None:
    client = PassingClient(login_of(), broker_of())
    client.handshake("OAUTHBEARER")
    challenge = client.token(bearer(jwt({"sub": "alice"}, signature="bad")))
    assert (int(challenge.error_code), challenge.auth_bytes) == (0, b'{"status":"invalid_token"}')
    assert client.login.identity is None
    rejection = client.token(b"\x01")
    assert int(rejection.error_code) == 58
    assert client.login.identity is None


@pytest.mark.parametrize(
    ("mechanism", "token"),
    [
        ("PLAIN", b"bob\0alice\0alice-secret"),
        ("SCRAM-SHA-512", b"n,,n=token-id,r=abc,tokenauth=true"),
        ("SCRAM-SHA-256", b"n,a=bob,n=alice,r=abc"),
        ("OAUTHBEARER", bearer("a.b.c.d.e")),
    ],
)
@pytest.mark.parametrize("version", [0, 1, 2])
def test_what_hides_the_name_does_not_reach_the_broker(
    mechanism: str, token: bytes, version: int
) -> None:
    client = PassingClient(login_of(), broker_of())
    client.handshake(mechanism)
    assert int(client.token(token, version).error_code) == 58
    assert client.broker.tokens == []
    assert client.login.failed is not None


@pytest.mark.parametrize("mechanism", ALL)
@pytest.mark.parametrize(("lifetime_ms", "told"), [(60_000, 60_000), (1_234, 1_234)])
def test_the_brokers_session_is_the_clients(mechanism: str, lifetime_ms: int, told: int) -> None:
    client = PassingClient(login_of(), broker_of(lifetime_ms=lifetime_ms))
    answer = client.log_in(mechanism)
    assert answer.session_lifetime.total_seconds() * 1_000 == pytest.approx(told, abs=1)
    assert client.login.identity is not None
    assert client.login.identity.expires == pytest.approx(NOW + lifetime_ms / 1_000)


def test_the_listeners_own_limit_holds_too() -> None:
    client = PassingClient(login_of(max_reauth_seconds=10.0), broker_of(lifetime_ms=60_000))
    answer = client.log_in("PLAIN")
    assert answer.session_lifetime.total_seconds() == 10
    assert client.login.identity is not None
    assert client.login.identity.expires == NOW + 10


@pytest.mark.parametrize("mechanism", ALL)
def test_bytes_in_any_pieces(mechanism: str) -> None:
    whole = PassingClient(login_of(), broker_of())
    whole.log_in(mechanism)
    longest = max(len(token) for token in whole.broker.tokens) + 64
    for at in range(1, longest):
        client = PassingClient(login_of(), broker_of(), lambda data, at=at: [data[:at], data[at:]])  # type: ignore[misc]
        client.log_in(mechanism)
        assert client.login.identity == whole.login.identity, at
    client = PassingClient(login_of(), broker_of(), lambda data: [bytes([byte]) for byte in data])
    client.log_in(mechanism)
    assert client.login.identity == whole.login.identity


@pytest.mark.parametrize("mechanism", ALL)
def test_half_an_exchange_proves_nothing(mechanism: str) -> None:
    """The client's bytes end at every offset."""
    client = PassingClient(login_of(), broker_of())
    client.handshake(mechanism)
    honest = HonestTokens(mechanism)
    last: bytes | None = honest.first
    if mechanism in SCRAM:
        last = honest.after(client.token(honest.first).auth_bytes)
    assert last is not None
    whole = request_frame(*_token(last, 7))
    for at in range(len(whole)):
        client.login.data(whole[at : at + 1])
        assert client.login.identity is None
    client.pump()
    assert client.login.identity is not None


def test_a_broker_before_kafka_2_2() -> None:
    client = PassingClient(login_of(served=(0, 0)), broker_of())
    assert int(client.log_in("PLAIN").error_code) == 58
    assert client.broker.tokens == []
    assert client.login.failed is not None
    assert "Kafka 2.2" in client.login.failed.reason


def test_what_comes_behind_is_kept() -> None:
    login, broker = login_of(), broker_of()
    client = PassingClient(login, broker)
    client.handshake("PLAIN")
    whole = request_frame(*_token(f"\0alice\0{SECRET}".encode(), 8))
    client.send(whole + b"\0\0\0\x0crest")
    assert login.identity is not None
    assert login.rest == b"\0\0\0\x0crest"


def test_a_second_token_waits_for_the_answer_to_the_first() -> None:
    login, broker = login_of(), broker_of()
    client = PassingClient(login, broker)
    client.handshake("SCRAM-SHA-256")
    first = request_frame(*_token(b"n,,n=alice,r=abc", 8))
    login.data(first + request_frame(*_token(b"n,,n=alice,r=xyz", 9)))
    assert broker.tokens == []
    client.pump()
    assert len(broker.tokens) == 1
    assert login.failed is not None  # SCRAM has no such second token there


@pytest.mark.parametrize("mechanism", ALL)
def test_more_than_a_login_may_send(mechanism: str) -> None:
    client = PassingClient(login_of(limit=1_024), broker_of())
    client.handshake(mechanism)
    with pytest.raises(ProtocolError, match="more than 1024 bytes"):
        client.token(b"\0alice\0" + b"x" * 1_024)
    assert client.broker.tokens == []


def _versions_request() -> Any:
    return messages.build(messages.message_class("ApiVersionsRequest", 0))


def _token(token: bytes, number: int) -> tuple[str, int, int, Any]:
    message = messages.message_class("SaslAuthenticateRequest", 2)
    return "SaslAuthenticateRequest", 2, number, messages.build(message, auth_bytes=token)
