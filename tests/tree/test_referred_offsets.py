"""Offsets of topics behind other gateways that are fetched, and the names that a client sees."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from gateway.error_codes import TOPIC_AUTHORIZATION_FAILED, UNSTABLE_OFFSET_COMMIT
from gateway.tree.referred_topics import RIGHTS_SECONDS
from tests.session.far import CLICKS, CLICKS_ID, FOREIGN, codes, message
from tests.tree.fake_others import DESCRIBE, READ
from tests.tree.referred_pair import ALICE, BOB, ReferredPair, sent

LATE = RIGHTS_SECONDS + 1


def fetch(pair: ReferredPair, name: str = FOREIGN) -> Any:
    topics = [{"name": name, "partition_indexes": [0]}]
    return pair.ask(
        "OffsetFetch", 7, message("OffsetFetchRequest", 7, group_id="app", topics=topics)
    )


@pytest.mark.parametrize("allowed", [DESCRIBE, READ | DESCRIBE])
def test_offsets_by_name_need_describe_and_make_no_shadow(pair: ReferredPair, allowed: int) -> None:
    pair.clicks.allowed[ALICE] = allowed
    assert [topic.name for topic in fetch(pair).topics] == [CLICKS]
    assert not pair.made
    answered = [{"name": CLICKS, "partitions": [{"committed_offset": 4}]}]
    got = pair.reply("OffsetFetch", 7, message("OffsetFetchResponse", 7, topics=answered))
    assert [topic.name for topic in got.topics] == [FOREIGN]


def test_offsets_of_a_topic_that_may_not_be_described(pair: ReferredPair) -> None:
    pair.clicks.allowed[ALICE] = 0
    assert fetch(pair).topics == ()
    got = pair.reply("OffsetFetch", 7, message("OffsetFetchResponse", 7))
    assert codes(got) == [TOPIC_AUTHORIZATION_FAILED]


def test_offsets_that_cannot_be_fetched_now_are_asked_for_again(pair: ReferredPair) -> None:
    pair.goes_down()
    assert fetch(pair, ":ny:search:unheard-of").topics == ()
    got = pair.reply("OffsetFetch", 7, message("OffsetFetchResponse", 7))
    assert codes(got) == [UNSTABLE_OFFSET_COMMIT]


def all_offsets(pair: ReferredPair, version: int) -> list[str | uuid.UUID]:
    """The topics in a response with all offsets of the group."""
    groups: list[dict[str, object]] = [{"group_id": "app", "topics": None}]
    pair.ask("OffsetFetch", version, message("OffsetFetchRequest", version, groups=groups))
    named: dict[str, object] = {"name": CLICKS}
    if version == 10:
        own = uuid.UUID(bytes=pair.home.broker.topics[CLICKS].topic_id)
        named = {"topic_id": own.int}
    groups = [{"group_id": "app", "topics": [{**named, "partitions": [{}]}]}]
    reply = message("OffsetFetchResponse", version, groups=groups)
    got = pair.reply("OffsetFetch", version, reply)
    return [each.topic_id if version == 10 else each.name for each in got.groups[0].topics]


@pytest.mark.parametrize(("version", "shown"), [(8, FOREIGN), (10, CLICKS_ID)])
def test_all_offsets(pair: ReferredPair, version: int, shown: str | uuid.UUID) -> None:
    sent(pair, FOREIGN)
    assert all_offsets(pair, version) == [shown]
    pair.goes_down()
    pair.later(LATE)
    assert all_offsets(pair, version) == [shown]
    pair.be(BOB)
    assert all_offsets(pair, version) == [], "another principal has not seen it"


@pytest.mark.parametrize(("version", "shown"), [(8, FOREIGN), (10, CLICKS_ID)])
def test_a_topic_that_the_client_has_not_seen_is_learned_for_the_next_request(
    pair: ReferredPair, version: int, shown: str | uuid.UUID
) -> None:
    """A response does not wait for another gateway."""
    sent(pair, FOREIGN)
    pair.be(BOB)
    assert all_offsets(pair, version) == []
    pair.in_background()
    assert all_offsets(pair, version) == [shown]
    pair.clicks.allowed["User:carol"] = 0
    pair.be("User:carol")
    for _ in range(2):
        assert all_offsets(pair, version) == []
        pair.in_background()


def test_rights_that_are_too_old_are_renewed_after_a_response(pair: ReferredPair) -> None:
    sent(pair, FOREIGN)
    pair.later(LATE)
    pair.clicks.allowed[ALICE] = 0
    all_offsets(pair, 8)
    pair.in_background()
    assert all_offsets(pair, 8) == []


def test_a_topic_that_is_denied_is_hidden_at_once(pair: ReferredPair) -> None:
    sent(pair, FOREIGN)
    pair.clicks.allowed[ALICE] = 0
    pair.later(LATE)
    fetch(pair)
    pair.reply("OffsetFetch", 7, message("OffsetFetchResponse", 7))
    assert all_offsets(pair, 8) == []
