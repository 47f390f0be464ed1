"""The spellings that a connection remembers of its subscriptions (``ConnectionState.spelled``)
outlive the right to describe a topic, its move, and the end of a link."""

from __future__ import annotations

from typing import Any

from gateway.catalog.entities import TopicEntry
from gateway.catalog.snapshot import Snapshot
from gateway.names import LogicalName
from protocol import messages
from tests.scenarios.entities import consumer_protocol, entity
from tests.session.allowing import Allowing
from tests.session.pair import Pair

ORDERS = "team-a..orders"


def join(*names: str) -> Any:
    cls = messages.message_class("JoinGroupRequest", 5)
    protocols = [{"name": "range", "metadata": {"subscription": list(names)}}]
    return entity(cls, {"group_id": "app", "protocol_type": "consumer", "protocols": protocols})


def joined() -> Any:
    """The JoinGroup response in which another member subscribes to the flat name."""
    members = [{"member_id": "other", "metadata": {"subscription": [ORDERS]}}]
    cls = messages.message_class("JoinGroupResponse", 5)
    return entity(cls, {"protocol_type": "consumer", "members": members, "leader": "m"})


def told(pair: Pair) -> Any:
    pair.ask("JoinGroup", 5, join())
    answer = pair.reply("JoinGroup", 5, joined())
    return answer.members[0].metadata


NOTHING = consumer_protocol("ConsumerProtocolSubscription", {"topics": []})


def test_a_right_that_was_revoked() -> None:
    rights = ["READ GROUP app", "DESCRIBE TOPIC team-a:orders"]
    pair = Pair(topics=[ORDERS], authorizer=Allowing(rights))
    pair.ask("JoinGroup", 5, join("team-a:orders"))
    pair.reply("JoinGroup", 5, joined())
    pair.authorizer = Allowing(rights[:1])
    pair.catalog_changed()
    after = told(pair)
    fresh = Pair(topics=[ORDERS], authorizer=Allowing(rights[:1]))
    assert told(fresh) == NOTHING
    assert after == NOTHING


def test_a_topic_that_was_moved_away() -> None:
    pair = Pair(topics=[ORDERS], home="team-a")
    pair.ask("JoinGroup", 5, join("orders"))
    pair.reply("JoinGroup", 5, joined())
    moved = TopicEntry(ORDERS, LogicalName("team-b", "orders"))
    snapshot = Snapshot.of(("team-a", "team-b"), topics=[moved])
    pair.see(pair.view.successor(snapshot))
    assert pair.view.spell(ORDERS.encode()) is None
    assert told(pair) == NOTHING
