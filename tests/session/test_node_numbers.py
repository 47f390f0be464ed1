"""Virtual node ids in a session: handlers see the cluster's own ids, clients the ids with its
number."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.apis.table import put_around
from gateway.tree.splitting import AROUND
from protocol import messages
from protocol.messages import element_class, make
from protocol.schema import message_spec
from tests.session import fetching
from tests.session.pair import BASE_PORT, HOST, Pair, frames, request_frame, response_frame

NUMBER = 5
NOT_LEADER_OR_FOLLOWER = 6
BASE = NUMBER * 65_536
OWN = "team-a..orders"


def pair(number: int = NUMBER) -> Pair:
    """A session of a cluster with this number."""
    made = Pair(topics=[OWN, "plain"])
    put_around(AROUND)
    made.worker.number = number
    return made


def answered(made: Pair, api: str, version: int, asked: Any, answer: Any) -> Any:
    """The response that the client gets if the broker responds with ``answer``."""
    assert made.ask(api, version, asked) is not None
    return made.reply(api, version, answer)


def read(api: str, version: int, data: bytes) -> Any:
    """The response in a frame."""
    (payload,) = frames(data)
    at = 5 if message_spec(f"{api}Request", version).flexible else 4
    return messages.parse(f"{api}Response", version, payload[at:])


def test_metadata_has_virtual_ids_and_addresses_of_the_real_ones() -> None:
    cls = messages.message_class("MetadataResponse", 12)
    broker, topic = element_class(cls, "brokers"), element_class(cls, "topics")
    partition = element_class(topic, "partitions")
    nodes = {
        "leader_id": 2,
        "replica_nodes": (2, 3, 9),
        "isr_nodes": (2,),
        "offline_replicas": (3,),
    }
    answer = make(
        cls,
        {
            "brokers": tuple(
                make(broker, {"node_id": node, "host": "kafka", "port": 9092}) for node in (2, 3, 9)
            ),
            "controller_id": 3,
            "topics": (
                make(
                    topic,
                    {"name": OWN, "topic_id": None, "partitions": (make(partition, nodes),)},
                ),
            ),
        },
    )
    asked_cls = messages.message_class("MetadataRequest", 12)
    named = make(element_class(asked_cls, "topics"), {"name": "team-a:orders", "topic_id": None})
    shown = answered(pair(), "Metadata", 12, make(asked_cls, {"topics": (named,)}), answer)
    # 9 is outside of node_ids.
    assert [(b.node_id, b.host, b.port) for b in shown.brokers] == [
        (BASE + 2, HOST, BASE_PORT + 1),
        (BASE + 3, HOST, BASE_PORT + 2),
    ]
    assert shown.controller_id == BASE + 3
    (found,) = shown.topics
    assert found.name == "team-a:orders"
    (only,) = found.partitions
    assert only.leader_id == BASE + 2
    assert only.replica_nodes == (BASE + 2, BASE + 3, BASE + 9)
    assert only.isr_nodes == (BASE + 2,)
    assert only.offline_replicas == (BASE + 3,)


def fetched(version: int, key: Any) -> Any:
    """A response whose partitions name a replica to read from, or a new leader."""
    entity = fetching.response(version, {key: [b"records", b"", b"more"]})
    (topic,) = entity.responses
    head, error, plain = topic.partitions
    values: list[dict[str, object]] = [{"preferred_read_replica": 2}, {}, {}]
    if version >= 12:
        leader = element_class(type(error), "current_leader")
        values[1] = {"current_leader": make(leader, {"leader_id": 3, "leader_epoch": 8})}
    partitions = tuple(
        messages.changed(one, each) for one, each in zip((head, error, plain), values, strict=True)
    )
    return messages.changed(
        entity, {"responses": (messages.changed(topic, {"partitions": partitions}),)}
    )


@pytest.mark.parametrize("version", [11, 12, 13, 15])
@pytest.mark.parametrize("number", [0, NUMBER])
def test_fetch_names_replicas_and_leaders_in_pieces_and_whole(version: int, number: int) -> None:
    by_id = version >= 13
    key: Any = 1 if by_id else OWN
    asked = fetching.request(version, {1 if by_id else "team-a:orders": [0, 1, 2]})
    frame = response_frame("Fetch", version, fetched(version, key))
    base = number * 65_536
    whole = pair(number)
    whole.send(request_frame("Fetch", version, asked))
    whole.session.broker_data(frame)
    expected = whole.to_client()
    first, second, third = read("Fetch", version, expected).responses[0].partitions
    assert first.preferred_read_replica == base + 2
    assert third.preferred_read_replica == -1
    assert [one.records for one in (first, second, third)] == [b"records", b"", b"more"]
    if version >= 12:
        assert second.current_leader.leader_id == base + 3
        assert second.current_leader.leader_epoch == 8
        assert first.current_leader.leader_id == -1
    for cut in range(1, len(frame)):
        pieces = pair(number)
        pieces.send(request_frame("Fetch", version, asked))
        pieces.session.broker_data(frame[:cut])
        pieces.session.broker_data(frame[cut:])
        assert pieces.to_client() == expected, f"cut at {cut}"
        assert pieces.session.quiet
    bytewise = pair(number)
    bytewise.send(request_frame("Fetch", version, asked))
    for value in frame:
        bytewise.session.broker_data(bytes((value,)))
    assert bytewise.to_client() == expected


def test_produce_names_the_new_leader() -> None:
    version = 12
    asked_cls = messages.message_class("ProduceRequest", version)
    data = element_class(asked_cls, "topic_data")
    part = element_class(data, "partition_data")
    asked = make(
        asked_cls,
        {
            "acks": 1,
            "topic_data": (
                make(
                    data,
                    {
                        "name": "team-a:orders",
                        "partition_data": (make(part, {"records": fetching.batch(1)}),),
                    },
                ),
            ),
        },
    )
    cls = messages.message_class("ProduceResponse", version)
    topic = element_class(cls, "responses")
    partition = element_class(topic, "partition_responses")
    leader = make(element_class(partition, "current_leader"), {"leader_id": 3, "leader_epoch": 1})
    failed = make(partition, {"error_code": NOT_LEADER_OR_FOLLOWER, "current_leader": leader})
    endpoint = make(
        element_class(cls, "node_endpoints"), {"node_id": 3, "host": "kafka", "port": 9092}
    )
    answer = make(
        cls,
        {
            "responses": (make(topic, {"name": OWN, "partition_responses": (failed,)}),),
            "node_endpoints": (endpoint,),
        },
    )
    shown = answered(pair(), "Produce", version, asked, answer)
    (only,) = shown.responses[0].partition_responses
    assert (only.current_leader.leader_id, only.current_leader.leader_epoch) == (BASE + 3, 1)
    (node,) = shown.node_endpoints
    assert (node.node_id, node.host, node.port) == (BASE + 3, HOST, BASE_PORT + 2)


@pytest.mark.parametrize("version", [0, 2, 7])
def test_a_new_topics_replicas_are_those_of_the_cluster(version: int) -> None:
    cls = messages.message_class("CreateTopicsRequest", version)
    topic = element_class(cls, "topics")
    assignment = element_class(topic, "assignments")
    ids = (BASE + 1, BASE + 3, BASE + 65_536 + 1, 2)
    asked = make(
        cls,
        {
            "topics": (
                make(
                    topic,
                    {
                        "name": "plain-2",
                        "num_partitions": -1,
                        "replication_factor": -1,
                        "assignments": (make(assignment, {"broker_ids": ids}),),
                        "configs": (),
                    },
                ),
            )
        },
    )
    sent = pair().ask("CreateTopics", version, asked)
    own, third, other, bare = sent.topics[0].assignments[0].broker_ids
    assert (own, third, other) == (1, 3, BASE + 65_536 + 1)
    assert bare > 65_535  # no broker of a mounted cluster
