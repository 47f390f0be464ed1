"""Requests without a response: requests behind them wait, and a change checks every topic they
reach."""

from __future__ import annotations

import pytest

from gateway.catalog.entities import Link, TopicEntry
from gateway.exchanges.exchange import Interlude
from gateway.names import LogicalName
from gateway.session.own_requests import Asked, own_request
from gateway.session.silent import MAX_SILENT
from protocol import messages
from protocol.headers import read_request_header
from protocol.messages import element_class, make
from tests.session.allowing import Allowing
from tests.session.pair import Pair, frames, request_frame, response_frame, topic_id
from tests.session.producing import batch, produce
from tests.session.test_decided_late import (
    AS_SENT,
    FLAT,
    NAME,
    OTHER,
    a_pair,
    allow,
    fetch,
    on,
)

PRODUCE, FETCH, SASL_HANDSHAKE, API_VERSIONS = 0, 1, 17, 18


def unanswered(*names: str, transactional_id: str | None = None) -> bytes:
    """A Produce with acks=0."""
    records = [batch(1, transactional=transactional_id is not None)]
    asked = produce({name: [*records] for name in names}, acks=0, transactional_id=transactional_id)
    return request_frame("Produce", 9, asked)


def reached(pair: Pair) -> list[int]:
    """The API keys of the requests that have reached the broker since the last call."""
    return [read_request_header(one, 0, len(one))[0] for one in frames(pair.to_broker())]


def test_another_api_waits_until_the_broker_has_carried_them_out() -> None:
    pair = a_pair()
    pair.send(unanswered(NAME) + unanswered(NAME) + fetch(2))
    assert reached(pair) == [PRODUCE, PRODUCE, API_VERSIONS]
    assert pair.let_answer()
    assert pair.session.silent is None


def test_what_waits_is_decided_then() -> None:
    pair = a_pair()
    pair.send(unanswered(NAME) + request_frame("Metadata", 9, metadata(OTHER), 5))
    reached(pair)
    allow(pair, on(NAME))
    assert not pair.reset
    pair.let_answer()
    assert reached(pair) == []
    (topic,) = pair.answer("Metadata", 9, 5).topics
    assert topic.error_code == 29


def metadata(name: str) -> object:
    request = messages.message_class("MetadataRequest", 9)
    return messages.build(request, topics=(make(element_class(request, "topics"), {"name": name}),))


def test_a_request_of_no_topics_reaches_nothing() -> None:
    pair = a_pair()
    pair.send(unanswered() + fetch(2))
    assert reached(pair) == [PRODUCE, FETCH]
    assert pair.session.silent is None


def test_with_too_many_to_remember_the_broker_is_asked_first() -> None:
    pair = a_pair()
    pair.send(unanswered(NAME))
    assert pair.session.silent is not None
    pair.session.silent.names.update((b"t%d" % n, b"t%d" % n) for n in range(MAX_SILENT - 2))
    pair.send(unanswered(OTHER) + unanswered("plain"))
    assert reached(pair) == [PRODUCE, PRODUCE, API_VERSIONS]
    pair.let_answer()
    held = pair.session.silent
    assert held is not None
    assert list(held.topics()) == [b"plain"]


def test_what_is_remembered_is_not_copied_for_each() -> None:
    pair = a_pair()
    for _ in range(3):
        pair.send(unanswered(NAME, OTHER))
    held = pair.session.silent
    pair.send(unanswered("plain"))
    assert pair.session.silent is held
    assert held is not None
    assert len(held.names) == 3


@pytest.mark.parametrize("last", [unanswered(NAME), unanswered(OTHER)])
def test_the_right_on_the_transactional_id_of_an_earlier_one(last: bytes) -> None:
    pair = a_pair()
    pair.send(unanswered(NAME, transactional_id="tx") + last)
    assert reached(pair) == [PRODUCE, PRODUCE]
    allow(pair, on(NAME, OTHER, "plain"))
    assert pair.reset


@pytest.mark.parametrize("link_first", [True, False])
def test_each_name_that_a_topic_was_written_under(link_first: bool) -> None:
    link = "team-b:linked"
    pair = Pair(
        topics=[FLAT],
        entries=[TopicEntry(FLAT, LogicalName("team-a", "orders"))],
        authorizer=Allowing(on(link, NAME)),
        policies=AS_SENT,
    )
    pair.log.append([Link(LogicalName("team-b", "linked"), FLAT, topic_id(78).bytes)])
    pair.catalog_changed()
    both = [unanswered(link), unanswered(NAME)]
    pair.send(b"".join(both if link_first else reversed(both)))
    assert reached(pair) == [PRODUCE, PRODUCE]
    allow(pair, on(NAME))
    assert pair.reset


def test_a_response_to_a_later_request_proves_them() -> None:
    pair = a_pair()
    pair.send(unanswered(NAME) + request_frame("Produce", 9, produce({OTHER: [batch(1)]})))
    pair.let_answer()
    assert pair.session.silent is None
    allow(pair, on(OTHER))
    assert not pair.reset


def test_a_response_to_an_earlier_request_does_not() -> None:
    pair = a_pair()
    pair.send(request_frame("Produce", 9, produce({OTHER: [batch(1)]})) + unanswered(NAME))
    pair.let_answer()
    assert pair.session.silent is not None
    allow(pair, on(OTHER))
    assert pair.reset


def test_one_that_is_sent_behind_the_question_is_asked_about_again() -> None:
    """As if it were being decided meanwhile."""
    pair = a_pair()
    pair.send(unanswered(NAME))
    held = pair.session.silent
    assert held is not None
    assert pair.session.prove()
    assert not pair.session.prove(), "once"
    (proof,) = pair.session.under_way
    held.add(pair.session.under_way[0], proof)
    pair.let_answer()
    assert pair.session.silent is held
    assert pair.session.prove()
    pair.let_answer()
    assert pair.session.silent is None


def test_nothing_comes_between_the_requests_of_a_login() -> None:
    """After SaslHandshake a broker accepts only SaslAuthenticate (SaslServerAuthenticator)."""
    pair = a_pair()
    pair.send(unanswered(NAME))

    async def log_in() -> None: ...

    pair.session.interject(Interlude(log_in))
    cls = messages.message_class("SaslHandshakeRequest", 1)
    handshake = messages.build(cls, mechanism="PLAIN")
    exchange, request = own_request("SaslHandshakeRequest", 1, handshake)
    exchange.kept = Asked(lambda _: None)
    pair.session.ask(exchange, request)
    assert not pair.session.prove()
    assert reached(pair) == [PRODUCE, SASL_HANDSHAKE]
    response = messages.message_class("SaslHandshakeResponse", 1)
    pair.session.broker_data(
        response_frame("SaslHandshake", 1, messages.build(response), exchange.correlation_id)
    )
    pair.session.resume()
    assert pair.session.silent is None
