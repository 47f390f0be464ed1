"""The requests under way in a session, and which topics they may name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gateway.apis.table import APIS
from gateway.exchanges.exchange import Exchange
from gateway.rules.rename import OF_ID
from gateway.session.naming import ANY_TOPIC, leaves_behind, may_concern, names_in, names_topics
from protocol import messages
from protocol.headers import read_request_header
from tests.session.pair import Pair, frames, request_frame, response_frame, topic_id
from tests.session.producing import batch, produce, produced

ORDERS, OTHER = b"team-a..orders", b"team-b..x"


PLAIN = b"plain"
"""A topic of no namespace, whose acks=0 is left unchanged."""


def pair() -> Pair:
    return Pair(topics=[ORDERS.decode(), OTHER.decode(), PLAIN.decode()])


def sent(one: Pair, name: str, version: int, /, **values: Any) -> Exchange:
    """The exchange of a request that was forwarded."""
    message = messages.message_class(f"{name}Request", version)
    one.session.client_data(request_frame(name, version, messages.build(message, **values)))
    return one.session.under_way[-1]


def concerns(*topics: bytes) -> Callable[[bytes], bool]:
    return lambda name: name in topics


def test_a_produce_names_its_topic_until_it_is_answered() -> None:
    one = pair()
    one.send(request_frame("Produce", 9, produce({"team-a:orders": [batch(1)]})))
    (exchange,) = one.session.under_way
    assert may_concern(exchange, concerns(ORDERS))
    assert not may_concern(exchange, concerns(OTHER))
    assert leaves_behind(exchange)
    assert one.session.owing
    one.answered(response_frame("Produce", 9, produced({ORDERS.decode(): [0]})))
    assert (list(one.session.under_way), one.session.owing) == ([], False)


def test_one_by_id_is_known_by_the_broker_s_id() -> None:
    one = pair()
    one.send(request_frame("Produce", 13, produce({"1": [batch(1)]}, version=13)))
    (exchange,) = one.session.under_way
    assert may_concern(exchange, concerns(topic_id(1).bytes))
    assert not may_concern(exchange, concerns(topic_id(2).bytes, OTHER))


def test_a_produce_that_streams_is_under_way_and_leaves_nothing_behind() -> None:
    """Until its last byte has come, because a broker does nothing with the rest of the request."""
    one = pair()
    request = request_frame("Produce", 9, produce({"team-a:orders": [batch(1) + bytes(1_000)]}))
    one.session.client_data(request[:-1])
    assert one.session.streamed is not None
    assert may_concern(one.session.streamed, concerns(ORDERS))
    assert (list(one.session.under_way), one.session.owing) == ([], False)
    one.session.client_data(request[-1:])
    assert one.session.streamed is None
    assert one.session.owing


def test_what_brokers_hold_back_is_never_waited_for() -> None:
    one = pair()
    exchange = sent(one, "JoinGroup", 5, group_id="g", protocol_type="consumer")
    assert not may_concern(exchange, lambda _: True)
    assert not leaves_behind(exchange)


def test_a_request_that_can_name_no_topic_is_not_waited_for() -> None:
    one = pair()
    exchange = sent(one, "Heartbeat", 4, group_id="g", member_id="m")
    assert list(names_in(exchange)) == [OF_ID + b"g"]
    assert not may_concern(exchange, lambda name: not name.startswith(OF_ID))


def test_a_request_whose_topics_are_not_known_may_name_any() -> None:
    one = pair()
    exchange = sent(one, "OffsetFetch", 7, group_id="g", topics=None)
    assert list(names_in(exchange)) == [OF_ID + b"g", ANY_TOPIC]
    assert may_concern(exchange, lambda _: False)
    assert not leaves_behind(exchange), "nobody gets the answer, and nothing has changed"


@pytest.mark.parametrize("api", sorted(api.name for api in APIS.values()))
def test_whether_an_api_can_name_topics_at_all(api: str) -> None:
    """By Kafka's message definitions: an API that is declared to have topics has them there."""
    declared = next(one for one in APIS.values() if one.name == api)
    for version in declared.versions:
        if declared.topic_shape(version) is not None:
            assert names_topics(api, version), version
    none = {"ApiVersions", "Heartbeat", "LeaveGroup", "EndTxn", "DeleteGroups"}
    none |= {"ListGroups", "ListTransactions"}
    assert not (api in none and names_topics(api, declared.last))


# -- acks=0 ----------------------------------------------------------------------------------------


def test_acks_0_is_unproven_until_a_request_behind_it_is_answered() -> None:
    one = pair()
    one.send(request_frame("Produce", 9, produce({"plain": [batch(1)]}, acks=0)))
    one.to_broker()
    silent = one.session.silent
    assert silent is not None
    assert (list(silent.topics()), list(one.session.under_way)) == ([PLAIN], [])
    one.session.prove()
    (payload,) = frames(one.to_broker())
    api_key, version, correlation_id, _, _ = read_request_header(payload, 0, len(payload))
    assert (api_key, version) == (18, 0)
    (exchange,) = one.session.under_way
    assert not may_concern(exchange, lambda _: True), "it is the gateway's own"
    assert one.session.owing
    answer = messages.build(messages.message_class("ApiVersionsResponse", 0))
    one.answered(response_frame("ApiVersions", 0, answer, correlation_id))
    assert (one.session.silent, one.session.owing) == (None, False)
    assert one.to_client() == b""


def test_nothing_is_asked_where_all_is_proven() -> None:
    one = pair()
    one.session.prove()
    assert one.to_broker() == b""
