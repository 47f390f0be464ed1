"""Which requests the gateway answers by changing the catalog, and their order among other
requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gateway.catalog.entities import NO_CONFIGS, Alias, TopicEntry
from gateway.exchanges.exchange import Refresh
from gateway.names import LogicalName
from protocol import messages
from protocol.messages import element_class, make
from protocol.schema import api_key_of
from tests.session.pair import Pair, frames, raw_frame, request_frame, response_frame, topic_id

TOPIC, VIRTUAL = 2, bytes([9]) * 16
MOVED = TopicEntry("flat", LogicalName("team-a", "moved"), VIRTUAL)
ALIASED = TopicEntry("x", LogicalName("team-a", "x"), None, (Alias(LogicalName("", "old"), 9),))


def create(*names: str, configs: Mapping[str, str] = NO_CONFIGS) -> Any:
    cls = messages.message_class("CreateTopicsRequest", 7)
    topic = element_class(cls, "topics")
    config = element_class(topic, "configs")
    given = tuple(make(config, {"name": k, "value": v}) for k, v in configs.items())
    values = {"num_partitions": 1, "replication_factor": 1, "configs": given}
    topics = tuple(make(topic, {"name": name, **values}) for name in names)
    return make(cls, {"topics": topics})


def delete(*names: str, ids: tuple[int, ...] = ()) -> Any:
    cls = messages.message_class("DeleteTopicsRequest", 6)
    topic = element_class(cls, "topics")
    by_name = tuple(make(topic, {"name": name, "topic_id": None}) for name in names)
    by_id = tuple(make(topic, {"name": None, "topic_id": topic_id(number)}) for number in ids)
    return make(cls, {"topics": by_name + by_id})


def heartbeat(correlation_id: int) -> bytes:
    entity = messages.build(messages.message_class("HeartbeatRequest", 4), group_id="app")
    return request_frame("Heartbeat", 4, entity, correlation_id)


def heartbeat_response(correlation_id: int) -> bytes:
    entity = messages.build(messages.message_class("HeartbeatResponse", 4))
    return response_frame("Heartbeat", 4, entity, correlation_id)


@pytest.mark.parametrize("names", [("plain",), ("plain", "more")])
def test_what_concerns_no_namespace_is_the_brokers(names: tuple[str, ...]) -> None:
    pair = Pair(topics=["plain", "more"])
    for api, version, entity in (
        ("CreateTopics", 7, create(*names)),
        ("DeleteTopics", 6, delete(*names)),
        ("DeleteTopics", 6, delete(ids=(1,))),
    ):
        pair.send(request_frame(api, version, entity))
        assert pair.let_answer(), api


@pytest.mark.parametrize(
    "name",
    ["org:new:", "team-a:orders", "team-a..orders", "org..", "team-a:moved", "old", "flat"],
)
def test_what_does_is_not(name: str) -> None:
    pair = Pair(topics=["plain", "team-a..orders", "flat", "x"], entries=[MOVED, ALIASED])
    pair.send(request_frame("DeleteTopics", 6, delete("plain", name)))
    assert pair.to_broker() == b""
    codes = {entry.name: int(entry.error_code) for entry in _answer(pair, "DeleteTopics", 6)}
    assert codes["plain"] == 0
    assert "plain" not in pair.broker.topics


def test_a_virtual_config_is_never_the_brokers() -> None:
    pair = Pair(topics=["plain"])
    pair.send(
        request_frame("CreateTopics", 7, create("new", configs={"gateway.namespace": "team-a"}))
    )
    assert pair.to_broker() == b""
    (entry,) = _answer(pair, "CreateTopics", 7)
    assert int(entry.error_code) == 40


@pytest.mark.parametrize("number", [1, 2])
def test_deleting_by_id_what_the_catalog_knows(number: int) -> None:
    pair = Pair(topics=["flat", "team-a..orders"], entries=[MOVED])
    pair.send(request_frame("DeleteTopics", 6, delete(ids=(number,))))
    assert pair.to_broker() == b""
    (entry,) = _answer(pair, "DeleteTopics", 6)
    # The broker's id no longer finds a moved topic.
    assert int(entry.error_code) == (100 if number == 1 else 0)


def test_answers_keep_the_order_of_the_requests() -> None:
    pair = Pair(topics=["team-a..orders"])
    pair.broker.scripted, pair.broker.version = "DeleteTopicsRequest", 6
    doomed = request_frame("DeleteTopics", 6, delete("team-a:orders"), 2)
    pair.send(heartbeat(1) + doomed + heartbeat(3))
    assert pair.to_broker() == heartbeat(1)
    assert pair.session.waiting is None, "the change begins when the broker has answered"
    pair.answered(heartbeat_response(1))
    assert pair.to_broker() == b"", "what comes behind a change waits for it"
    assert pair.session.waiting is not None
    assert not pair.session.quiet
    cls = messages.message_class("DeleteTopicsResponse", 6)
    result = element_class(cls, "responses")
    gone = make(result, {"name": "team-a..orders", "topic_id": topic_id(1)})
    pair.go_on(make(cls, {"responses": (gone,)}))
    assert pair.to_broker() == heartbeat(3)
    pair.session.broker_data(heartbeat_response(3))
    ids = [int.from_bytes(payload[:4], "big") for payload in frames(pair.to_client())]
    assert ids == [1, 2, 3]
    assert pair.session.quiet


def test_bytes_behind_a_request_are_not_taken_for_the_next_one() -> None:
    pair = Pair(topics=["team-a..orders"])
    body = messages.write(delete("team-a:orders")) + b"abc"
    pair.send(raw_frame(api_key_of("DeleteTopicsRequest"), 6, body) + heartbeat(8))
    assert pair.to_broker() == heartbeat(8)
    assert "team-a..orders" not in pair.broker.topics


def test_what_a_rule_rejects_is_noted_once_and_counted_once() -> None:
    pair = Pair()
    pair.send(request_frame("CreateTopics", 7, create("nowhere:a", "nowhere:b", "team-a:c")))
    codes = [int(entry.error_code) for entry in _answer(pair, "CreateTopics", 7)]
    assert codes == [17, 17, 0]
    noted = [(denial.resource, denial.rule, denial.code) for denial in pair.worker.denials]
    assert noted == [("nowhere:a", "namespace", 17), ("nowhere:b", "namespace", 17)]
    flows = pair.session.state.take_flows()
    assert sum(flow.errors.get(17, 0) for flow in flows) == 2
    assert sum(sum(flow.denials.values()) for flow in flows) == 2


def _answer(pair: Pair, api: str, version: int) -> tuple[Any, ...]:
    answer = pair.answer(api, version)
    found: tuple[Any, ...] = answer.topics if api == "CreateTopics" else answer.responses
    return found


def test_an_id_that_is_not_known_is_looked_for_in_the_cluster() -> None:
    pair = Pair()
    pair.session.client_data(request_frame("DeleteTopics", 6, delete(ids=(5,))))
    assert pair.session.waiting is Refresh.TOPICS, "another worker may have just made it"


def test_while_the_catalog_is_stale_creating_is_to_be_tried_again() -> None:
    pair = Pair()
    pair.close_view()
    pair.send(request_frame("CreateTopics", 7, create("plain")))
    (entry,) = _answer(pair, "CreateTopics", 7)
    assert int(entry.error_code) == 5


@pytest.mark.parametrize(
    ("api", "version", "entity"),
    [("CreateTopics", 7, create("team-a:new")), ("DeleteTopics", 6, delete("team-a:orders"))],
)
def test_a_client_learns_for_how_long_its_own_request_was_throttled(
    api: str, version: int, entity: Any
) -> None:
    """KIP-599: the client waits for as long before it tries again."""
    pair = Pair(topics=["team-a..orders"])
    for throttled in (28_900, 0):
        pair.broker.throttled = {f"{api}Request": throttled}
        pair.send(request_frame(api, version, entity))
        answer = pair.answer(api, version)
        assert answer.throttle_time.total_seconds() * 1000 == throttled
