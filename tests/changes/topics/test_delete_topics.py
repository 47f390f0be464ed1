"""Topics deleted by name and by id, namespaces marked, and every race and crash on the way."""

from __future__ import annotations

import pytest

from gateway.catalog.entities import Alias, Namespace, TopicEntry
from gateway.names import LogicalName
from tests.changes.admin_requests import codes, create, delete
from tests.changes.fakes import START, Crash, World, crash_at, once

VIRTUAL, OF_ALIAS = b"v" * 16, b"a" * 16
MOVED = TopicEntry("flat", LogicalName("org", "moved"), topic_id=VIRTUAL)


def moved_world(entry: TopicEntry = MOVED) -> World:
    world = World(["org"], [entry])
    world.broker.make("flat", "org..x", "plain")
    return world


async def test_topics_and_namespaces_of_one_request_in_its_order() -> None:
    world = moved_world()
    began: list[str] = []
    told = await delete(
        world.gateway(), "org:", "org:moved", "plain", "none:", "none", "org:x", began=began
    )
    assert [(each.name, each.code) for each in told] == [
        ("org:", 0),
        ("org:moved", 0),
        ("plain", 0),
        ("none:", 3),
        ("none", 3),
        ("org:x", 0),
    ]
    assert not world.broker.topics
    assert not world.snapshot.topics
    assert world.snapshot.namespaces["org"].deleting == START
    assert began == ["org"]
    assert len(world.broker.requests("DeleteTopicsRequest")) == 1


async def test_what_is_in_a_marked_namespace_is_unreachable_at_once() -> None:
    world = moved_world()
    gateway = world.gateway()
    assert codes(await delete(gateway, "org..")) == [0]
    told = await delete(gateway, "org:x", "org:moved", "org:")
    assert codes(told) == [3, 3, 3]
    assert "is being deleted" in told[0].message
    assert set(world.broker.topics) == {"flat", "org..x", "plain"}
    assert codes(await create(gateway, "org:x")) == [17]


async def test_a_recursive_delete_names_all_namespaces() -> None:
    world = World(["org:a:b"])
    gateway = world.gateway()
    assert codes(await delete(gateway, "org:", "org:a:")) == [42, 42]
    assert not world.log.decisions
    began: list[str] = []
    told = await delete(gateway, "org:", "org:a:", "org:a:b:", began=began)
    assert codes(told) == [0, 0, 0]
    assert began == ["org"]
    assert world.log.decisions == [(Namespace("org", deleting=START),)]


@pytest.mark.parametrize("version", range(1, 7))
async def test_every_version_is_answered(version: int) -> None:
    world = moved_world()
    told = await delete(world.gateway(), "org:x", "org:", "none:x", version=version)
    assert [(each.name, each.code) for each in told] == [("org:x", 0), ("org:", 0), ("none:x", 3)]


async def test_older_brokers_are_asked_by_name() -> None:
    world = moved_world()
    world.broker.newest["DeleteTopicsRequest"] = 5
    assert codes(await delete(world.gateway(), "org:x", VIRTUAL)) == [0, 0]
    assert set(world.broker.topics) == {"plain"}


# -- by id -------------------------------------------------------------------------------------


async def test_by_a_virtual_id() -> None:
    world = moved_world()
    gateway = world.gateway()
    brokers = world.broker.topics["flat"].topic_id
    told = await delete(gateway, brokers, VIRTUAL)
    assert [(each.name, each.topic_id, each.code) for each in told] == [
        (None, brokers, 100),
        ("org:moved", VIRTUAL, 0),
    ]
    assert "flat" not in world.broker.topics
    assert not world.snapshot.topics
    assert not gateway.cluster.index.exists(b"flat")
    assert codes(await delete(gateway, VIRTUAL)) == [100]


async def test_by_the_brokers_id() -> None:
    world = moved_world()
    topic_id = world.broker.topics["org..x"].topic_id
    (told,) = await delete(world.gateway(), topic_id)
    assert (told.name, told.topic_id, told.code) == ("org:x", topic_id, 0)
    (asked,) = world.broker.requests("DeleteTopicsRequest")
    assert asked.topics[0].topic_id.bytes == topic_id


async def test_an_id_that_another_worker_knows_is_looked_up() -> None:
    world = moved_world()
    gateway = world.gateway()
    world.broker.make("org..new")
    assert codes(await delete(gateway, world.broker.topics["org..new"].topic_id)) == [0]


async def test_an_id_outside_the_view_is_unknown() -> None:
    world = moved_world()
    gateway = world.gateway()
    ids = [world.broker.topics["plain"].topic_id, VIRTUAL, b"u" * 16]
    told = await delete(gateway, *ids, view=gateway.view("home"))
    assert codes(told) == [100, 100, 100]
    assert len(world.broker.topics) == 3


async def test_an_alias_deletes_nothing_by_name_nor_by_id() -> None:
    alias = Alias(LogicalName("org", "old"), START + 1, OF_ALIAS)
    entry = TopicEntry("flat", LogicalName("org", "new"), VIRTUAL, (alias,))
    for asked in ("org:old", OF_ALIAS):
        world = moved_world(entry)
        (told,) = await delete(world.gateway(), asked)
        assert told.code == 42
        assert "alias of topic 'org:new'" in told.message
        assert "flat" in world.broker.topics
        assert codes(await delete(world.gateway(), VIRTUAL)) == [0]


async def test_a_topic_that_came_back_is_deleted_by_the_brokers_id() -> None:
    alias = Alias(LogicalName("org", "old"), START + 1, OF_ALIAS)
    world = moved_world(TopicEntry("flat", LogicalName("org", "new"), None, (alias,)))
    own = world.broker.topics["flat"].topic_id
    assert codes(await delete(world.gateway(), OF_ALIAS)) == [42]
    assert codes(await delete(world.gateway(), own)) == [0]


async def test_a_name_is_answered_with_the_id_that_goes_with_it() -> None:
    world = moved_world()
    own = world.broker.topics["org..x"].topic_id
    told = await delete(world.gateway(), "org:moved", "org:x")
    assert [each.topic_id for each in told] == [VIRTUAL, own]


# -- rejections ----------------------------------------------------------------------------------


async def test_duplicates_and_second_spellings() -> None:
    world = moved_world()
    told = await delete(
        world.gateway(), "plain", "plain", "org:x", "org..x", VIRTUAL, "org:moved", "org:", "org.."
    )
    assert [(each.name, each.code) for each in told] == [
        ("plain", 42),
        ("org:x", 0),
        ("org..x", 0),
        ("org:moved", 0),
        ("org:moved", 42),
        ("org:", 0),
        ("org..", 0),
    ]
    assert set(world.broker.topics) == {"plain"}


@pytest.mark.parametrize("name", ["a_b:", ":", "a::b:"])
async def test_malformed_namespaces(name: str) -> None:
    (told,) = await delete(World().gateway(), name)
    assert told.code == 17
    assert told.message


async def test_a_home_confines() -> None:
    world = World(["team-a:sub", "team-b"])
    world.broker.make("team-b..x")
    gateway = world.gateway()
    view = gateway.view("team-a")
    told = await delete(gateway, ":team-b:", ":team-b:x", "team-b:", "sub:", view=view)
    assert codes(told) == [17, 3, 3, 0]
    assert set(world.broker.topics) == {"team-b..x"}


async def test_the_brokers_errors_are_told_in_the_clients_names() -> None:
    world = moved_world()
    world.broker.rejections["flat"] = (73, "Topic 'flat' and org..x cannot be deleted.")
    (told,) = await delete(world.gateway(), "org:moved")
    assert (told.code, told.message) == (73, "Topic 'org:moved' and org:x cannot be deleted.")
    assert world.snapshot.topics == {"flat": MOVED}


# -- races and failures --------------------------------------------------------------------------


async def test_an_entry_that_is_somebody_elses_by_then_stays() -> None:
    world = moved_world()
    gateway, other = world.gateway(), world.gateway()
    world.step = once("asked DeleteTopicsRequest", lambda: create(other, "org:moved"))
    assert codes(await delete(gateway, "org:moved")) == [0]
    assert world.snapshot.topics["flat"].topic_id is None
    assert str(world.snapshot.owner("flat")) == "org:moved"
    assert "flat" in world.broker.topics


async def test_the_entry_of_a_topic_that_is_being_made_stays() -> None:
    entry = TopicEntry("org..x.1", LogicalName("org", "y"), creating=True, since=START)
    world = World(["org"], [entry])
    assert codes(await delete(world.gateway(), "org:y")) == [3]
    assert world.snapshot.topics


async def test_the_entry_of_a_topic_that_is_no_more_goes() -> None:
    world = World(["org"], [MOVED])
    assert codes(await delete(world.gateway(), "org:moved")) == [3]
    assert not world.snapshot.topics


async def test_two_gateways_mark_once() -> None:
    world = World(["org"])
    first, second = world.gateway(), world.gateway()
    other: list[int] = []

    async def compete() -> None:
        other.extend(codes(await delete(second, "org:")))

    world.step = once("change", compete)
    assert [codes(await delete(first, "org:")), other] == [[3], [0]]
    assert len(world.log.decisions) == 1


async def test_a_namespace_made_below_meanwhile_is_in_the_way() -> None:
    world = World(["org"])
    first, second = world.gateway(), world.gateway()
    world.step = once("change", lambda: create(second, "org:new:"))
    assert codes(await delete(first, "org:")) == [42]


async def test_catalog_and_cluster_away() -> None:
    world = moved_world()
    gateway = world.gateway()
    gateway.catalog.down = True
    assert codes(await delete(gateway, "org:", "plain")) == [7, 7]
    gateway.catalog.down = False
    world.broker.down = True
    told = await delete(gateway, "org:x", "org:")
    assert codes(told) == [7, 0]
    assert "10.0.0.1" not in told[0].message
    assert codes(await delete(gateway, b"u" * 16)) == [7]
    assert "plain" in world.broker.topics


async def test_a_deleted_topic_is_deleted_though_its_entry_stays() -> None:
    world = moved_world()
    gateway = world.gateway()

    def go() -> None:
        gateway.catalog.down = True

    world.step = once("change", go)
    assert codes(await delete(gateway, "org:moved")) == [0]
    assert codes(await create(world.gateway(), "org:moved")) == [0]
    assert world.snapshot.topics["flat"].topic_id is None


@pytest.mark.parametrize("number", range(9))
async def test_after_a_crash_at_any_step_it_can_be_deleted(number: int) -> None:
    world = moved_world()
    world.step = crash_at(number)
    try:
        await delete(world.gateway(), "org:moved", "org:")
    except Crash:
        assert number < 8
    world.step = crash_at(-1)
    told = await delete(world.gateway(), "org:moved", "org:")
    marked_before = number > 6
    assert codes(told) in ([[3, 3]] if marked_before else [[0, 0], [3, 0], [3, 3]])
    assert "flat" not in world.broker.topics
    assert not world.snapshot.topics
    assert world.snapshot.namespaces["org"].deleting is not None
