"""Interludes: requests that the gateway itself sends to the broker between two requests of the
client."""

from __future__ import annotations

from datetime import timedelta

import pytest

from gateway.exchanges.exchange import Interlude, Refresh
from gateway.session.own_requests import CORRELATION_ID, Asked, own_request
from protocol import messages
from protocol.errors import ProtocolError
from tests.session.pair import Pair, frames, request_frame, response_frame
from tests.session.producing import batch, produce
from tests.session.test_produce import RECORDS
from tests.session.test_session import (
    OWN,
    correlation_ids,
    heartbeat,
    heartbeat_response,
    metadata,
    waiting,
)


class Renewal:
    """A login on a connection that needs a single request."""

    def __init__(self, pair: Pair) -> None:
        self.session = pair.session
        self.interlude = Interlude(self._run)
        self.answers: list[bytes] = []

    def start(self) -> None:
        """Send the request that the session waits for."""
        assert self.session.waiting is self.interlude
        message = messages.message_class("SaslAuthenticateRequest", 2)
        entity = messages.build(message, auth_bytes=b"token")
        exchange, request = own_request("SaslAuthenticateRequest", 2, entity)
        exchange.kept = Asked(self.answers.append)
        self.session.ask(exchange, request)

    def finish(self) -> None:
        """Take the response; the session goes on."""
        assert len(self.answers) == 1
        self.session.resume()

    async def _run(self) -> None:
        raise AssertionError("the connection does it; here the test is the connection")


@pytest.fixture
def pair() -> Pair:
    return Pair(topics=[OWN])


@pytest.fixture
def renewal(pair: Pair) -> Renewal:
    return Renewal(pair)


def own_answer() -> bytes:
    message = messages.message_class("SaslAuthenticateResponse", 2)
    entity = messages.build(message, auth_bytes=b"outcome", session_lifetime=timedelta(seconds=9))
    return response_frame("SaslAuthenticate", 2, entity, CORRELATION_ID)


def sent_ids(pair: Pair) -> list[int]:
    """The correlation ids of the requests that were written to the broker."""
    return [int.from_bytes(payload[4:8], "big") for payload in frames(pair.to_broker())]


def test_it_comes_behind_what_is_in_flight_and_the_client_sees_nothing_of_it(
    pair: Pair, renewal: Renewal
) -> None:
    pair.send(heartbeat(1) + heartbeat(2))
    pair.session.interject(renewal.interlude)
    renewal.start()
    assert sent_ids(pair) == [1, CORRELATION_ID]
    pair.session.broker_data(heartbeat_response(1))
    assert correlation_ids(pair.to_client()) == [1]
    assert not renewal.answers
    pair.session.broker_data(own_answer())
    renewal.finish()
    assert b"outcome" in renewal.answers[0]
    assert pair.to_client() == b""
    assert waiting(pair) is None
    assert sent_ids(pair) == [2]
    pair.session.broker_data(heartbeat_response(2))
    assert pair.session.quiet


def test_requests_that_come_meanwhile_wait(pair: Pair, renewal: Renewal) -> None:
    pair.session.interject(renewal.interlude)
    renewal.start()
    pair.session.client_data(heartbeat(1) + heartbeat(2)[:9])
    pair.session.client_data(heartbeat(2)[9:] + heartbeat(3)[:3])
    assert sent_ids(pair) == [CORRELATION_ID]
    assert not pair.session.quiet
    pair.session.broker_data(own_answer())
    renewal.finish()
    assert sent_ids(pair) == [1]
    pair.session.client_data(heartbeat(3)[3:])
    for number in (1, 2, 3):
        pair.session.broker_data(heartbeat_response(number))
    assert sent_ids(pair) == [2, 3]
    assert correlation_ids(pair.to_client()) == [1, 2, 3]


def test_at_every_byte_of_what_a_client_sends() -> None:
    produced = request_frame("Produce", 9, produce({"team-a:orders": [batch(3)]}), 2)
    whole = heartbeat(1) + produced + heartbeat(3)
    plain = Pair(topics=[OWN])
    plain.send(whole)
    expected = frames(plain.let_answer())
    assert len(expected) == 3
    pair = Pair(topics=[OWN])
    for at in range(len(whole) + 1):
        pair.session = pair.another_session(pair.session.state.addresses)
        renewal = Renewal(pair)
        pair.session.client_data(whole[:at])
        pair.session.interject(renewal.interlude)
        pair.session.client_data(whole[at:])
        before = b""
        while waiting(pair) is None:  # it waits for the end of the Produce, whose turn it is
            before += pair.to_broker()
            answer_first(pair)
        renewal.start()
        before += pair.to_broker()
        while not renewal.answers:
            answer_first(pair)
        renewal.finish()
        sent = frames(before + pair.let_answer())
        own = [payload for payload in sent if payload[4:8] == bytes(4)]
        assert len(own) == 1, at
        assert [payload for payload in sent if payload[4:8] != bytes(4)] == expected, at


def answer_first(pair: Pair) -> None:
    """Let the broker answer the first request that it has not answered yet."""
    assert pair.session._in_flight.queue
    number = pair.session._in_flight.queue[0].correlation_id
    if number == CORRELATION_ID:
        pair.session.broker_data(own_answer())
    elif number == 2:
        entity = messages.build(messages.message_class("ProduceResponse", 9))
        pair.session.broker_data(response_frame("Produce", 9, entity, number))
    else:
        pair.session.broker_data(heartbeat_response(number))


def test_in_the_middle_of_a_streamed_request_it_waits_for_its_end(
    pair: Pair, renewal: Renewal
) -> None:
    records = RECORDS + bytes(100_000)
    frame = request_frame("Produce", 9, produce({"orders": [records]}, acks=0), 5)
    pair.session.client_data(frame[:70_000])
    assert pair.session.mid_request
    pair.session.interject(renewal.interlude)
    assert waiting(pair) is None
    pair.session.client_data(frame[70_000:] + heartbeat(6))
    assert waiting(pair) is renewal.interlude
    assert sent_ids(pair) == [5]
    renewal.start()
    pair.session.broker_data(own_answer())
    renewal.finish()
    assert sent_ids(pair) == [CORRELATION_ID, 6]


def test_a_request_that_waits_for_a_refresh_goes_first_decided_then(
    pair: Pair, renewal: Renewal
) -> None:
    pair.session.client_data(metadata(1, "nowhere:x"))
    assert waiting(pair) is Refresh.CATALOG
    pair.session.interject(renewal.interlude)
    assert waiting(pair) is Refresh.CATALOG
    pair.resume()
    assert waiting(pair) is renewal.interlude
    renewal.start()
    assert sent_ids(pair) == [CORRELATION_ID]
    pair.session.broker_data(own_answer())
    renewal.finish()
    assert waiting(pair) is None, "the catalog has been looked at: it is not asked for again"
    assert sent_ids(pair) == [1]


def test_an_answer_to_another_question(pair: Pair, renewal: Renewal) -> None:
    pair.session.interject(renewal.interlude)
    renewal.start()
    with pytest.raises(ProtocolError, match="the broker answered 7, not 0"):
        pair.session.broker_data(heartbeat_response(7))


def test_it_is_counted_for_nobody(pair: Pair, renewal: Renewal) -> None:
    pair.session.interject(renewal.interlude)
    renewal.start()
    pair.session.broker_data(own_answer())
    renewal.finish()
    assert not pair.session.state.take_flows()
