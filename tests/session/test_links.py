"""Links in whole sessions: requests by name and by id, groups, and the rights that apply."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from gateway.catalog.entities import CatalogFormat, Link, Removal, TopicEntry, key_of
from gateway.names import LogicalName
from protocol import messages
from protocol.messages import element_class, make
from tests.scenarios.entities import difference, entity
from tests.session import changing, fetching
from tests.session.pair import Pair, request_frame, topic_id
from tests.session.test_groups import answer, join

FLAT, LINK_ID = "team-a..orders", UUID(int=78)
LINK = LogicalName("team-b", "shared")
ENTRY = TopicEntry(FLAT, LogicalName("team-a", "orders"))
LINKED = Link(LINK, FLAT, LINK_ID.bytes)
INVALID_REQUEST, UNKNOWN_TOPIC, FETCH_SESSION_ID_NOT_FOUND = 42, 3, 70
TOPIC_DENIED = 29


def linked(*allowed: str, **settings: Any) -> Pair:
    """A session; if ``allowed`` is given, every other operation is denied."""
    made = (
        changing.pair(*allowed, topics=[FLAT, "plain"], **settings)
        if allowed
        else Pair(topics=[FLAT, "plain"], **settings)
    )
    made.log.append([CatalogFormat(3), ENTRY, LINKED])
    made.catalog_changed()
    return made


def rejected(pair: Pair, api: str, version: int, asked: Any) -> Any:
    """The gateway's own response to a request that the broker does not get."""
    pair.send(request_frame(api, version, asked))
    assert pair.to_broker() == b""
    return pair.answer(api, version)


def metadata(pair: Pair, *names: str | None) -> dict[str, tuple[int, UUID | None]]:
    """Error and topic id by name, as the client gets them; None requests all topics."""
    cls = messages.message_class("MetadataRequest", 12)
    topic = element_class(cls, "topics")
    asked = None if names == (None,) else tuple(make(topic, {"name": name}) for name in names)
    values = {"topics": asked, "allow_auto_topic_creation": True}
    seen = pair.ask("Metadata", 12, make(cls, values))
    ids = {FLAT: topic_id(1), "plain": topic_id(2)}
    listed = ids.keys() if seen.topics is None else {one.name for one in seen.topics}
    assert listed <= ids.keys()
    cls = messages.message_class("MetadataResponse", 12)
    topic = element_class(cls, "topics")
    topics = tuple(make(topic, {"name": name, "topic_id": ids[name]}) for name in sorted(listed))
    got = pair.reply("Metadata", 12, make(cls, {"topics": topics}))
    return {one.name: (one.error_code, one.topic_id) for one in got.topics}


def test_each_name_has_its_id_also_in_one_request() -> None:
    both = {"team-a:orders": (0, topic_id(1)), "team-b:shared": (0, LINK_ID)}
    assert metadata(linked(), "team-b:shared") == {"team-b:shared": (0, LINK_ID)}
    assert metadata(linked(), "team-a:orders", "team-b:shared") == both
    assert metadata(linked(), "team-b:shared", "team-a:orders") == both
    assert metadata(linked(), None) == {**both, "plain": (0, topic_id(2))}


def test_in_a_home_only_the_link_shows() -> None:
    assert metadata(linked(home="team-b"), None) == {"shared": (0, LINK_ID)}


def test_all_that_may_be_described() -> None:
    one = linked("DESCRIBE TOPIC team-b:shared")
    assert metadata(one, None) == {"team-b:shared": (0, LINK_ID)}


def test_a_fetch_by_the_links_id_needs_rights_of_the_link() -> None:
    for allowed, code in (("team-b:shared", None), ("team-a:orders", TOPIC_DENIED)):
        one = linked(f"READ TOPIC {allowed}")
        asked = fetching.request(13, {78: [0]})
        if code is None:
            seen = one.ask("Fetch", 13, asked)
            assert [topic.topic_id for topic in seen.topics] == [topic_id(1)]
            got = one.reply("Fetch", 13, fetching.response(13, {1: [b""]}))
            assert [topic.topic_id for topic in got.responses] == [LINK_ID]
            continue
        (topic,) = rejected(one, "Fetch", 13, asked).responses
        assert (topic.topic_id, topic.partitions[0].error_code) == (LINK_ID, TOPIC_DENIED)


@pytest.mark.parametrize("version", [0, 5, 9])
def test_a_subscription_to_a_link_and_its_topic_is_rejected(version: int) -> None:
    one = linked()
    both = {"subscription": ["team-a:orders", "team-b:shared"]}
    seen = rejected(one, "JoinGroup", version, join(version, "consumer", both))
    assert seen.error_code == INVALID_REQUEST


def test_two_spellings_of_a_link_are_one_name() -> None:
    one = linked()
    twice = {"subscription": ["team-b..shared", "team-b:shared"]}
    one.ask("JoinGroup", 5, join(5, "consumer", twice))


def test_a_leader_in_a_home_sees_other_members_by_the_link() -> None:
    """It assigns them the topics that they subscribed to, even if it did not subscribe to these
    itself."""
    one = linked(home="team-b")
    one.ask("JoinGroup", 5, join(5, "consumer", {"subscription": ["other"]}))
    members = [{"member_id": "m", "metadata": {"subscription": [FLAT]}}]
    got = one.reply(
        "JoinGroup", 5, answer("JoinGroup", 5, protocol_type="consumer", members=members)
    )
    assert not difference({"members": [{"metadata": {"subscription": ["shared"]}}]}, got)


def heartbeat(*names: str, regex: str | None = None) -> Any:
    cls = messages.message_class("ConsumerGroupHeartbeatRequest", 1)
    return messages.build(
        cls,
        subscribed_topic_regex=regex,
        group_id="app",
        member_id="m",
        member_epoch=0,
        subscribed_topic_names=names,
        topic_partitions=(),
    )


def test_a_heartbeat_with_both_is_rejected_with_a_sentence() -> None:
    one = linked()
    got = rejected(one, "ConsumerGroupHeartbeat", 1, heartbeat("team-a:orders", "team-b:shared"))
    assert got.error_code == INVALID_REQUEST
    assert got.error_message == (
        "'team-a:orders' and 'team-b:shared' are one topic, by a link; subscribe to one of the two"
        " names."
    )
    seen = one.ask("ConsumerGroupHeartbeat", 1, heartbeat("team-b:shared", "plain"))
    assert set(seen.subscribed_topic_names) == {FLAT, "plain"}


def test_an_expression_that_matches_both_subscribes_to_the_topic_once() -> None:
    one = linked()
    seen = one.ask("ConsumerGroupHeartbeat", 1, heartbeat(regex="team-[ab]:.*"))
    assert seen.subscribed_topic_names == (FLAT,)


def test_offsets_under_both_names_are_one_partition() -> None:
    one = linked()
    cls = messages.message_class("OffsetFetchRequest", 5)
    asked = [
        {"name": "team-a:orders", "partition_indexes": [0]},
        {"name": "team-b:shared", "partition_indexes": [0, 1]},
    ]
    seen = one.ask("OffsetFetch", 5, entity(cls, {"group_id": "app", "topics": asked}))
    assert not difference({"topics": [{"name": FLAT, "partition_indexes": [0, 1]}]}, seen)
    replied = [{"partition_index": n, "committed_offset": 7 + n} for n in (0, 1)]
    got = one.reply(
        "OffsetFetch", 5, answer("OffsetFetch", 5, topics=[{"name": FLAT, "partitions": replied}])
    )
    wanted = [
        {"name": "team-a:orders", "partitions": replied[:1]},
        {"name": "team-b:shared", "partitions": replied},
    ]
    assert not difference({"topics": wanted}, got)


def test_all_offsets_show_a_topic_by_the_name_that_may_be_described() -> None:
    group = "DESCRIBE GROUP app"
    for allowed, shown in (
        ("team-b:shared", "team-b:shared"),
        ("team-a:orders", "team-a:orders"),
        ("plain", None),
    ):
        one = linked(group, f"DESCRIBE TOPIC {allowed}")
        cls = messages.message_class("OffsetFetchRequest", 5)
        one.ask("OffsetFetch", 5, entity(cls, {"group_id": "app", "topics": None}))
        replied = {"name": FLAT, "partitions": [{"partition_index": 0, "committed_offset": 7}]}
        got = one.reply("OffsetFetch", 5, answer("OffsetFetch", 5, topics=[replied]))
        assert [topic.name for topic in got.topics] == ([] if shown is None else [shown])


def test_a_link_that_is_removed_ends_what_it_was_used_for() -> None:
    one = linked()
    one.ask("Fetch", 13, fetching.request(13, {78: [0]}, session_epoch=0))
    one.reply("Fetch", 13, fetching.response(13, {1: [b""]}, session_id=5))
    assert one.session.state.fetch_session(5) is not None
    one.log.append([Removal(key_of(LINKED))])
    one.catalog_changed()
    one.ask("Fetch", 13, fetching.request(13, {}, session_id=5, session_epoch=1))
    assert one.answer("Fetch", 13).error_code == FETCH_SESSION_ID_NOT_FOUND
    assert metadata(one, "team-b:shared", "plain")["team-b:shared"][0] == UNKNOWN_TOPIC


# -- rights ----------------------------------------------------------------------------------------

BOTH = "ALTER TOPIC team-a:", "CREATE TOPIC team-b:new"


async def test_linking_needs_alter_where_the_topic_is_and_create_of_the_link() -> None:
    one = changing.pair(*BOTH)
    one.log.append([CatalogFormat(3)])
    assert await changing.alter(one, "team-a:orders", gateway__link="team-b:new") == (0, "")
    assert LogicalName("team-b", "new") in one.catalog.snapshot.links


@pytest.mark.parametrize("lacking", range(2))
async def test_one_of_them_is_not_enough(lacking: int) -> None:
    more = "ALTER TOPIC team-a:orders", "ALTER_CONFIGS TOPIC team-a:orders", "READ TOPIC team-b:new"
    one = changing.pair(BOTH[1 - lacking], *more)
    one.log.append([CatalogFormat(3)])
    code, message = await changing.alter(one, "team-a:orders", gateway__link="team-b:new")
    name = ("team-a:", "team-b:new")[lacking]
    operation = ("ALTER", "CREATE")[lacking]
    assert (code, message) == (
        TOPIC_DENIED,
        f"User:alice is not allowed to {operation} topic '{name}'.",
    )
    assert not one.catalog.snapshot.links


async def test_deleting_a_link_needs_delete_of_the_link_alone() -> None:
    one = linked("DELETE TOPIC team-b:shared")
    assert await changing.delete(one, "team-b:shared") == {"team-b:shared": (0, "")}
    assert not one.catalog.snapshot.links
    assert FLAT in one.broker.topics
    other = linked("DELETE TOPIC team-a:orders")
    assert (await changing.delete(other, "team-b:shared"))["team-b:shared"][0] == TOPIC_DENIED
    assert other.catalog.snapshot.links


async def test_a_namespace_with_a_link_needs_delete_of_the_link() -> None:
    one = linked("DELETE TOPIC team-b:")
    code, message = (await changing.delete(one, "team-b:"))["team-b:"]
    assert code == TOPIC_DENIED
    assert message == "User:alice is not allowed to DELETE all that is in this namespace."
    assert one.catalog.snapshot.links
