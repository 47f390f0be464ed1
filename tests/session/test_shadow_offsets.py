"""Offsets of another cluster's topics are fetched and deleted."""

from __future__ import annotations

import uuid

import pytest

from gateway.error_codes import UNSTABLE_OFFSET_COMMIT
from tests.session.allowing import Allowing
from tests.session.far import CLICKS, CLICKS_ID, FOREIGN, FarPair, codes, message


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


@pytest.mark.parametrize("number", ["2.AAAAAAAAAAAAAAAAAAAAAA", "9.ABEiM0RVZneImaq7zN3u_w", "x"])
def test_a_shadow_of_what_is_not_known_is_hidden(number: str) -> None:
    pair = FarPair()
    request = message("OffsetFetchRequest", 7, group_id="app", topics=None)
    pair.ask("OffsetFetch", 7, request)
    answered = [{"name": f"__kafka_gateway_far.{number}", "partitions": [{}]}]
    got = pair.reply("OffsetFetch", 7, message("OffsetFetchResponse", 7, topics=answered))
    assert got.topics == ()
