"""SaslHandshake and SaslAuthenticate on an open connection (KIP-368)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import time
from typing import Any

import pytest

from gateway.auth.exchange import Exchange
from gateway.exchanges.exchange import Unanswerable, Work
from gateway.identity import Identity
from protocol import messages
from protocol.errors import ProtocolError
from tests.auth.logins import Accepts, EchoExchange
from tests.session.pair import Pair, frames, request_frame, response_frame

ILLEGAL_SASL_STATE = 34
ALICE = Identity("User:alice", "ONE", time() + 3_600, "alice")


def authenticated(identity: Identity = ALICE) -> Pair:
    """A session of a client that has logged in, on a listener with the mechanisms ONE and TWO."""
    pair = Pair()
    pair.worker.sasl = {"test": Accepts(5_000)}
    pair.session.state.identity = identity
    return pair


def handshake(pair: Pair, mechanism: str = "ONE", version: int = 1) -> Any:
    entity = messages.build(
        messages.message_class("SaslHandshakeRequest", version), mechanism=mechanism
    )
    assert pair.ask("SaslHandshake", version, entity) is None
    return pair.answer("SaslHandshake", version)


def token(value: bytes, version: int = 2) -> bytes:
    entity = messages.build(
        messages.message_class("SaslAuthenticateRequest", version), auth_bytes=value
    )
    return request_frame("SaslAuthenticate", version, entity)


def failure(pair: Pair) -> str | None:
    """Why the connection ends behind its last response."""
    reauth = pair.session.state.reauth
    return None if reauth is None else reauth.failed


def step(pair: Pair, value: bytes, version: int = 2) -> Any:
    pair.send(token(value, version))
    assert pair.to_broker() == b""
    return pair.answer("SaslAuthenticate", version)


@pytest.mark.parametrize("version", range(3))
def test_the_same_again(version: int) -> None:
    pair = authenticated()
    assert not handshake(pair).error_code
    answer = step(pair, b"alice", version)
    assert (int(answer.error_code), answer.auth_bytes) == (0, b"done")
    reauth = pair.session.state.reauth
    assert reauth is not None
    assert reauth.identity == Identity("User:alice", "ONE")


@pytest.mark.parametrize(
    ("value", "reason"), [(b"bad", "it was bad"), (b"bob", "it changed the principal")]
)
def test_rejected(value: bytes, reason: str) -> None:
    pair = authenticated()
    handshake(pair)
    assert int(step(pair, value).error_code) == 58
    reauth = pair.session.state.reauth
    assert reauth is not None
    assert (reauth.identity, reauth.failed) == (None, reason)
    assert int(step(pair, b"alice").error_code) == ILLEGAL_SASL_STATE  # a second try is rejected


def test_the_slow_part_is_done_in_a_thread() -> None:
    pair, done = authenticated(), []

    class Slow(EchoExchange):
        def work(self, token: bytes) -> Callable[[], None]:
            return lambda: done.append(token)

    class Listener(Accepts):
        def begin(self, mechanism: str) -> Exchange:
            return Slow(1)

    async def verify(host: str, work: Callable[[], None]) -> None:
        assert host == pair.session.state.host
        assert not done
        work()

    pair.worker.sasl, pair.worker.verify = {"test": Listener(5_000)}, verify
    handshake(pair)
    assert not step(pair, b"alice").error_code
    assert done == [b"alice"]


def test_what_cannot_be_told_ends_the_connection() -> None:
    pair = authenticated()
    handshake(pair)
    with pytest.raises(Unanswerable, match="not now"):
        pair.send(token(b"wait"))


def test_a_mechanism_that_is_not_listed() -> None:
    pair = authenticated()
    answer = handshake(pair, "GSSAPI")
    assert (int(answer.error_code), answer.mechanisms) == (33, ("ONE", "TWO"))
    assert failure(pair) == "it chose a mechanism that is not enabled"
    assert int(step(pair, b"alice").error_code) == ILLEGAL_SASL_STATE


def test_a_session_that_lasts_as_long_as_its_connection() -> None:
    """There is nothing to prolong, so brokers begin no re-authentication."""
    pair = authenticated(replace(ALICE, expires=None))
    answer = handshake(pair)
    assert (int(answer.error_code), answer.mechanisms) == (ILLEGAL_SASL_STATE, ())
    assert pair.session.state.reauth is None
    assert int(step(pair, b"alice").error_code) == ILLEGAL_SASL_STATE


@pytest.mark.parametrize("version", [0, 1])
def test_a_listener_without_sasl(version: int) -> None:
    answer = handshake(Pair(), version=version)
    assert (int(answer.error_code), answer.mechanisms) == (ILLEGAL_SASL_STATE, ())


def test_bare_tokens_have_no_place_among_requests() -> None:
    pair = authenticated()
    assert int(handshake(pair, version=0).error_code) == ILLEGAL_SASL_STATE
    assert pair.session.state.reauth is None


def test_a_second_handshake_ends_it() -> None:
    """Otherwise an exchange could be begun again and again without ever being finished."""
    pair = authenticated()
    handshake(pair)
    began = pair.session.state.reauth
    assert int(handshake(pair).error_code) == ILLEGAL_SASL_STATE
    assert pair.session.state.reauth is began
    assert failure(pair) == "it sent another SaslHandshake"


def test_a_token_without_a_handshake() -> None:
    answer = step(authenticated(), b"alice")
    assert int(answer.error_code) == ILLEGAL_SASL_STATE
    assert answer.error_message == "SaslAuthenticate needs a SaslHandshake before it."


def test_requests_behind_a_token_wait_for_its_outcome() -> None:
    pair = authenticated()
    handshake(pair)
    heartbeat = messages.build(messages.message_class("HeartbeatRequest", 4), group_id="app")
    pair.session.client_data(token(b"alice") + request_frame("Heartbeat", 4, heartbeat))
    assert isinstance(pair.session.waiting, Work)
    assert pair.to_broker() == b""
    pair.send(b"")
    assert pair.to_broker()
    assert len(frames(pair.to_client())) == 1


def test_requests_behind_a_token_that_is_rejected_go_nowhere() -> None:
    pair = authenticated()
    handshake(pair)
    heartbeat = messages.build(messages.message_class("HeartbeatRequest", 4), group_id="app")
    pair.session.client_data(token(b"bad") + request_frame("Heartbeat", 4, heartbeat))
    pair.send(b"")
    assert pair.to_broker() == b""
    assert len(frames(pair.to_client())) == 1
    assert not pair.session.mid_request


def test_answers_keep_their_order() -> None:
    """Responses that the broker still owes come first."""
    pair = authenticated()
    heartbeat = messages.build(messages.message_class("HeartbeatRequest", 4), group_id="app")
    pair.send(request_frame("Heartbeat", 4, heartbeat, 6))
    handshake_request = messages.build(
        messages.message_class("SaslHandshakeRequest", 1), mechanism="ONE"
    )
    pair.send(request_frame("SaslHandshake", 1, handshake_request))
    assert pair.to_client() == b""
    answer = messages.build(messages.message_class("HeartbeatResponse", 4))
    pair.session.broker_data(response_frame("Heartbeat", 4, answer, 6))
    ids = [int.from_bytes(payload[:4], "big") for payload in frames(pair.to_client())]
    assert ids == [6, 7]


def test_a_broker_is_never_asked() -> None:
    pair = authenticated()
    handshake(pair)
    answer = messages.build(messages.message_class("SaslHandshakeResponse", 1))
    with pytest.raises(ProtocolError):
        pair.session.broker_data(response_frame("SaslHandshake", 1, answer))
