"""Metadata v0 to v3 for two names of the same moved topic, which go to the broker as v4."""

from __future__ import annotations

import pytest

from gateway.apis.topics.metadata_messages import FORBIDS_AUTO_CREATION
from gateway.catalog.entities import Alias, TopicEntry
from gateway.names import LogicalName
from protocol import messages
from protocol.messages import element_class, make
from tests.session.pair import Pair

FLAT, LATER = "team-a..orders", 2**50
OLD, NEW = LogicalName("team-a", "orders"), LogicalName("team-b", "orders")


@pytest.mark.parametrize("version", range(FORBIDS_AUTO_CREATION + 1))
def test_both_names_are_answered(version: int) -> None:
    entry = TopicEntry(FLAT, NEW, bytes(15) + b"M", (Alias(OLD, LATER, None),))
    pair = Pair(topics=[FLAT], entries=[entry])
    cls = messages.message_class("MetadataRequest", version)
    topic = element_class(cls, "topics")
    names = ("team-b:orders", "team-a:orders")
    topics = tuple(make(topic, {"name": name}) for name in names)
    values = {"topics": topics, "allow_auto_topic_creation": True}
    seen = pair.ask("Metadata", version, make(cls, values))
    assert [each.name for each in seen.topics] == [FLAT]
    assert seen.allow_auto_topic_creation is False
    answer = messages.message_class("MetadataResponse", FORBIDS_AUTO_CREATION)
    broker = make(element_class(answer, "brokers"), {"node_id": 1, "host": "b", "port": 9092})
    found = make(element_class(answer, "topics"), {"name": FLAT})
    reply = make(answer, {"brokers": (broker,), "topics": (found,)})
    got = pair.reply("Metadata", version, reply, sent=FORBIDS_AUTO_CREATION)
    assert [each.name for each in got.topics] == [*names]
