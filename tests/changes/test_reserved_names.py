"""Kafka's and the gateway's own names: no topic of any namespace gets one, in whichever way names
are given; and if a topic has such a name from elsewhere, no client knows it.

Expected: as docs/names.md says for all namespaces; the names are from Kafka's source
(org.apache.kafka.common.internals.Topic: INTERNAL_TOPICS, CLUSTER_METADATA_TOPIC_NAME).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.entities import Alias, CatalogFormat, Link, TopicEntry
from gateway.catalog.schema.table import LINK_FORMAT
from gateway.changes.topics.auto_creation import AutoCreation
from gateway.decision import Denied
from gateway.names import LogicalName, encode
from gateway.topic_ids import TopicIndex
from protocol import messages
from protocol.messages import element_class, make
from tests.changes.admin_requests import create
from tests.changes.config_requests import APPEND, alter, moving
from tests.changes.fakes import START, FakeGateway, World
from tests.session.pair import Pair

INVALID_TOPIC, UNKNOWN_TOPIC = 17, 3
LATER = "2040-01-01"
NAMESPACES = ("org:apache", "team-a", "team-b")

RESERVED = st.sampled_from(
    [
        "__consumer_offsets",
        "__transaction_state",
        "__share_group_state",
        "__cluster_metadata",
        "__kafka_gateway",
        "__kafka_gateway_catalog",
    ]
)
INSIDE = st.sampled_from(NAMESPACES)

Way = Callable[[FakeGateway, str, str], Coroutine[Any, Any, int]]
"""Gives (a gateway, the namespace, the reserved topic) the name; returns the error code."""


async def code_of(answer: Coroutine[Any, Any, Any]) -> int:
    answered = await answer
    return int(answered[0].code if isinstance(answered, list) else answered[0])


WAYS: dict[str, Way] = {
    "create": lambda g, n, t: code_of(create(g, f"{n}:{t}")),
    "create by the legal name": lambda g, n, t: code_of(create(g, encode(LogicalName(n, t)))),
    "create at home": lambda g, n, t: code_of(create(g, t, view=g.view(n))),
    "create from a home": lambda g, n, t: code_of(
        create(g, f":{n}:{t}", view=g.view("team-b", escape=True))
    ),
    "create by the home above": lambda g, n, t: code_of(
        create(g, f"apache:{t}", view=g.view("org"))
    ),
    "create in the default namespace": lambda g, n, t: code_of(create(g, t)),
    "validate": lambda g, n, t: code_of(create(g, f"{n}:{t}", validate_only=True)),
    "move and rename": lambda g, n, t: code_of(alter(g, "team-b:old", moving(n, t))),
    "move with an alias": lambda g, n, t: code_of(alter(g, "team-b:old", moving(n, t, LATER))),
    "rename at home": lambda g, n, t: code_of(
        alter(g, "old", moving("", t), view=g.view("team-b"))
    ),
    "to the default namespace": lambda g, n, t: code_of(alter(g, "team-b:old", moving(":", t))),
    "adopt": lambda g, n, t: code_of(alter(g, "plain", moving(n, t))),
    "link": lambda g, n, t: code_of(alter(g, "team-b:old", [("gateway.link", APPEND, f"{n}:{t}")])),
    "link at home": lambda g, n, t: code_of(
        alter(g, "old", [("gateway.link", APPEND, t)], view=g.view("team-b"))
    ),
}


def world(*entries: TopicEntry) -> World:
    made = World(NAMESPACES, entries)
    made.broker.make("team-b..old", "plain", *(entry.flat for entry in entries))
    made.log.append([CatalogFormat(LINK_FORMAT)])
    return made


def names_of(one: World) -> set[str]:
    """The topics that the catalog and the broker have, by their own parts."""
    snapshot = one.snapshot
    names = {snapshot.owner(flat).topic for flat in one.broker.topics}
    names |= {name.topic for entry in snapshot.topics.values() for name in entry.names}
    return names | {name.topic for name in snapshot.links}


@pytest.mark.parametrize("way", WAYS)
@given(namespace=INSIDE, topic=RESERVED, is_held=st.booleans())
def test_no_way_gives_a_topic_a_reserved_name(
    way: str, namespace: str, topic: str, is_held: bool
) -> None:
    """Even if another topic holds its natural flat name, so that it would get a fresh name."""
    natural = encode(LogicalName(namespace, topic))
    held = (TopicEntry(natural, LogicalName("team-b", "holder")),) if is_held else ()
    one = world(*held)
    before = names_of(one)
    assert asyncio.run(WAYS[way](one.gateway(), namespace, topic)) == INVALID_TOPIC
    assert names_of(one) == before
    assert topic not in before


@given(topic=RESERVED)
def test_no_namespace_adopts_one(topic: str) -> None:
    one = world()
    one.broker.make(f"late..{topic}", "late..orders")
    adopt: dict[str, str | None] = {"gateway.adopt": "true"}
    assert asyncio.run(code_of(create(one.gateway(), "late:", configs=adopt))) == INVALID_TOPIC
    assert "late" not in one.snapshot.namespaces
    assert set(one.broker.topics) >= {f"late..{topic}", "late..orders"}


@given(namespace=INSIDE, topic=RESERVED, how=st.sampled_from(["flat", "entry", "alias", "link"]))
def test_one_that_has_it_from_elsewhere_is_unknown_to_everyone(
    namespace: str, topic: str, how: str
) -> None:
    """Made without the gateway, or before the gateway had the rule."""
    name = LogicalName(namespace, topic)
    natural, own_id, broker_id = encode(name), b"o" * 16, b"b" * 16
    one, flat = World(NAMESPACES), natural
    if how == "entry":
        flat = "elsewhere"
        one.log.append([TopicEntry(flat, name, topic_id=own_id)])
    elif how == "alias":
        alias = Alias(name, START + 10**9, own_id)
        one.log.append([TopicEntry(flat, LogicalName("team-b", "shown"), aliases=(alias,))])
    elif how == "link":
        flat = "elsewhere"
        owner = TopicEntry(flat, LogicalName("team-b", "shown"))
        one.log.append([CatalogFormat(LINK_FORMAT), owner, Link(name, flat, own_id)])
    index = TopicIndex()
    index.replace([(flat.encode(), broker_id)])
    gateway = one.gateway()
    for view, spelled in (
        (gateway.view(), f"{namespace}:{topic}"),
        (gateway.view(), natural),
        (gateway.view(namespace), topic),
        (gateway.view("team-b", escape=True), f":{namespace}:{topic}"),
    ):
        found = view.resolve(spelled.encode())
        assert isinstance(found, Denied)
        assert (found.code, found.rule, found.illegal) == (UNKNOWN_TOPIC, "reserved", False)
        assert view.spell_name(name) is None
        assert view.flat_of_id(own_id, index) is None
        shown = view.spell(flat.encode())
        assert shown is None or b"shown" in shown
        if how in ("flat", "entry"):
            assert not view.lists(flat.encode())
            assert view.flat_of_id(broker_id, index) is None


@pytest.mark.parametrize("version", range(14))
@pytest.mark.parametrize(
    ("home", "name"),
    [
        ("", "team-a:__consumer_offsets"),
        ("", "team-a..__transaction_state"),
        ("", "__cluster_metadata"),
        ("team-a", "__consumer_offsets"),
        ("team-a", "sub:__share_group_state"),
    ],
)
def test_metadata_makes_none(version: int, home: str, name: str) -> None:
    """If clients auto-create topics, the broker does not get the name, and the gateway creates
    nothing."""
    pair = Pair(home=home)
    begun: list[object] = []

    class Everything:
        def allows(self, name: LogicalName) -> bool:
            return True

        def begin(self, access: object, actor: object, names: object) -> None:
            begun.append(names)

    pair.worker.auto_creation = cast(AutoCreation, Everything())
    cls = messages.message_class("MetadataRequest", version)
    topics = (make(element_class(cls, "topics"), {"name": name}),)
    request = make(cls, {"topics": topics, "allow_auto_topic_creation": True})
    seen = pair.ask("Metadata", version, request)
    sent = pair.asked_as
    assert name.rpartition("__")[2] not in str(seen)
    nothing = messages.build(messages.message_class("MetadataResponse", sent or version))
    (topic,) = pair.reply("Metadata", version, nothing, sent=sent).topics
    assert (topic.name, int(topic.error_code)) == (name, UNKNOWN_TOPIC)
    assert not begun
