"""Clients that are sent to another gateway, which leads to the same brokers, while this one
drains."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apis.table import APIS
from gateway.error_codes import FETCH_SESSION_ID_NOT_FOUND, NOT_LEADER_OR_FOLLOWER
from protocol.schema import api_key_of
from tests.session import fetching
from tests.session.pair import Pair, frames, request_frame, topic_id
from tests.session.producing import batch, produce
from tests.session.samples import request
from tests.session.test_session import OWN, correlation_ids, heartbeat, heartbeat_response


def versions(api: str) -> list[int]:
    """The versions of an API that the gateway serves."""
    row = APIS[api_key_of(f"{api}Request")]
    return [*range(row.first, row.last + 1)]


@pytest.fixture
def pair() -> Pair:
    """A session whose client is to leave."""
    pair = Pair(topics=[OWN])
    pair.session.leave()
    return pair


def answered(pair: Pair, api: str, version: int, asked: Any) -> Any:
    """The response to a request that reaches no broker."""
    assert pair.ask(api, version, asked) is None
    assert pair.session.left is not None
    return pair.answer(api, version)


@pytest.mark.parametrize("version", versions("Produce"))
def test_nothing_is_written_here_any_more(pair: Pair, version: int) -> None:
    asked = request("Produce", version, "team-a:orders", topic_id(1))
    told = answered(pair, "Produce", version, asked)
    (topic,), (wanted,) = told.responses, asked.topic_data
    found = [
        (one.index, one.error_code, one.base_offset, getattr(one, "log_start_offset", -1))
        for one in topic.partition_responses
    ]
    # As from a broker that is not the leader (ReplicaManager.appendRecords).
    assert found == [(one.index, NOT_LEADER_OR_FOLLOWER, -1, -1) for one in wanted.partition_data]
    named = "topic_id" if version >= 13 else "name"
    assert getattr(topic, named) == getattr(wanted, named)


@pytest.mark.parametrize("version", versions("Fetch"))
def test_nothing_is_read_here_any_more(pair: Pair, version: int) -> None:
    key: str | int = "team-a:orders" if version < 13 else 1
    told = answered(pair, "Fetch", version, fetching.request(version, {key: [0, 3]}))
    (topic,) = told.responses
    found = [
        (one.partition_index, one.error_code, one.high_watermark, one.records or b"")
        for one in topic.partitions
    ]
    assert found == [(0, NOT_LEADER_OR_FOLLOWER, -1, b""), (3, NOT_LEADER_OR_FOLLOWER, -1, b"")]
    assert getattr(told, "error_code", 0) == 0


@pytest.mark.parametrize("version", [one for one in versions("Fetch") if one >= 7])
def test_an_incremental_fetch_has_lost_its_session(version: int) -> None:
    pair = Pair(topics=[OWN])
    key: str | int = "team-a:orders" if version < 13 else 1
    flat: str | int = OWN if version < 13 else 1
    pair.ask("Fetch", version, fetching.request(version, {key: [0]}, session_epoch=0))
    pair.reply("Fetch", version, fetching.response(version, {flat: [b""]}, session_id=5))
    pair.session.leave()
    more = fetching.request(version, {}, session_id=5, session_epoch=1)
    told = answered(pair, "Fetch", version, more)
    assert (told.error_code, told.session_id) == (FETCH_SESSION_ID_NOT_FOUND, 0)
    assert pair.session.state.fetch_session(5) is None


def test_everything_else_goes_on(pair: Pair) -> None:
    for number, api in enumerate(("Metadata", "OffsetCommit", "InitProducerId", "EndTxn"), start=1):
        version = versions(api)[0]
        pair.send(request_frame(api, version, request(api, version, "team-a:orders", topic_id(1))))
        assert len(frames(pair.let_answer())) == 1, (number, api)
    pair.send(heartbeat(9))
    assert len(frames(pair.to_broker())) == 1
    assert pair.session.left is None


def test_what_has_no_response_is_forwarded(pair: Pair) -> None:
    pair.send(request_frame("Produce", 9, produce({"team-a:orders": [batch(1)]}, acks=0)))
    assert len(frames(pair.to_broker())) == 1
    assert pair.to_client() == b""


def test_responses_keep_their_order(pair: Pair) -> None:
    pair.send(heartbeat(1) + request_frame("Produce", 9, produce({"team-a:orders": [batch(1)]}), 2))
    assert pair.to_client() == b""
    pair.session.broker_data(heartbeat_response(1))
    assert correlation_ids(pair.to_client()) == [1, 2]


def test_it_is_counted_as_an_error(pair: Pair) -> None:
    pair.send(request_frame("Produce", 9, produce({"team-a:orders": [batch(3)]}), 2))
    (flow,) = pair.session.take_flows()
    assert dict(flow.errors) == {NOT_LEADER_OR_FOLLOWER: 1}
    assert (flow.requests, flow.denials) == (1, {})
