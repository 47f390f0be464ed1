"""A drain: requests under way are carried out and answered, and no request is begun."""

from __future__ import annotations

import pytest

from gateway.exchanges.exchange import Refresh
from protocol import messages
from protocol.messages import element_class, make
from tests.session.pair import Pair, frames, request_frame, topic_id
from tests.session.producing import batch, produce
from tests.session.samples import request
from tests.session.test_changes import delete
from tests.session.test_interludes import Renewal, own_answer, sent_ids
from tests.session.test_session import (
    OWN,
    correlation_ids,
    heartbeat,
    heartbeat_response,
    metadata,
    waiting,
)

PRODUCED = request_frame("Produce", 9, produce({"team-a:orders": [batch(3)]}), 2)


@pytest.fixture
def pair() -> Pair:
    return Pair(topics=[OWN])


def test_what_is_in_flight_is_answered_and_no_more_is_read(pair: Pair) -> None:
    fetches = held_back("Fetch", 1) + held_back("Fetch", 2)
    pair.send(fetches + heartbeat(3))
    pair.session.finish()
    assert not pair.session.quiet
    pair.send(heartbeat(4))
    assert sent_ids(pair) == [1, 2]
    pair.let_answer()
    assert pair.to_broker() == b"", "what waited behind them is sent again elsewhere"
    assert correlation_ids(pair.to_client()) == [1, 2]
    assert pair.session.quiet


@pytest.mark.parametrize("arrived", range(1, len(heartbeat(1))))
def test_a_request_that_has_half_arrived_reaches_no_broker(pair: Pair, arrived: int) -> None:
    pair.send(heartbeat(1)[:arrived])
    pair.session.finish()
    assert pair.session.quiet
    assert not pair.session.mid_request
    pair.send(heartbeat(1)[arrived:] + heartbeat(2))
    assert pair.to_broker() == b""


def test_a_request_that_streams_is_sent_on_to_its_end(pair: Pair) -> None:
    """The broker would wait for the rest of the request."""
    pair.send(PRODUCED[:-10])
    pair.session.finish()
    assert pair.session.streaming
    pair.send(PRODUCED[-10:-5])
    pair.send(PRODUCED[-5:] + heartbeat(3))
    assert not pair.session.streaming
    assert sent_ids(pair) == [2]
    pair.send(heartbeat(4))
    assert pair.to_broker() == b""


def test_work_that_is_under_way_is_answered(pair: Pair) -> None:
    pair.broker.scripted, pair.broker.version = "DeleteTopicsRequest", 6
    pair.send(request_frame("DeleteTopics", 6, delete("team-a:orders"), 2) + heartbeat(3))
    pair.session.finish()
    assert not pair.session.quiet
    pair.send(heartbeat(4))
    cls = messages.message_class("DeleteTopicsResponse", 6)
    result = element_class(cls, "responses")
    gone = make(result, {"name": OWN, "topic_id": topic_id(1)})
    pair.go_on(make(cls, {"responses": (gone,)}))
    assert correlation_ids(pair.to_client()) == [2]
    assert pair.to_broker() == b""
    assert pair.session.quiet


def test_a_request_that_waits_for_news_is_decided(pair: Pair) -> None:
    pair.session.client_data(metadata(1, "new:orders") + heartbeat(2))
    assert isinstance(waiting(pair), Refresh)
    pair.session.finish()
    while waiting(pair) is not None:
        pair.resume()
    assert not pair.session.mid_request
    assert [*sent_ids(pair), *correlation_ids(pair.to_client())] == [1]


def test_it_is_decided_behind_what_the_gateway_asks_itself(pair: Pair) -> None:
    renewal = Renewal(pair)
    pair.session.client_data(metadata(1, "nowhere:x") + heartbeat(2))
    pair.session.interject(renewal.interlude)
    pair.session.finish()
    pair.resume()
    renewal.start()
    pair.session.broker_data(own_answer())
    renewal.finish()
    assert waiting(pair) is None
    assert len(frames(pair.to_broker())) == 2, "the renewal and the first request"
    assert not pair.session.mid_request


def test_what_the_gateway_asks_itself_is_not_broken_off(pair: Pair) -> None:
    renewal = Renewal(pair)
    pair.session.interject(renewal.interlude)
    renewal.start()
    pair.session.client_data(heartbeat(1) + heartbeat(2)[:9])
    pair.session.finish()
    assert not pair.session.quiet
    pair.session.broker_data(own_answer())
    renewal.finish()
    assert len(frames(pair.to_broker())) == 1
    assert pair.session.quiet


def held_back(api: str, correlation_id: int = 1) -> bytes:
    """A request whose response brokers hold back."""
    version = {"Fetch": 12, "JoinGroup": 9, "SyncGroup": 5}[api]
    asked = request(api, version, "team-a:orders", topic_id(1))
    return request_frame(api, version, asked, correlation_id)


@pytest.mark.parametrize("api", ["Fetch", "JoinGroup", "SyncGroup"])
def test_where_clients_are_led_elsewhere_nothing_waits_for_what_brokers_hold_back(
    pair: Pair, api: str
) -> None:
    pair.send(held_back(api))
    assert len(frames(pair.to_broker())) == 1
    pair.session.finish()
    assert not pair.session.quiet
    pair.session.finish(waits=False)
    assert pair.session.quiet


def test_what_else_is_under_way_is_waited_for(pair: Pair) -> None:
    pair.send(heartbeat(1) + held_back("Fetch", 2))
    pair.session.finish(waits=False)
    assert not pair.session.quiet
    pair.session.broker_data(heartbeat_response(1))
    assert pair.session.quiet
    assert sent_ids(pair) == [1]
