"""Groups that name topics of another cluster: the coordinator sees their shadows."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from gateway.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    GROUP_AUTHORIZATION_FAILED,
    INVALID_REQUEST,
    NOT_LEADER_OR_FOLLOWER,
    OPERATION_NOT_ATTEMPTED,
    POLICY_VIOLATION,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSTABLE_OFFSET_COMMIT,
)
from gateway.rules.shadows import shadow_name
from tests.scenarios.entities import difference
from tests.session.allowing import Allowing
from tests.session.far import CLICKS, CLICKS_ID, LA, NY, FarPair, message
from tests.session.producing import batch, produce

FOREIGN = ":ny:search:clicks"
SPELLED = [FOREIGN, "/ny/search/clicks", "..ny.search..clicks"]


def commit(version: int, *topics: str | uuid.UUID, partition: int = 0) -> Any:
    named = [
        {"topic_id": each.int} if isinstance(each, uuid.UUID) else {"name": each} for each in topics
    ]
    partitions = [{"partition_index": partition, "committed_offset": 5}]
    entries = [{**each, "partitions": partitions} for each in named]
    return message("OffsetCommitRequest", version, group_id="app", topics=entries)


def codes(response: Any, field: str = "error_code") -> list[int]:
    return [getattr(part, field) for topic in response.topics for part in topic.partitions]


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
    assert len(pair.home.broker.requests("CreateTopicsRequest")) == 1
    pair.other.broker.topics["search..clicks"].partitions = 7
    pair.other.cluster.list()
    pair.ask("OffsetCommit", 9, commit(9, FOREIGN))
    assert pair.made == {CLICKS: 7}


def test_another_gateway_has_made_it() -> None:
    pair = FarPair()
    pair.home.broker.make(CLICKS)  # no listing has it yet
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
    """Right after the shadow was made, or the topic has got partitions."""
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


@pytest.mark.parametrize("version", [0, 5, 9])
def test_a_subscription_and_its_assignment(version: int) -> None:
    pair = FarPair()
    for spelled in SPELLED:
        subscribed = {"subscription": ["search:orders", spelled]}
        protocols = [{"name": "range", "metadata": subscribed}]
        joining = {"group_id": "app", "protocol_type": "consumer", "protocols": protocols}
        sent = pair.ask("JoinGroup", version, message("JoinGroupRequest", version, **joining))
        flat = {"subscription": ["search..orders", CLICKS]}
        assert not difference({"protocols": [{"metadata": flat}]}, sent)
        assert pair.made == {CLICKS: 3}
        members = [{"member_id": "m", "metadata": flat}]
        values = {"protocol_type": "consumer", "members": members}
        joined = pair.reply("JoinGroup", version, message("JoinGroupResponse", version, **values))
        assert not difference({"members": [{"metadata": subscribed}]}, joined)
        _assign(pair, min(version, 5), spelled)


def _assign(pair: FarPair, version: int, spelled: str) -> None:
    shares = {"assignment": {"search:orders": [0], spelled: [1, 2]}}
    flat = {"assignment": {"search..orders": [0], CLICKS: [1, 2]}}
    values = {"group_id": "app", "protocol_type": "consumer"}
    assignments = [{"member_id": "m", "assignment": shares}]
    request = message("SyncGroupRequest", version, assignments=assignments, **values)
    sent = pair.ask("SyncGroup", version, request)
    assert not difference({"assignments": [{"assignment": flat}]}, sent)
    reply = message("SyncGroupResponse", version, protocol_type="consumer", assignment=flat)
    got = pair.reply("SyncGroup", version, reply)
    assert not difference({"assignment": shares}, got)


def test_a_subscription_to_what_does_not_exist_yet() -> None:
    """Members see each other's, so that the group is balanced anew when it does."""
    pair = FarPair()
    subscribed = {"subscription": [":ny:search:later"]}
    protocols = [{"name": "range", "metadata": subscribed}]
    joining = {"group_id": "app", "protocol_type": "consumer", "protocols": protocols}
    sent = pair.ask("JoinGroup", 5, message("JoinGroupRequest", 5, **joining))
    flat = {"subscription": ["__kafka_gateway_far.2:search..later"]}
    assert not difference({"protocols": [{"metadata": flat}]}, sent)
    assert not pair.made
    members = [{"member_id": "m", "metadata": flat}]
    joined = pair.reply("JoinGroup", 5, message("JoinGroupResponse", 5, members=members))
    assert not difference({"members": [{"metadata": subscribed}]}, joined)


def test_joining_makes_no_shadow_of_what_the_client_may_not_read() -> None:
    pair = FarPair(authorizer=Allowing(["DESCRIBE TOPIC search:clicks"]))
    protocols = [{"name": "range", "metadata": {"subscription": [FOREIGN]}}]
    joining = {"group_id": "app", "protocol_type": "consumer", "protocols": protocols}
    sent = pair.ask("JoinGroup", 5, message("JoinGroupRequest", 5, **joining))
    assert not difference({"protocols": [{"metadata": {"subscription": [CLICKS]}}]}, sent)
    assert not pair.made


@pytest.mark.parametrize(("allowed", "shown"), [(None, True), ([], False)])
def test_all_offsets(allowed: list[str] | None, shown: bool) -> None:
    pair = FarPair(authorizer=None if allowed is None else Allowing(allowed))
    pair.home.make(CLICKS)
    for version in (8, 10):
        request = message(
            "OffsetFetchRequest", version, groups=[{"group_id": "app", "topics": None}]
        )
        pair.ask("OffsetFetch", version, request)
        named: dict[str, object] = {"name": CLICKS}
        if version == 10:
            own = uuid.UUID(bytes=pair.home.broker.topics[CLICKS].topic_id)
            named = {"topic_id": own.int}
        groups = [{"group_id": "app", "topics": [{**named, "partitions": [{}]}]}]
        got = pair.reply(
            "OffsetFetch", version, message("OffsetFetchResponse", version, groups=groups)
        )
        topics = got.groups[0].topics
        assert len(topics) == shown
        if shown and version == 8:
            assert topics[0].name == FOREIGN
        elif shown:
            assert topics[0].topic_id == CLICKS_ID


def test_offsets_by_name_make_no_shadow() -> None:
    pair = FarPair()
    topics = [{"name": FOREIGN, "partition_indexes": [0]}]
    sent = pair.ask("OffsetFetch", 7, message("OffsetFetchRequest", 7, group_id="a", topics=topics))
    assert [topic.name for topic in sent.topics] == [CLICKS]
    assert not pair.made
    answered = [{"name": CLICKS, "partitions": [{"committed_offset": 4}]}]
    got = pair.reply("OffsetFetch", 7, message("OffsetFetchResponse", 7, topics=answered))
    assert [topic.name for topic in got.topics] == [FOREIGN]


def test_offsets_that_cannot_be_fetched_now_are_asked_for_again() -> None:
    pair = FarPair()
    pair.other.broker.down = True
    topics = [{"name": ":ny:search:unheard-of", "partition_indexes": [0]}]
    sent = pair.ask("OffsetFetch", 7, message("OffsetFetchRequest", 7, group_id="a", topics=topics))
    assert sent.topics == ()
    got = pair.reply("OffsetFetch", 7, message("OffsetFetchResponse", 7))
    assert codes(got) == [UNSTABLE_OFFSET_COMMIT]


def test_offsets_are_deleted() -> None:
    pair = FarPair()
    topics = [{"name": FOREIGN, "partitions": [{"partition_index": 0}]}]
    request = message("OffsetDeleteRequest", 0, group_id="app", topics=topics)
    sent = pair.ask("OffsetDelete", 0, request)
    assert [topic.name for topic in sent.topics] == [CLICKS]
    answered = [{"name": CLICKS, "partitions": [{}]}]
    got = pair.reply("OffsetDelete", 0, message("OffsetDeleteResponse", 0, topics=answered))
    assert [topic.name for topic in got.topics] == [FOREIGN]


@pytest.mark.parametrize(("allowed", "shown"), [(None, [FOREIGN]), ([], [])])
def test_a_described_group(allowed: list[str] | None, shown: list[str]) -> None:
    pair = FarPair(authorizer=None if allowed is None else Allowing(allowed))
    pair.ask("DescribeGroups", 5, message("DescribeGroupsRequest", 5, groups=["app"]))
    member = {"member_metadata": {"subscription": [CLICKS]}}
    group = {"group_id": "app", "protocol_type": "consumer", "members": [member]}
    got = pair.reply("DescribeGroups", 5, message("DescribeGroupsResponse", 5, groups=[group]))
    wanted = {"member_metadata": {"subscription": shown}}
    assert not difference({"groups": [{"members": [wanted]}]}, got)


@pytest.mark.parametrize("number", ["2.AAAAAAAAAAAAAAAAAAAAAA", "9.ABEiM0RVZneImaq7zN3u_w", "x"])
def test_a_shadow_of_what_is_not_known_is_hidden(number: str) -> None:
    pair = FarPair()
    request = message("OffsetFetchRequest", 7, group_id="app", topics=None)
    pair.ask("OffsetFetch", 7, request)
    answered = [{"name": f"__kafka_gateway_far.{number}", "partitions": [{}]}]
    got = pair.reply("OffsetFetch", 7, message("OffsetFetchResponse", 7, topics=answered))
    assert got.topics == ()


def test_a_client_cannot_name_a_shadow() -> None:
    pair = FarPair()
    pair.home.make(CLICKS)
    assert pair.ask("OffsetCommit", 9, commit(9, CLICKS)) is None
    assert codes(pair.answer("OffsetCommit", 9)) == [UNKNOWN_TOPIC_OR_PARTITION]


# -- transactions ----------------------------------------------------------------------------------


def test_offsets_in_a_transaction() -> None:
    pair = FarPair()
    topics = [{"name": FOREIGN, "partitions": [{"partition_index": 0}]}]
    values = {"group_id": "app", "transactional_id": "tx", "topics": topics}
    sent = pair.ask("TxnOffsetCommit", 3, message("TxnOffsetCommitRequest", 3, **values))
    assert [topic.name for topic in sent.topics] == [CLICKS]
    assert pair.made == {CLICKS: 3}


@pytest.mark.parametrize("api", ["TxnOffsetCommit", "AddOffsetsToTxn"])
@pytest.mark.parametrize(("group", "transactional"), [("app", ":ny:tx"), ("/ny/app", "tx")])
def test_a_group_of_another_volume_than_the_transactions(
    api: str, group: str, transactional: str
) -> None:
    pair = FarPair()
    values: dict[str, object] = {"group_id": group, "transactional_id": transactional}
    if api == "TxnOffsetCommit":
        values["topics"] = [{"name": "search:orders", "partitions": [{}]}]
    assert pair.ask(api, 3, message(f"{api}Request", 3, **values)) is None
    got = pair.answer(api, 3)
    found = codes(got) if api == "TxnOffsetCommit" else [got.error_code]
    assert found == [GROUP_AUTHORIZATION_FAILED]


def test_partitions_of_another_volume_are_not_added() -> None:
    pair = FarPair()
    topics = [{"name": name, "partitions": [0]} for name in ("search:orders", FOREIGN)]
    values = {"v3_and_below_transactional_id": "tx", "v3_and_below_topics": topics}
    assert (
        pair.ask("AddPartitionsToTxn", 3, message("AddPartitionsToTxnRequest", 3, **values)) is None
    )
    got = pair.answer("AddPartitionsToTxn", 3)
    assert [
        part.partition_error_code
        for topic in got.results_by_topic_v3_and_below
        for part in topic.results_by_partition
    ] == [OPERATION_NOT_ATTEMPTED, TOPIC_AUTHORIZATION_FAILED]


# -- records ---------------------------------------------------------------------------------------


def produced(pair: FarPair, version: int = 9) -> Any:
    (topic,) = pair.answer("Produce", version).responses
    return topic.partition_responses[0]


def test_a_transaction_does_not_write_in_another_volume() -> None:
    # The node is of ny, the transactional id of la:tracking (KIP-890: no AddPartitionsToTxn).
    pair = FarPair(NY)
    written = batch(1, producer_id=7, transactional=True)
    assert (
        pair.ask("Produce", 9, produce({":ny:search:orders": [written]}, transactional_id="tx"))
        is None
    )
    found = produced(pair)
    assert found.error_code == POLICY_VIOLATION
    assert "'tx'" in found.error_message
    # The node is of la:tracking, the topic is not.
    pair = FarPair()
    assert pair.ask("Produce", 9, produce({FOREIGN: [written]}, transactional_id="tx")) is None
    assert produced(pair).error_code == POLICY_VIOLATION
    assert pair.ask("Produce", 9, produce({FOREIGN: [batch(1)]})) is None
    assert produced(pair).error_code == NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("home", "producer_id", "transactional", "code"),
    [
        (LA, 7, False, None),
        (NY, -1, False, None),
        (NY, 7, True, None),
        (NY, 1 << 48 | 7, False, None),
        (NY, 7, False, POLICY_VIOLATION),
    ],
)
def test_an_unmarked_producer_writes_in_the_listeners_volume_only(
    home: str, producer_id: int, transactional: bool, code: int | None
) -> None:
    pair = FarPair(home)
    name = "search:orders" if home == LA else ":ny:search:orders"
    transactional_id = ":ny:tx" if transactional else None
    records = batch(1, producer_id=producer_id, transactional=transactional)
    sent = pair.ask("Produce", 9, produce({name: [records]}, transactional_id=transactional_id))
    assert (sent is None) == (code is not None)
    if code is not None:
        found = produced(pair)
        assert found.error_code == code
        assert "Create the producer anew" in found.error_message


# -- KIP-848 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_id", [False, True])
def test_groups_of_kip_848_keep_to_one_volume(by_id: bool) -> None:
    pair = FarPair()
    values: dict[str, object] = {"group_id": "app", "member_id": "m", "member_epoch": 0}
    if by_id:
        values |= {"topic_partitions": [{"topic_id": CLICKS_ID.int, "partitions": [0]}]}
    else:
        values |= {"subscribed_topic_names": ["search:orders", FOREIGN]}
    request = message("ConsumerGroupHeartbeatRequest", 1, **values)
    assert pair.ask("ConsumerGroupHeartbeat", 1, request) is None
    got = pair.answer("ConsumerGroupHeartbeat", 1)
    assert got.error_code == INVALID_REQUEST
    assert "group.protocol=classic" in got.error_message
    assert by_id or FOREIGN in got.error_message
