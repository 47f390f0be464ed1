"""Fetch sessions, requests in flight, members and producers that are open when an ACL is
removed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from protocol import messages
from protocol.messages import element_class, make
from tests.session import fetching, samples
from tests.session.allowing import Allowing
from tests.session.pair import Pair, response_frame, topic_id

FLAT = "team-a..orders"
NAME = "team-a:orders"
NO_SESSION, FORBIDDEN, FORBIDDEN_GROUP = 70, 29, 30
ALL = ("READ", "WRITE", "DESCRIBE")


@pytest.fixture
def pair() -> Pair:
    allowed = [f"{operation} TOPIC {NAME}" for operation in ALL]
    return Pair(topics=[FLAT, "plain"], authorizer=Allowing([*allowed, "READ GROUP app"]))


def allow(pair: Pair, *allowed: str) -> None:
    """Allow only these operations from now on."""
    pair.authorizer = Allowing(allowed)
    pair.catalog_changed()


def asked(version: int) -> Any:
    return 1 if version > 12 else NAME


@pytest.mark.parametrize("version", [7, 12, 13, 15])
def test_an_open_fetch_session_is_over(pair: Pair, version: int) -> None:
    pair.ask("Fetch", version, fetching.request(version, {asked(version): [0]}, session_epoch=0))
    answered: Any = 1 if version > 12 else FLAT
    pair.reply("Fetch", version, fetching.response(version, {answered: [b"records"]}, session_id=5))
    allow(pair, f"DESCRIBE TOPIC {NAME}")
    again = fetching.request(version, {}, session_id=5, session_epoch=1)
    assert pair.ask("Fetch", version, again) is None
    assert pair.answer("Fetch", version).error_code == NO_SESSION
    afresh = fetching.request(version, {asked(version): [0]}, session_epoch=0)
    assert pair.ask("Fetch", version, afresh) is None
    (topic,) = pair.answer("Fetch", version).responses
    assert topic.partitions[0].error_code == FORBIDDEN


@pytest.mark.parametrize("version", [7, 12, 13, 15])
@pytest.mark.parametrize("pieces", [3, 10_000])
def test_a_fetch_in_flight_brings_nothing(pair: Pair, version: int, pieces: int) -> None:
    pair.ask("Fetch", version, fetching.request(version, {asked(version): [0]}, session_epoch=0))
    allow(pair)
    answered: Any = 1 if version > 12 else FLAT
    entity = fetching.response(version, {answered: [b"secret" * 50]}, session_id=5)
    data = response_frame("Fetch", version, entity)
    for at in range(0, len(data), pieces):
        pair.session.broker_data(data[at : at + pieces])
    got = pair.answer("Fetch", version)
    assert (got.error_code, got.responses) == (NO_SESSION, ())
    # The broker's answer meanwhile has not opened its session again.
    again = fetching.request(version, {}, session_id=5, session_epoch=1)
    assert pair.ask("Fetch", version, again) is None
    assert pair.answer("Fetch", version).error_code == NO_SESSION


@pytest.mark.parametrize("version", [7, 12, 13, 15])
def test_several_changes_end_it_once(pair: Pair, version: int) -> None:
    """The client gets a single error, and it is counted once."""
    pair.ask("Fetch", version, fetching.request(version, {asked(version): [0]}, session_epoch=0))
    allow(pair)
    allow(pair, f"DESCRIBE TOPIC {NAME}")
    pair.close_view()
    answered: Any = 1 if version > 12 else FLAT
    got = pair.reply("Fetch", version, fetching.response(version, {answered: [b"secret"]}))
    assert got.error_code == NO_SESSION
    counted = [flow.errors.get(NO_SESSION, 0) for flow in pair.session.take_flows()]
    assert sum(counted) == 1


def test_what_is_still_allowed_goes_on(pair: Pair) -> None:
    pair.ask("Fetch", 15, fetching.request(15, {1: [0]}, session_epoch=0))
    pair.reply("Fetch", 15, fetching.response(15, {1: [b"records"]}, session_id=5))
    allow(pair, f"READ TOPIC {NAME}")
    seen = pair.ask("Fetch", 15, fetching.request(15, {}, session_id=5, session_epoch=1))
    assert seen.session_id == 5


@pytest.mark.parametrize("version", [9, 13])
def test_the_next_produce_is_rejected(pair: Pair, version: int) -> None:
    entity = samples.request("Produce", version, NAME, topic_id(1), acks=-1)
    entity = replace(entity, transactional_id=None)
    assert pair.ask("Produce", version, entity) is not None
    pair.reply("Produce", version, samples.response("Produce", version, FLAT, topic_id(1), ""))
    allow(pair, f"READ TOPIC {NAME}")
    assert pair.ask("Produce", version, entity) is None
    (topic,) = pair.answer("Produce", version).responses
    assert topic.partition_responses[0].error_code == FORBIDDEN


def heartbeat(pair: Pair, *names: str) -> Any:
    cls = messages.message_class("ConsumerGroupHeartbeatRequest", 1)
    values = {"group_id": "app", "member_id": "m", "subscribed_topic_names": names or None}
    return pair.ask("ConsumerGroupHeartbeat", 1, messages.build(cls, **values))


def member(epoch: int) -> Any:
    cls = messages.message_class("ConsumerGroupHeartbeatResponse", 1)
    return make(cls, {"member_id": "m", "member_epoch": epoch})


def test_a_member_is_rejected_its_group(pair: Pair) -> None:
    assert heartbeat(pair, NAME) is not None
    pair.reply("ConsumerGroupHeartbeat", 1, member(1))
    allow(pair, f"DESCRIBE TOPIC {NAME}")
    assert heartbeat(pair) is None
    assert pair.answer("ConsumerGroupHeartbeat", 1).error_code == FORBIDDEN_GROUP


def test_a_subscription_is_rejected_for_one_topic(pair: Pair) -> None:
    assert heartbeat(pair, NAME, "plain") is None
    got = pair.answer("ConsumerGroupHeartbeat", 1)
    assert got.error_code == FORBIDDEN
    assert "'plain'" in got.error_message


def test_a_listing_follows_the_acls(pair: Pair) -> None:
    listed = pair.session.state.listing()
    assert listed.names == [NAME]
    assert pair.session.state.listing() is listed
    allow(pair, "DESCRIBE TOPIC plain", f"DESCRIBE TOPIC {NAME}")
    more = pair.session.state.listing()
    assert more.names == ["plain", NAME]
    assert more.version > listed.version
    allow(pair, "DESCRIBE TOPIC plain", f"DESCRIBE TOPIC {NAME}", "READ TOPIC plain")
    assert pair.session.state.listing().version == more.version


def test_a_forbidden_id_does_not_tell_its_name(pair: Pair) -> None:
    cls = messages.message_class("MetadataRequest", 12)
    topic = {"name": None, "topic_id": topic_id(2)}
    entry = make(element_class(cls, "topics"), topic)
    pair.ask("Metadata", 12, messages.build(cls, topics=(entry,)))
    answer = messages.message_class("MetadataResponse", 12)
    (got,) = pair.reply("Metadata", 12, messages.build(answer)).topics
    assert (got.error_code, got.topic_id, got.name) == (FORBIDDEN, topic_id(2), None)
