"""Topics made in namespaces: their configs and entries, and every race and crash on the way."""

from __future__ import annotations

import pytest

from gateway.catalog.entities import Alias, TopicEntry
from gateway.changes.topics.create_plan import CREATION_TIME
from gateway.names import LogicalName
from tests.changes.admin_requests import codes, create, with_configs
from tests.changes.fakes import START, World

HELD = TopicEntry("org..x", LogicalName("", "moved"))


async def test_namespaces_and_topics_of_one_request_in_its_order() -> None:
    world = World()
    told = await create(world.gateway(), "org:x", "plain", "org:", "none:x", "org:x.y")
    assert [(each.name, each.code) for each in told] == [
        ("org:x", 0),
        ("plain", 0),
        ("org:", 0),
        ("none:x", 17),
        ("org:x.y", 0),
    ]
    assert told[3].message.startswith("InvalidNamespaceException: namespace 'none' does not exist")
    assert set(world.broker.topics) == {"org..x", "plain", "org..x.y"}
    assert len(world.broker.requests("CreateTopicsRequest")) == 1
    assert not world.snapshot.topics


async def test_the_response_has_the_brokers_id_and_it_is_learnt() -> None:
    world = World(["org"])
    gateway = world.gateway()
    (told,) = await create(gateway, "org:x")
    assert told.topic_id == world.broker.topics["org..x"].topic_id
    assert gateway.cluster.index.id_of(b"org..x") == told.topic_id


async def test_inherited_configs_reach_the_broker_unless_the_request_sets_them() -> None:
    world = World(["org:a"])
    with_configs(world, retention_ms="5", segment_bytes="9")
    (told,) = await create(world.gateway(), "org:a:x", configs={"segment.bytes": "8"})
    assert world.broker.topics["org.a..x"].configs == {"retention.ms": "5", "segment.bytes": "8"}
    assert world.snapshot.topics["org.a..x"].own_configs == ("segment.bytes",)
    sources = {config.name: config.config_source for config in told.entry.configs}
    assert (sources["retention.ms"], sources["segment.bytes"]) == (3, 1)
    assert sources["cleanup.policy"] == 5


@pytest.mark.parametrize("version", range(2, 8))
async def test_every_version_is_answered(version: int) -> None:
    world = World(["org"])
    told = await create(world.gateway(), "org:x", "org:new:", "none:x", version=version)
    assert [(each.name, each.code) for each in told] == [
        ("org:x", 0),
        ("org:new:", 0),
        ("none:x", 17),
    ]


@pytest.mark.parametrize("newest", [2, 4, 6])
async def test_older_brokers_are_asked_in_their_version(newest: int) -> None:
    world = World(["org"])
    world.broker.newest["CreateTopicsRequest"] = newest
    assert codes(await create(world.gateway(), "org:x", "org:new:")) == [0, 0]
    assert "org..x" in world.broker.topics


async def test_the_brokers_errors_are_told_in_the_clients_names() -> None:
    world = World(["org"])
    world.broker.make("org..x", "org..a_b")
    gateway = world.gateway()
    told = await create(gateway, "org:x", "org:a.b", "plain")
    assert codes(told) == [36, 17, 0]
    assert told[0].message == "Topic 'org:x' already exists."
    assert told[1].message == "Topic 'org:a.b' collides with existing topic: org:a_b"
    (told[0],) = await create(gateway, "org..x")
    assert told[0].message == "Topic 'org..x' already exists."


async def test_bad_configs_leave_nothing_behind() -> None:
    world = World(["org"], [HELD])
    world.broker.make("org..x")
    told = await create(world.gateway(), "org:x", "org:y", configs={"retention.ms": "long"})
    assert codes(told) == [40, 40]
    assert world.snapshot.topics == {"org..x": HELD}
    (told[0],) = await create(world.gateway(), "org:y", configs={"gateway.namespace": "org"})
    assert told[0].code == 40


async def test_duplicates_and_second_spellings() -> None:
    world = World(["org"])
    told = await create(world.gateway(), "org:x", "org:y", "org:x", "org..y", "org:", "a:", ":a:")
    assert [(each.name, each.code) for each in told] == [
        ("org:x", 42),
        ("org:y", 0),
        ("org..y", 0),
        ("org:", 36),
        ("a:", 0),
        (":a:", 0),
    ]
    assert set(world.broker.topics) == {"org..y"}


async def test_a_home_confines() -> None:
    world = World(["team-a", "team-b"])
    gateway = world.gateway()
    view = gateway.view("team-a")
    told = await create(gateway, "x", ":team-b:x", "team-b:x", view=view)
    assert codes(told) == [0, 17, 17]
    assert set(world.broker.topics) == {"team-a..x"}


async def test_reserved_and_colliding_names_are_rejected() -> None:
    world = World(["org"])
    told = await create(world.gateway(), "__consumer_offsets", "org__x", "org..", "org:ok")
    assert codes(told) == [17, 17, 17, 0]


async def test_validate_only_commits_and_makes_nothing() -> None:
    world = World(["org"], [HELD])
    gateway = world.gateway()
    told = await create(
        gateway, "org:x", "org:y", configs={"retention.ms": "1"}, validate_only=True
    )
    assert codes(told) == [0, 0]
    assert not world.broker.topics
    assert not world.log.decisions
    assert not gateway.cluster.index.exists(b"org..y")


# -- names that are held -----------------------------------------------------------------------


async def test_a_held_flat_name_gives_way_to_a_fresh_one() -> None:
    world = World(["org"], [HELD])
    world.broker.make("org..x")
    (told,) = await create(world.gateway(), "org:x", configs={"retention.ms": "1"})
    assert (told.code, told.name) == (0, "org:x")
    entry = world.snapshot.entry_of(LogicalName("org", "x"))
    assert entry is not None
    assert entry.flat.startswith("org..x.")
    assert (entry.creating, entry.own_configs, entry.since) == (False, ("retention.ms",), START)
    assert entry.flat in world.broker.topics
    reservation = world.log.decisions[0][0]
    assert isinstance(reservation, TopicEntry)
    assert reservation.creating
    assert codes(await create(world.gateway(), "org:x")) == [36]


async def test_a_held_name_of_the_default_namespace() -> None:
    world = World(["org"], [TopicEntry("team-a.orders", LogicalName("org", "orders"))])
    world.broker.make("team-a.orders")
    assert codes(await create(world.gateway(), "team-a.orders")) == [0]
    (flat,) = set(world.broker.topics) - {"team-a.orders"}
    assert str(world.snapshot.owner(flat)) == "team-a.orders"


@pytest.mark.parametrize("topic", ["org.", "org", "x" * 249, "." * 3])
async def test_a_fresh_flat_name_belongs_to_no_namespace(topic: str) -> None:
    world = World(["org", "target"], [TopicEntry(topic, LogicalName("target", "t"))])
    world.broker.make(topic)
    assert codes(await create(world.gateway(), topic)) == [0]
    (flat,) = set(world.broker.topics) - {topic}
    assert len(flat) <= 249
    assert world.snapshot.owner(flat) == LogicalName("", topic)
    assert world.snapshot.folds_into(flat) is None


async def test_a_held_name_that_folds_into_a_namespace_is_no_new_topic() -> None:
    world = World(["org"], [TopicEntry("org__x", LogicalName("org", "x"))])
    world.broker.make("org__x")
    told = await create(world.gateway(), "org__x", "org:x")
    assert codes(told) == [17, 36]
    assert told[1].message == "Topic 'org:x' already exists."


async def test_an_alias_exists() -> None:
    alias = Alias(LogicalName("org", "old"), START + 1)
    world = World(["org"], [TopicEntry("org..old", LogicalName("org", "new"), aliases=(alias,))])
    world.broker.make("org..old")
    (told,) = await create(world.gateway(), "org:old")
    assert told.code == 36
    assert "former name" in told.message


async def test_the_entry_of_a_topic_that_is_no_more_gives_way() -> None:
    old = TopicEntry("f", LogicalName("org", "x"), topic_id=bytes(15) + b"1", own_configs=("a",))
    stale = TopicEntry("org..y", LogicalName("org", "y"), own_configs=("a",))
    world = World(["org"], [old, stale])
    assert codes(await create(world.gateway(), "org:x", "org:y")) == [0, 0]
    assert world.snapshot.topics["f"].topic_id is None
    assert world.snapshot.topics["f"].own_configs == ()
    assert "org..y" not in world.snapshot.topics


async def test_a_topic_that_somebody_is_making_exists() -> None:
    entry = TopicEntry("org..x.1", LogicalName("org", "x"), creating=True, since=START)
    world = World(["org"], [HELD, entry])
    (told,) = await create(world.gateway(), "org:x")
    assert (told.code, told.message) == (36, "Topic 'org:x' is being created.")
    world.clock.now += CREATION_TIME
    assert codes(await create(world.gateway(), "org:x")) == [0]
    assert world.snapshot.topics["org..x.1"].creating is False
