"""gateway.auth.pass_through: a broker's response proves nothing unless it belongs there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.auth.pass_through import MAX_ANSWER, PassThroughLogin
from gateway.brokers.messages import request_frame
from protocol import messages
from protocol.errors import ProtocolError
from tests.auth.passing_client import SCRAM, PassingClient, broker_of, login_of
from tests.auth.sasl_broker import Outcome


@pytest.mark.parametrize("mechanism", SCRAM)
@pytest.mark.parametrize("challenge", [b"", b"v=AAAA", b"r=other,s=AAAA,i=4096", b"\xff"])
def test_success_without_a_proof(mechanism: str, challenge: bytes) -> None:
    broker = broker_of()
    broker.lies.append(Outcome(challenge))
    client = PassingClient(login_of(), broker)
    client.handshake(mechanism)
    answer = client.token(b"n,,n=alice,r=abc")
    assert int(answer.error_code) == 58
    assert client.login.identity is None


def test_an_answer_to_nothing() -> None:
    login = login_of()
    client = PassingClient(login, broker_of())
    client.handshake("PLAIN")
    with pytest.raises(ProtocolError, match="more than it was asked"):
        login.broker_data(b"\0\0\0\x04\0\0\0\x02")
    assert login.identity is None


def test_two_answers_to_one_question() -> None:
    broker = broker_of()
    client = PassingClient(login_of(), broker)
    client.handshake("PLAIN")
    broker.spoil = lambda answer: answer * 2
    with pytest.raises(ProtocolError, match="more than it was asked"):
        client.token(b"\0alice\0alice-secret")
    assert client.login.identity is None


def test_the_answer_to_another_question() -> None:
    broker = broker_of()
    client = PassingClient(login_of(), broker)
    client.handshake("PLAIN")
    broker.spoil = lambda answer: answer[:4] + b"\0\0\0\x63" + answer[8:]
    with pytest.raises(ProtocolError, match="correlation id 99"):
        client.token(b"\0alice\0alice-secret")
    assert client.login.identity is None


@pytest.mark.parametrize("size", [-1, 0, 3, MAX_ANSWER + 1])
def test_sizes_that_make_no_sense(size: int) -> None:
    login = login_of()
    client_asks(login, "PLAIN")
    login.broker_ready()
    with pytest.raises(ProtocolError, match=f"{size} bytes announced"):
        login.broker_data(size.to_bytes(4, "big", signed=True))


@given(garbage=st.binary(min_size=4, max_size=60))
def test_garbage_for_an_answer_proves_nothing(garbage: bytes) -> None:
    broker = broker_of()
    client = PassingClient(login_of(), broker)
    client.handshake("PLAIN")
    broker.spoil = lambda answer: len(garbage).to_bytes(4, "big") + answer[4:8] + garbage[4:]
    try:
        client.token(b"\0alice\0wrong")
    except ProtocolError:
        return
    assert client.login.identity is None or garbage[4:7] == b"\0\0\0"


def client_asks(login: PassThroughLogin, mechanism: str) -> None:
    """Send a SaslHandshake that the broker has not got yet."""
    entity = messages.build(messages.message_class("SaslHandshakeRequest", 1), mechanism=mechanism)
    login.data(request_frame("SaslHandshakeRequest", 1, 1, entity))
