"""The end of a login: the next request is checked, as by a broker
(SocketServer.processCompletedReceives), and earlier requests are answered."""

from __future__ import annotations

from dataclasses import replace
from time import monotonic, time
from uuid import UUID

import pytest

from gateway.auth.mechanisms import Session
from gateway.identity import Identity
from gateway.session.expiry import NEVER, SessionExpired, end_of
from protocol import messages
from tests.auth.logins import Accepts
from tests.session.pair import Pair, frames, raw_frame, request_frame
from tests.session.producing import batch, produce
from tests.session.test_sasl import ALICE, token
from tests.session.test_session import (
    OWN,
    correlation_ids,
    heartbeat,
    metadata,
    produce_response,
    produced,
)
from tests.session.test_silent import API_VERSIONS, PRODUCE, reached, unanswered

SYNC_GROUP = 14


@pytest.fixture
def pair() -> Pair:
    """A session of a client that has logged in, on a listener with the mechanisms ONE and TWO."""
    made = Pair(topics=[OWN])
    made.worker.sasl = {"test": Accepts(5_000)}
    made.session.state.identity = ALICE
    return made


def expire(pair: Pair) -> None:
    """End the client's login now."""
    pair.session.ends = monotonic()


def empty(name: str, version: int, correlation_id: int, **values: object) -> bytes:
    """A request with only these values."""
    entity = messages.build(messages.message_class(f"{name}Request", version), **values)
    return request_frame(name, version, entity, correlation_id)


def join(correlation_id: int) -> bytes:
    return empty("JoinGroup", 5, correlation_id, group_id="app", protocol_type="consumer")


def handshake(correlation_id: int = 7) -> bytes:
    return empty("SaslHandshake", 1, correlation_id, mechanism="ONE")


# -- when it ends -----------------------------------------------------------------------------


def test_the_end_is_reckoned_once() -> None:
    assert end_of(replace(ALICE, expires=None)) == NEVER
    before = monotonic()
    ends = end_of(Identity("User:alice", "ONE", time() + 60))
    assert before + 59 < ends < monotonic() + 61


def test_until_then_and_without_an_end_all_is_served(pair: Pair) -> None:
    assert pair.session.ends == NEVER
    pair.send(heartbeat(1))
    pair.session.ends = monotonic() + 3_600
    pair.send(produced(2))
    pair.let_answer()
    assert correlation_ids(pair.to_client()) == [1, 2]


# -- the next request -------------------------------------------------------------------------


def test_a_join_that_is_held_is_answered_and_the_next_request_is_the_end(pair: Pair) -> None:
    pair.send(join(1))
    expire(pair)
    pair.let_answer()
    assert correlation_ids(pair.to_client()) == [1]
    with pytest.raises(SessionExpired):
        pair.send(empty("SyncGroup", 4, 2, group_id="app"))
    assert pair.to_broker() == b""


def test_whoever_proves_it_again_goes_on(pair: Pair) -> None:
    """As Java's client does: its next request follows the authentication."""
    pair.send(join(1))
    expire(pair)
    pair.send(handshake(2))
    assert pair.to_client() == b""
    pair.let_answer()
    assert correlation_ids(pair.to_client()) == [1, 2]
    pair.send(token(b"alice") + empty("SyncGroup", 4, 3, group_id="app"))
    assert pair.session.ends == NEVER  # this identity has no end
    assert reached(pair) == [SYNC_GROUP]
    assert len(frames(pair.to_client())) == 1


def test_what_is_held_behind_a_token_counts_by_the_new_end(pair: Pair) -> None:
    class Ending(Accepts):
        def session(self, identity: Identity) -> Session:
            return Session(replace(identity, expires=time() - 1), 1)

    pair.worker.sasl = {"test": Ending(1)}
    pair.send(handshake())
    with pytest.raises(SessionExpired):
        pair.send(token(b"alice") + heartbeat(3))
    assert pair.to_broker() == b""


@pytest.mark.parametrize(
    "sent",
    [
        heartbeat(1),
        produced(1),
        metadata(1, None),
        empty("ApiVersions", 3, 1),
        empty("DeleteTopics", 6, 1),
        token(b"alice"),  # without a handshake
        b"\x00\x00\x00\x0c\x27\x0f" + bytes(10),  # an API that does not exist
        b"\x00\x00\x00\x0c\x00\x00\x00\x63" + bytes(8),  # Produce v99
    ],
)
def test_nothing_else_is_done_any_more(pair: Pair, sent: bytes) -> None:
    expire(pair)
    with pytest.raises(SessionExpired):
        pair.send(sent)
    assert pair.to_broker() == pair.to_client() == b""


@pytest.mark.parametrize("arrived", [4, 5, 6, 13, 14])
def test_the_header_is_enough(pair: Pair, arrived: int) -> None:
    expire(pair)
    if arrived < 6:  # which API it is has yet to come
        pair.send(heartbeat(1)[:arrived])
        with pytest.raises(SessionExpired):
            pair.send(heartbeat(1)[arrived:])
    else:
        with pytest.raises(SessionExpired):
            pair.send(heartbeat(1)[:arrived])
    assert pair.to_broker() == b""


@pytest.mark.parametrize("version", [0, 1])
def test_to_begin_is_no_proof(pair: Pair, version: int) -> None:
    """Otherwise a client that begins again and again would be served for ever."""
    expire(pair)
    with pytest.raises(SessionExpired):
        pair.send(empty("SaslHandshake", version, 1, mechanism="ONE") + heartbeat(2))
    assert pair.to_broker() == b""
    pair.session.break_off()
    assert correlation_ids(pair.to_client()) == [1]


def test_what_comes_behind_others_waits_for_all_of_them(pair: Pair) -> None:
    """Requests that could be forwarded ahead at other times wait, too, because brokers read one
    request after the other."""
    pair.send(produced(1) + produced(2))
    assert len(frames(pair.to_broker())) == 2
    expire(pair)
    pair.send(produced(3))
    pair.session.broker_data(produce_response(1))
    assert pair.to_broker() == b""
    with pytest.raises(SessionExpired):
        pair.session.broker_data(produce_response(2))
    assert correlation_ids(pair.to_client()) == [1, 2]
    assert pair.to_broker() == b""
    assert pair.session.reading_client


def test_what_was_held_when_it_came_to_its_end_is_not_begun(pair: Pair) -> None:
    pair.send(join(1) + heartbeat(2))
    expire(pair)
    with pytest.raises(SessionExpired):
        pair.let_answer()
    assert correlation_ids(pair.to_client()) == [1]


def test_what_has_no_response_is_carried_out_first(pair: Pair) -> None:
    pair.send(unanswered("orders"))
    expire(pair)
    pair.send(unanswered("orders"))
    assert reached(pair) == [PRODUCE, API_VERSIONS]
    with pytest.raises(SessionExpired):
        pair.let_answer()
    assert reached(pair) == []


def test_what_is_decided_again_had_come_before(pair: Pair) -> None:
    pair.session.client_data(metadata(1, "team-a:orders2") + heartbeat(2))
    assert pair.session.waiting is not None
    expire(pair)
    pair.resume()
    assert len(frames(pair.to_broker())) == 1
    with pytest.raises(SessionExpired):
        pair.let_answer()
    assert correlation_ids(pair.to_client()) == [1]


# -- a request that streams -------------------------------------------------------------------

STREAMED = request_frame("Produce", 9, produce({"team-a:orders": [batch(3)]}), 2)


def test_the_rest_of_a_request_reaches_no_broker(pair: Pair) -> None:
    """A broker carries out nothing of a request that has not wholly arrived."""
    pair.send(STREAMED[:-10])
    begun = pair.to_broker()
    assert begun
    expire(pair)
    with pytest.raises(SessionExpired):
        pair.send(STREAMED[-10:])
    assert pair.to_broker() == b""
    assert int.from_bytes(begun[:4], "big") == len(begun) - 4 + 10


def test_nor_is_it_the_end_of_what_was_sent_before_it(pair: Pair) -> None:
    pair.send(produced(1) + STREAMED[:-10])
    pair.to_broker()
    expire(pair)
    pair.send(STREAMED[-10:-5])
    pair.send(STREAMED[-5:] + heartbeat(3))
    assert pair.to_broker() == pair.to_client() == b""
    with pytest.raises(SessionExpired):
        pair.session.broker_data(produce_response(1))
    assert correlation_ids(pair.to_client()) == [1]
    assert pair.to_broker() == b""


def test_it_does_not_begin_after_the_end(pair: Pair) -> None:
    expire(pair)
    with pytest.raises(SessionExpired):
        pair.send(STREAMED[:-10])
    assert pair.to_broker() == b""


def test_one_that_has_wholly_come_is_answered(pair: Pair) -> None:
    pair.send(STREAMED[:-10])
    pair.send(STREAMED[-10:])
    expire(pair)
    pair.let_answer()
    assert correlation_ids(pair.to_client()) == [2]


# -- the connections that a sweep checks ------------------------------------------------------


def test_what_a_broker_is_at(pair: Pair) -> None:
    session = pair.session
    assert session.first is None
    pair.send(produced(1) + STREAMED[:-10])
    assert session.first is not None
    assert session.first.correlation_id == 1
    pair.session.broker_data(produce_response(1))
    assert session.first is None, "it has not all of it"
    pair.send(STREAMED[-10:])
    assert session.first is not None
    assert session.first.correlation_id == 2


def test_one_that_is_sent_on_leaves_nothing_to_the_request_behind_it(pair: Pair) -> None:
    """The request was to be decided again, but was answered without that; the next request had not
    come before."""
    topic = {"topic_id": UUID(int=99), "partition_data": [{"index": 0, "records": batch(1)}]}
    pair.session.client_data(
        raw_frame(0, 13, messages.made("ProduceRequest", 13, {"acks": 1, "topic_data": [topic]}), 1)
    )
    assert pair.session.waiting is not None
    pair.session.leave()
    expire(pair)
    pair.resume()
    assert correlation_ids(pair.to_client()) == [1]
    with pytest.raises(SessionExpired):
        pair.send(heartbeat(2))
    assert pair.to_broker() == b""
