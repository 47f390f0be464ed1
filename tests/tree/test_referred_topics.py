"""Commits of offsets of topics behind other gateways: by name and by id, and the rights for
them."""

from __future__ import annotations

import uuid

import pytest

from gateway.error_codes import (
    COORDINATOR_LOAD_IN_PROGRESS,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.referrals.questions import Outcome
from gateway.rules.shadows import shadow_name
from gateway.tree.referred_topics import MAX_PARTITIONS, RIGHTS_SECONDS
from gateway.tree.shadow_topics import TOO_LARGE_SECONDS
from tests.session.far import CLICKS, CLICKS_ID, FOREIGN, SPELLED, codes, message
from tests.session.test_shadows import commit
from tests.tree.fake_others import DESCRIBE, READ, FarTopic
from tests.tree.referred_pair import ALICE, BOB, ReferredPair, rejected, sent

LATE = RIGHTS_SECONDS + 1


# -- commits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(2, 10))
@pytest.mark.parametrize("spelled", SPELLED)
def test_a_commit(pair: ReferredPair, version: int, spelled: str) -> None:
    seen = pair.ask("OffsetCommit", version, commit(version, "search:orders", spelled))
    assert [topic.name for topic in seen.topics] == ["search..orders", CLICKS]
    assert pair.made == {CLICKS: 3}
    answered = [
        {"name": name, "partitions": [{"partition_index": 0}]}
        for name in ("search..orders", CLICKS)
    ]
    reply = message("OffsetCommitResponse", version, topics=answered)
    got = pair.reply("OffsetCommit", version, reply)
    assert [topic.name for topic in got.topics] == ["search:orders", spelled]
    assert codes(got) == [0, 0]


def test_a_commit_of_topics_at_home_asks_nobody(pair: ReferredPair) -> None:
    assert sent(pair, "search:orders") == ["search..orders"]
    assert pair.asked() == 0


def test_a_commit_by_id_of_a_topic_that_was_never_seen(pair: ReferredPair) -> None:
    orders = uuid.UUID(bytes=pair.home.broker.topics["search..orders"].topic_id)
    seen = pair.ask("OffsetCommit", 10, commit(10, orders, CLICKS_ID))
    own = uuid.UUID(bytes=pair.home.broker.topics[CLICKS].topic_id)
    assert [topic.topic_id for topic in seen.topics] == [orders, own]
    answered = [{"topic_id": each.int, "partitions": [{}]} for each in (orders, own)]
    got = pair.reply("OffsetCommit", 10, message("OffsetCommitResponse", 10, topics=answered))
    assert [topic.topic_id for topic in got.topics] == [orders, CLICKS_ID]


def test_what_does_not_exist(pair: ReferredPair) -> None:
    assert rejected(pair, ":ny:search:none") == [UNKNOWN_TOPIC_OR_PARTITION]
    assert rejected(pair, uuid.UUID(int=99)) == [UNKNOWN_TOPIC_ID]
    assert not pair.made


def test_topics_of_one_request_are_one_question(pair: ReferredPair) -> None:
    pair.ny.topics["b"] = FarTopic(bytes([7]) * 16)
    assert len(sent(pair, FOREIGN, ":ny:b")) == 2
    (request,) = pair.others.asked()
    assert {topic.name for topic in request.topics} == {FOREIGN, ":ny:b"}


def test_a_shadow_is_made_once_and_grows_with_its_topic(pair: ReferredPair) -> None:
    for _ in range(2):
        sent(pair, FOREIGN)
    assert pair.asked() == 1
    assert len(pair.home.broker.requests("CreateTopicsRequest")) == 1
    pair.clicks.partitions = 7
    pair.later(LATE)
    sent(pair, FOREIGN)
    assert pair.made == {CLICKS: 7}


def test_a_topic_of_more_partitions_than_any_has_gets_no_shadow(
    pair: ReferredPair, caplog: pytest.LogCaptureFixture
) -> None:
    """They would be partitions of this cluster, on the word of another gateway."""
    pair.clicks.partitions = MAX_PARTITIONS + 1
    assert rejected(pair, FOREIGN) == [UNKNOWN_TOPIC_OR_PARTITION]
    assert rejected(pair, FOREIGN) == [UNKNOWN_TOPIC_OR_PARTITION]
    logged = "gateway.tree.shadow_topics"
    assert [each.getMessage() for each in caplog.records if each.name == logged] == [
        f"groups are assigned no partition of topic {FOREIGN}, and keep no offset of it: it has"
        " 10001 partitions, and a topic behind another gateway may have 10000"
    ]
    pair.home.clock.forward(seconds=TOO_LARGE_SECONDS + 1)
    rejected(pair, FOREIGN)
    assert sum(each.name == logged for each in caplog.records) == 2
    assert not pair.made
    pair.clicks.partitions = 3
    pair.later(LATE)
    sent(pair, FOREIGN)
    assert pair.made == {CLICKS: 3}


def test_a_partition_that_the_coordinator_does_not_know_yet(pair: ReferredPair) -> None:
    """The topic has got partitions since it was seen."""
    sent(pair, FOREIGN)
    pair.clicks.partitions = 5
    pair.ask("OffsetCommit", 9, commit(9, FOREIGN, partition=4))
    error = {"error_code": UNKNOWN_TOPIC_OR_PARTITION, "partition_index": 4}
    reply = message("OffsetCommitResponse", 9, topics=[{"name": CLICKS, "partitions": [error]}])
    assert codes(pair.reply("OffsetCommit", 9, reply)) == [COORDINATOR_LOAD_IN_PROGRESS]
    sent(pair, FOREIGN, partition=4)
    assert pair.made == {CLICKS: 5}


def test_a_topic_that_was_made_anew_has_another_shadow(pair: ReferredPair) -> None:
    sent(pair, FOREIGN)
    again = pair.ny.topics["search:clicks"] = FarTopic(bytes([9]) * 16, 2)
    pair.later(LATE)
    assert sent(pair, FOREIGN) == [shadow_name(2, again.topic_id).decode()]
    pair.later(LATE)
    assert rejected(pair, CLICKS_ID) == [UNKNOWN_TOPIC_ID]
    pair.goes_down()
    assert sent(pair, FOREIGN) == [shadow_name(2, again.topic_id).decode()]


# -- rights ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allowed", "allows"), [(0, False), (DESCRIBE, False), (READ | DESCRIBE, True)]
)
def test_a_commit_needs_read_on_the_topic(pair: ReferredPair, allowed: int, allows: bool) -> None:
    pair.clicks.allowed[ALICE] = allowed
    if allows:
        assert sent(pair, FOREIGN) == [CLICKS]
        assert len(sent(pair, CLICKS_ID)) == 1
        return
    assert rejected(pair, FOREIGN) == [TOPIC_AUTHORIZATION_FAILED]
    by_id = TOPIC_AUTHORIZATION_FAILED if allowed else UNKNOWN_TOPIC_ID  # as Kafka's Metadata
    assert rejected(pair, CLICKS_ID) == [by_id]
    assert not pair.made


@pytest.mark.parametrize("named", [FOREIGN, CLICKS_ID])
@pytest.mark.parametrize("left", [0, DESCRIBE])
def test_rights_that_are_too_old_are_asked_for_anew(
    pair: ReferredPair, named: str | uuid.UUID, left: int
) -> None:
    assert len(sent(pair, named)) == 1
    pair.clicks.allowed[ALICE] = left
    assert len(sent(pair, named)) == 1, "for a short time they count"
    pair.asked()
    pair.later(LATE)
    by_id = isinstance(named, uuid.UUID) and not left
    code = UNKNOWN_TOPIC_ID if by_id else TOPIC_AUTHORIZATION_FAILED
    assert rejected(pair, named) == [code]
    assert pair.asked() == 1


def test_a_right_that_was_given_counts_at_once(pair: ReferredPair) -> None:
    """Java's consumer ends with TOPIC_AUTHORIZATION_FAILED, and is started again."""
    pair.clicks.allowed[ALICE] = DESCRIBE
    assert rejected(pair, FOREIGN) == [TOPIC_AUTHORIZATION_FAILED]
    del pair.clicks.allowed[ALICE]
    assert sent(pair, FOREIGN) == [CLICKS]


def test_rights_of_one_principal_are_none_of_another(pair: ReferredPair) -> None:
    sent(pair, FOREIGN)
    pair.clicks.allowed[BOB] = DESCRIBE
    pair.be(BOB)
    assert rejected(pair, FOREIGN) == [TOPIC_AUTHORIZATION_FAILED]
    pair.goes_down()
    assert rejected(pair, FOREIGN) == [TOPIC_AUTHORIZATION_FAILED]
    pair.be("User:carol")
    assert rejected(pair, FOREIGN) == [COORDINATOR_LOAD_IN_PROGRESS]
    assert rejected(pair, CLICKS_ID) == [UNKNOWN_TOPIC_ID]


def test_rights_at_one_host_are_none_at_another(pair: ReferredPair) -> None:
    sent(pair, FOREIGN)
    pair.clicks.allowed[f"{ALICE} 192.0.2.66"] = 0
    pair.be(ALICE, "192.0.2.66")
    assert rejected(pair, FOREIGN) == [TOPIC_AUTHORIZATION_FAILED]
    pair.be(ALICE)
    assert sent(pair, FOREIGN) == [CLICKS]


@pytest.mark.parametrize("named", [FOREIGN, ":ny:search:none"])
def test_a_principal_that_a_gateway_does_not_accept(pair: ReferredPair, named: str) -> None:
    sent(pair, FOREIGN)
    pair.goes_down(Outcome.DENIED)
    pair.later(LATE)
    assert rejected(pair, named) == [TOPIC_AUTHORIZATION_FAILED]
    pair.ny.outcome.clear()
    assert sent(pair, FOREIGN) == [CLICKS]


# -- an owner that is down -------------------------------------------------------------------------


@pytest.mark.parametrize("named", [FOREIGN, CLICKS_ID])
def test_a_group_goes_on_while_the_owner_is_down(
    pair: ReferredPair, named: str | uuid.UUID
) -> None:
    before = sent(pair, named)
    pair.goes_down()
    assert sent(pair, named) == before
    pair.later(LATE)
    assert sent(pair, named) == before
    pair.asked()
    for _ in range(9):
        assert sent(pair, named) == before
    assert pair.asked() == 0, "a request waits for an owner that is known to be down"
    assert rejected(pair, ":ny:search:never") == [COORDINATOR_LOAD_IN_PROGRESS]


def test_an_owner_whose_answer_cannot_be_read_is_one_that_is_down(pair: ReferredPair) -> None:
    before = sent(pair, FOREIGN)
    pair.ny.garbled = True
    pair.later(LATE)
    assert sent(pair, FOREIGN) == before
    assert rejected(pair, ":ny:search:never") == [COORDINATOR_LOAD_IN_PROGRESS]


def test_rights_count_again_when_the_owner_is_back(pair: ReferredPair) -> None:
    sent(pair, FOREIGN)
    pair.goes_down()
    pair.later(LATE)
    sent(pair, FOREIGN)
    pair.clicks.allowed[ALICE] = 0
    pair.ny.outcome.clear()
    sent(pair, FOREIGN)  # asks in the background
    pair.in_background()
    assert rejected(pair, FOREIGN) == [TOPIC_AUTHORIZATION_FAILED]


def test_after_a_restart_rights_are_asked_for_before_the_first_commit(pair: ReferredPair) -> None:
    volume = pair.lanes.volume("ny")
    volume.number = 2
    inside = pair.lanes.names("ny").parse(FOREIGN)
    assert inside is not None
    volume.note_topic(ALICE, inside, CLICKS_ID.bytes, 3, READ | DESCRIBE)  # as a file has it
    pair.clicks.allowed[ALICE] = 0
    assert rejected(pair, FOREIGN) == [TOPIC_AUTHORIZATION_FAILED]


def test_after_a_restart_the_last_rights_count_while_the_owner_is_down(pair: ReferredPair) -> None:
    volume = pair.lanes.volume("ny")
    volume.number = 2
    inside = pair.lanes.names("ny").parse(FOREIGN)
    assert inside is not None
    volume.note_topic(ALICE, inside, CLICKS_ID.bytes, 3, READ | DESCRIBE)
    pair.goes_down()
    assert sent(pair, FOREIGN) == [CLICKS]
    assert rejected(pair, ":ny:search:none") == [COORDINATOR_LOAD_IN_PROGRESS]


def test_a_client_cannot_name_a_shadow(pair: ReferredPair) -> None:
    sent(pair, FOREIGN)
    assert rejected(pair, CLICKS) == [UNKNOWN_TOPIC_OR_PARTITION]
    assert rejected(pair, f":ny:{CLICKS}") == [UNKNOWN_TOPIC_OR_PARTITION]
