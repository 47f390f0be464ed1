"""Commits of offsets of another cluster's topics: the coordinator sees their shadows."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from gateway.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.rules.shadows import shadow_name
from tests.session.allowing import Allowing
from tests.session.far import CLICKS, CLICKS_ID, FOREIGN, SPELLED, FarPair, codes, message


def commit(version: int, *topics: str | uuid.UUID, partition: int = 0) -> Any:
    named = [
        {"topic_id": each.int} if isinstance(each, uuid.UUID) else {"name": each} for each in topics
    ]
    partitions = [{"partition_index": partition, "committed_offset": 5}]
    entries = [{**each, "partitions": partitions} for each in named]
    return message("OffsetCommitRequest", version, group_id="app", topics=entries)


@pytest.mark.parametrize("version", range(2, 10))
@pytest.mark.parametrize("spelled", SPELLED)
def test_a_commit(version: int, spelled: str) -> None:
    pair = FarPair()
    sent = pair.ask("OffsetCommit", version, commit(version, "search:orders", spelled))
    assert [topic.name for topic in sent.topics] == ["search..orders", CLICKS]
    assert pair.made == {CLICKS: 3}
    (topic,) = pair.home.broker.requests("CreateTopicsRequest")[0].topics
    assert (topic.replication_factor, topic.num_partitions) == (1, 3)
    answered = [
        {"name": name, "partitions": [{"partition_index": 0}]}
        for name in ("search..orders", CLICKS)
    ]
    got = pair.reply(
        "OffsetCommit", version, message("OffsetCommitResponse", version, topics=answered)
    )
    assert [topic.name for topic in got.topics] == ["search:orders", spelled]
    assert codes(got) == [0, 0]


def test_a_commit_by_id() -> None:
    pair = FarPair()
    orders = uuid.UUID(bytes=pair.home.broker.topics["search..orders"].topic_id)
    sent = pair.ask("OffsetCommit", 10, commit(10, orders, CLICKS_ID))
    own = uuid.UUID(bytes=pair.home.broker.topics[CLICKS].topic_id)
    assert [topic.topic_id for topic in sent.topics] == [orders, own]
    answered = [{"topic_id": each.int, "partitions": [{}]} for each in (orders, own)]
    got = pair.reply("OffsetCommit", 10, message("OffsetCommitResponse", 10, topics=answered))
    assert [topic.topic_id for topic in got.topics] == [orders, CLICKS_ID]


def test_an_id_that_no_cluster_has() -> None:
    pair = FarPair()
    assert pair.ask("OffsetCommit", 10, commit(10, uuid.UUID(int=99))) is None
    got = pair.answer("OffsetCommit", 10)
    assert codes(got) == [UNKNOWN_TOPIC_ID]


def test_a_shadow_is_made_once_and_grows() -> None:
    pair = FarPair()
    for _ in range(2):
        pair.ask("OffsetCommit", 9, commit(9, FOREIGN))
        pair.let_answer()
    assert len(pair.home.broker.requests("CreateTopicsRequest")) == 1
    pair.other.broker.topics["search..clicks"].partitions = 7
    pair.other.cluster.list()
    pair.ask("OffsetCommit", 9, commit(9, FOREIGN))
    assert pair.made == {CLICKS: 7}


def test_another_gateway_has_made_it() -> None:
    pair = FarPair()
    pair.home.broker.make(CLICKS)  # it is in no listing yet
    sent = pair.ask("OffsetCommit", 9, commit(9, FOREIGN))
    assert [topic.name for topic in sent.topics] == [CLICKS]
    assert pair.made == {CLICKS: 3}


def test_a_shadow_that_cannot_be_made() -> None:
    pair = FarPair()
    pair.home.broker.down = True
    sent = pair.ask("OffsetCommit", 9, commit(9, "search:orders", FOREIGN))
    assert [topic.name for topic in sent.topics] == ["search..orders"]
    answered = [{"name": "search..orders", "partitions": [{}]}]
    got = pair.reply("OffsetCommit", 9, message("OffsetCommitResponse", 9, topics=answered))
    assert codes(got) == [0, COORDINATOR_LOAD_IN_PROGRESS]
    pair.home.broker.down = False
    pair.ask("OffsetCommit", 9, commit(9, FOREIGN))
    assert not pair.made, "it is not tried again at once"
    pair.home.clock.forward(seconds=6)
    pair.to_client()
    pair.ask("OffsetCommit", 9, commit(9, FOREIGN))
    assert pair.made == {CLICKS: 3}


def test_a_topic_that_does_not_exist() -> None:
    pair = FarPair()
    assert pair.ask("OffsetCommit", 9, commit(9, ":ny:search:none")) is None
    assert codes(pair.answer("OffsetCommit", 9)) == [UNKNOWN_TOPIC_OR_PARTITION]
    assert not pair.made


def test_a_topic_that_the_last_listing_lacks_is_looked_for() -> None:
    pair = FarPair()
    pair.other.broker.make("search..new")
    sent = pair.ask("OffsetCommit", 9, commit(9, ":ny:search:new"))
    made = shadow_name(2, pair.other.broker.topics["search..new"].topic_id).decode()
    assert [topic.name for topic in sent.topics] == [made]


def test_a_group_goes_on_while_the_other_cluster_is_down() -> None:
    pair = FarPair()
    pair.other.broker.down = True
    sent = pair.ask("OffsetCommit", 9, commit(9, FOREIGN))
    assert [topic.name for topic in sent.topics] == [CLICKS]
    pair.reply("OffsetCommit", 9, message("OffsetCommitResponse", 9))
    assert pair.ask("OffsetCommit", 9, commit(9, ":ny:search:unheard-of")) is None
    assert codes(pair.answer("OffsetCommit", 9)) == [COORDINATOR_LOAD_IN_PROGRESS]


@pytest.mark.parametrize(
    ("allowed", "code"),
    [
        ([], TOPIC_AUTHORIZATION_FAILED),
        (["DESCRIBE TOPIC search:clicks"], TOPIC_AUTHORIZATION_FAILED),
        (["READ TOPIC search:clicks"], 0),
    ],
)
@pytest.mark.parametrize("named", [FOREIGN, CLICKS_ID])
def test_a_commit_needs_read_in_the_topics_own_volume(
    allowed: list[str], code: int, named: str | uuid.UUID
) -> None:
    pair = FarPair(authorizer=Allowing(allowed))
    version = 10 if isinstance(named, uuid.UUID) else 9
    sent = pair.ask("OffsetCommit", version, commit(version, named))
    assert bool(sent) == (code == 0)
    assert pair.made == ({} if code else {CLICKS: 3})
    if code:
        assert codes(pair.answer("OffsetCommit", version)) == [code]


def test_a_partition_that_the_coordinator_does_not_know_yet() -> None:
    """The shadow was created just now, or the topic has got more partitions."""
    pair = FarPair()
    pair.ask("OffsetCommit", 9, commit(9, FOREIGN, partition=4))
    answered = [
        {"name": CLICKS, "partitions": [{"error_code": UNKNOWN_TOPIC_OR_PARTITION}]},
    ]
    reply = message("OffsetCommitResponse", 9, topics=answered)
    assert codes(pair.reply("OffsetCommit", 9, reply)) == [COORDINATOR_LOAD_IN_PROGRESS]
    pair.other.broker.topics["search..clicks"].partitions = 5
    pair.ask("OffsetCommit", 9, commit(9, FOREIGN, partition=4))
    assert pair.made == {CLICKS: 5}
    pair.to_client()


def test_a_partition_that_the_topic_does_not_have() -> None:
    pair = FarPair()
    error = {"error_code": UNKNOWN_TOPIC_OR_PARTITION, "partition_index": 9}
    reply = message("OffsetCommitResponse", 9, topics=[{"name": CLICKS, "partitions": [error]}])
    found = []
    for _ in range(2):
        pair.ask("OffsetCommit", 9, commit(9, FOREIGN, partition=9))
        found += codes(pair.reply("OffsetCommit", 9, reply))
    assert found == [COORDINATOR_LOAD_IN_PROGRESS, UNKNOWN_TOPIC_OR_PARTITION]


def test_a_client_cannot_name_a_shadow() -> None:
    pair = FarPair()
    pair.home.make(CLICKS)
    assert pair.ask("OffsetCommit", 9, commit(9, CLICKS)) is None
    assert codes(pair.answer("OffsetCommit", 9)) == [UNKNOWN_TOPIC_OR_PARTITION]
