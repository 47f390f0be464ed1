"""Confinement: attempts of a home's tenant to reach a resource outside the home, or to stop
others."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from gateway.session.streamed import OTHER_LIMIT
from protocol import messages
from protocol.errors import ProtocolError
from tests.scenarios.entities import entity
from tests.session.pair import Pair, frames, request_frame, response_frame

CLUSTER_AUTHORIZATION_FAILED = 31
FETCH_SESSION_ID_NOT_FOUND = 70


def message(name: str, version: int, values: Mapping[str, object]) -> object:
    return entity(messages.message_class(name, version), values)


def topics(*names: str) -> list[dict[str, object]]:
    return [{"topic": name, "partitions": [{"partition": 0}]} for name in names]


def test_a_group_named_like_the_placeholder_carries_the_homes_prefix() -> None:
    pair = Pair(home="team-a", topics=["team-a..orders"])
    offsets = {"partitions": [{"partition_index": 0, "committed_offset": 7}]}
    commit = {
        "group_id": ":",
        "topics": [{"name": "orders", **offsets}, {"name": "nope:x", **offsets}],
    }
    seen = pair.ask("OffsetCommit", 8, message("OffsetCommitRequest", 8, commit))
    assert seen.group_id == "team-a..:"
    pair.let_answer()
    beat = {"group_id": ":", "member_id": "m", "subscribed_topic_names": ["orders"]}
    joined = pair.ask(
        "ConsumerGroupHeartbeat", 1, message("ConsumerGroupHeartbeatRequest", 1, beat), 8
    )
    assert joined.group_id == "team-a..:"


@pytest.mark.parametrize("version", range(4, 16))
@pytest.mark.parametrize("replica", [0, 2, -2])
def test_no_client_fetches_as_a_replica(version: int, replica: int) -> None:
    pair = Pair(topics=["orders"])
    by_id = {"topic_id": 1, "partitions": [{"partition": 0}]}
    asked = {
        "replica_id": replica,
        "replica_state": {"replica_id": replica},
        "topics": [{**by_id, "topic": "orders"}],
    }
    assert pair.ask("Fetch", version, message("FetchRequest", version, asked)) is None
    answer = pair.answer("Fetch", version)
    found = {p.error_code for topic in answer.responses for p in topic.partitions}
    found.add(getattr(answer, "error_code", CLUSTER_AUTHORIZATION_FAILED))
    assert found - {0} == {CLUSTER_AUTHORIZATION_FAILED}


REPLICA_IDS = (0, 1, -2, 2**31 - 1)
"""The replica ids of kafka-python, of a broker, of the schema's default, and of Kafka's future
replica."""


@pytest.mark.parametrize("replica", REPLICA_IDS)
@pytest.mark.parametrize(
    ("api", "version"),
    [("ListOffsets", v) for v in range(1, 12)] + [("OffsetForLeaderEpoch", v) for v in (3, 4)],
)
@pytest.mark.parametrize("also", [(), ("nowhere:x",)])
def test_offsets_are_for_a_consumer_whatever_replica_asks(
    api: str, version: int, replica: int, also: tuple[str, ...]
) -> None:
    pair = Pair(topics=["team-a..orders"])
    each = [{"name": name, "topic": name, "partitions": []} for name in ("team-a:orders", *also)]
    asked = {"replica_id": replica, "topics": each}
    seen = pair.ask(api, version, message(f"{api}Request", version, asked))
    (topic,) = seen.topics
    assert getattr(topic, "name", getattr(topic, "topic", "")) == "team-a..orders"
    assert seen.replica_id == -1


@pytest.mark.parametrize("probe", ["team-b..secret", "team-b..nosuch", "plain", "nosuch"])
def test_what_a_broker_quotes_tells_nothing_of_other_topics(probe: str) -> None:
    told = set()
    for existing in ((), ("team-b..secret", "plain")):
        pair = Pair(home="team-a", topics=["team-a..orders", *existing])
        resource = {"resource_type": 2, "resource_name": "orders"}
        pair.ask(
            "IncrementalAlterConfigs",
            1,
            message("IncrementalAlterConfigsRequest", 1, {"resources": [resource]}),
        )
        reply = {
            **resource,
            "resource_name": "team-a..orders",
            "error_code": 40,
            "error_message": f"Invalid value {probe} for team-a..orders.",
        }
        got = pair.reply(
            "IncrementalAlterConfigs",
            1,
            message("IncrementalAlterConfigsResponse", 1, {"responses": [reply]}),
        )
        told.add(got.responses[0].error_message)
    assert len(told) == 1


def test_a_session_that_has_had_too_many_names_begins_anew() -> None:
    pair = Pair()
    opening = message("FetchRequest", 11, {"session_epoch": 0, "topics": topics("orders")})
    pair.ask("Fetch", 11, opening)
    pair.reply("Fetch", 11, message("FetchResponse", 11, {"session_id": 5}))
    for epoch in (1, 2):
        names = [f"t{epoch}-{number}" for number in range(6_000)]
        more = {"session_id": 5, "session_epoch": epoch, "topics": topics(*names)}
        pair.ask("Fetch", 11, message("FetchRequest", 11, more))
        pair.reply("Fetch", 11, message("FetchResponse", 11, {"session_id": 5}))
    again = {"session_id": 5, "session_epoch": 3}
    assert pair.ask("Fetch", 11, message("FetchRequest", 11, again)) is None
    assert pair.answer("Fetch", 11).error_code == FETCH_SESSION_ID_NOT_FOUND


def test_a_full_fetch_ends_a_session_that_has_had_too_many_names() -> None:
    pair = Pair()
    opening = {"session_epoch": 0, "topics": topics(*(f"t{number}" for number in range(10_001)))}
    pair.ask("Fetch", 11, message("FetchRequest", 11, opening))
    pair.reply("Fetch", 11, message("FetchResponse", 11, {"session_id": 5}))
    again = {"session_id": 5, "session_epoch": 0, "topics": topics("orders")}
    sent = pair.ask("Fetch", 11, message("FetchRequest", 11, again))
    assert (sent.session_id, sent.session_epoch) == (5, 0)


def test_names_added_later_do_not_change_the_size_of_a_response_in_flight() -> None:
    pair = Pair()
    first = {"session_epoch": 0, "topics": topics("team-a:orders")}
    pair.ask("Fetch", 11, message("FetchRequest", 11, first), 1)
    pair.reply("Fetch", 11, message("FetchResponse", 11, {"session_id": 5}), 1)
    pair.ask("Fetch", 11, message("FetchRequest", 11, {"session_id": 5, "session_epoch": 1}), 2)
    more = {"session_id": 5, "session_epoch": 2, "topics": topics("plain")}
    pair.ask("Fetch", 11, message("FetchRequest", 11, more), 3)
    answer = message(
        "FetchResponse",
        11,
        {
            "session_id": 5,
            "responses": [
                {
                    "topic": "team-a..orders",
                    "partitions": [{"partition_index": 0, "records": "x" * 100_000}],
                }
            ],
        },
    )
    whole = response_frame("Fetch", 11, answer, 2)
    pair.session.broker_data(whole[:200])
    pair.session.broker_data(whole[200:])
    (payload,) = frames(pair.to_client())
    assert payload.count(b"team-a:orders") == 1


def test_both_spellings_in_one_subscription_are_one_topic() -> None:
    pair = Pair(topics=["team-a..orders"])
    beat = {
        "group_id": "app",
        "member_id": "m",
        "subscribed_topic_names": ["team-a:orders", "team-a..orders"],
    }
    seen = pair.ask("ConsumerGroupHeartbeat", 1, message("ConsumerGroupHeartbeatRequest", 1, beat))
    assert seen.subscribed_topic_names == ("team-a..orders",)


@pytest.mark.parametrize("cursor", ["zzz:qqq", "x" * 300, "team-b..orders", ":"])
def test_any_cursor_is_answered(cursor: str) -> None:
    pair = Pair(home="team-a", topics=["team-a..orders"])
    asked = {"topics": [], "cursor": {"topic_name": cursor, "partition_index": 0}}
    seen = pair.ask(
        "DescribeTopicPartitions", 0, message("DescribeTopicPartitionsRequest", 0, asked)
    )
    if seen is None:  # no resource of the home is requested
        assert pair.answer("DescribeTopicPartitions", 0).topics == ()
    else:
        assert all(topic.name.startswith("team-a..") for topic in seen.topics)


def test_a_request_without_records_has_a_limit_of_its_own() -> None:
    pair = Pair()
    frame = request_frame("Metadata", 4, message("MetadataRequest", 4, {"topics": []}))
    with pytest.raises(ProtocolError, match="without records"):
        pair.send((OTHER_LIMIT + 1).to_bytes(4, "big") + frame[4:])


def test_a_request_that_names_very_much_is_rejected() -> None:
    pair = Pair()
    names = [{"name": f"t{number}"} for number in range(100_001)]
    with pytest.raises(ProtocolError, match="names more than"):
        pair.send(request_frame("Metadata", 4, message("MetadataRequest", 4, {"topics": names})))


def test_flows_of_one_connection_stay_few() -> None:
    pair = Pair()
    for batch in range(30):
        names = [{"name": f"t{batch}-{number}"} for number in range(200)]
        pair.ask("Metadata", 4, message("MetadataRequest", 4, {"topics": names}), batch)
    assert len(pair.session.state.take_flows()) <= 1_001
