"""``gateway.link``: links are created, described and removed, and never with a topic."""

from __future__ import annotations

import pytest

from gateway.catalog.entities import CatalogFormat, Link, TopicEntry
from gateway.changes.jobs.namespace_deletion import NamespaceDeletion, deletion_task
from gateway.changes.topics.links import MAX_LINKS
from gateway.names import LogicalName
from tests.changes.admin_requests import codes, create, delete
from tests.changes.config_requests import (
    APPEND,
    SUBTRACT,
    TOPIC,
    Change,
    alter,
    broker_configs,
    deleting,
    describe_all,
    moving,
    replace_configs,
    setting,
)
from tests.changes.fakes import FakeGateway, World, once

DONE = (0, None)
NAME = LogicalName("team-b", "x")


@pytest.fixture
def world() -> World:
    world = World(["org:apache", "team-a:sub", "team-b"])
    world.broker.make("orders", "org..x", "team-a..x")
    world.log.append([CatalogFormat(3)])
    return world


def linking(names: str, operation: int = APPEND) -> list[Change]:
    return [("gateway.link", operation, names)]


def setting_links(names: str) -> list[Change]:
    return [("gateway.link", 0, names)]


def links(world: World) -> dict[str, str]:
    return {str(name): link.flat for name, link in world.snapshot.links.items()}


async def shown(gateway: FakeGateway, name: str) -> dict[str, str]:
    (result,) = await describe_all(gateway, [(TOPIC, name, None)])
    assert result.error_code == 0, result.error_message
    return {c.name: c.value for c in result.configs if c.name.startswith("gateway.link")}


async def test_a_link_and_the_entry_that_it_needs_are_one_decision(
    world: World, gateway: FakeGateway
) -> None:
    assert await alter(gateway, "org:x", linking("team-b:x")) == DONE
    entry, link = world.log.decisions[-1]
    assert isinstance(entry, TopicEntry)
    assert (entry.flat, entry.name) == ("org..x", LogicalName("org", "x"))
    assert link == world.snapshot.links[NAME]
    assert len(world.snapshot.links[NAME].topic_id) == 16
    assert await shown(gateway, "org:x") == {"gateway.link": "team-b:x"}
    assert await shown(gateway, "team-b:x") == {"gateway.link.to": "org:x"}
    assert await shown(gateway, "team-b:") == {"gateway.links": "x=org:x"}
    before = len(world.log.decisions)
    assert await alter(gateway, "org:x", linking("team-b:x")) == DONE
    assert len(world.log.decisions) == before, "it is there already"


async def test_the_operations_of_a_list(world: World, gateway: FakeGateway) -> None:
    both = {"team-b:x": "org..x", ":plain": "org..x"}
    assert await alter(gateway, "org:x", setting_links("team-b:x,:plain")) == DONE
    assert links(world) == {name.removeprefix(":"): flat for name, flat in both.items()}
    kept = world.snapshot.links[NAME]
    assert await alter(gateway, "org:x", setting_links("team-b:x, team-a:y")) == DONE
    assert links(world) == {"team-b:x": "org..x", "team-a:y": "org..x"}
    assert world.snapshot.links[NAME] == kept, "its topic id stays"
    assert await alter(gateway, "org:x", linking("team-a:y,none:z", SUBTRACT)) == DONE
    assert links(world) == {"team-b:x": "org..x"}
    assert await alter(gateway, "org:x", deleting("gateway.link")) == DONE
    assert links(world) == {}
    assert world.snapshot.topics == {}, "an entry that nothing needs is gone"


@pytest.mark.parametrize(
    ("topic", "change", "code", "text"),
    [
        ("org:x", linking("nowhere:x"), 17, "namespace 'nowhere' does not exist"),
        ("org:x", linking("team-a:x"), 36, "'team-a:x' already exists"),
        ("org:x", linking("org:x"), 36, "'org:x' already exists"),
        ("org:x", linking("org:"), 40, "names a namespace"),
        ("org:x", linking("team-b:a b"), 17, "a b"),
        ("org:x", linking("__consumer_offsets"), 17, "reserved"),
        ("org:none", linking("team-b:x"), 3, "Topic 'org:none' does not exist."),
        ("org:x", [*linking("team-b:x"), *setting(retention_ms="1")], 42, "changed alone"),
        ("org:x", [("gateway.link.to", 0, "org:x")], 40, "can be deleted only"),
        ("org:x", deleting("gateway.link.to"), 40, "Topic 'org:x' is no link."),
        ("team-b:", linking("team-b:x"), 40, "a namespace has no links"),
        ("org:x", [("gateway.links", 0, "x")], 40, "read-only"),
    ],
)
async def test_what_is_no_link(
    world: World, gateway: FakeGateway, topic: str, change: list[Change], code: int, text: str
) -> None:
    told = await alter(gateway, topic, change)
    assert told[0] == code
    assert text in str(told[1])
    assert links(world) == {}


async def test_the_catalogs_format_comes_first() -> None:
    world = World(["org", "team-b"])
    world.broker.make("org..x")
    code, text = await alter(world.gateway(), "org:x", linking("team-b:x"))
    assert code == 42
    assert "kafka-gateway catalog upgrade --format 3" in str(text)
    assert links(world) == {}


async def test_a_topic_has_a_hundred_links(world: World, gateway: FakeGateway) -> None:
    names = ",".join(f"team-b:x{number}" for number in range(MAX_LINKS))
    assert await alter(gateway, "org:x", linking(names)) == DONE
    code, text = await alter(gateway, "org:x", linking("team-b:more"))
    assert (code, text) == (42, "A topic has at most 100 links.")
    assert len(links(world)) == MAX_LINKS


async def test_validating_makes_nothing(world: World, gateway: FakeGateway) -> None:
    assert await alter(gateway, "org:x", linking("team-b:x"), validate_only=True) == DONE
    assert links(world) == {}


async def test_a_home_links_inside_of_itself(world: World, gateway: FakeGateway) -> None:
    home = gateway.view("team-a")
    assert await alter(gateway, "x", linking("sub:y"), view=home) == DONE
    assert links(world) == {"team-a:sub:y": "team-a..x"}
    code, _ = await alter(gateway, "x", linking(":team-b:y"), view=gateway.view("team-a"))
    assert code == 40


async def test_a_link_is_not_altered_and_neither_is_its_topic(
    world: World, gateway: FakeGateway
) -> None:
    await alter(gateway, "org:x", linking("team-b:x"))
    for change in (setting(retention_ms="1"), moving("team-a"), linking("team-b:z")):
        code, text = await alter(gateway, "team-b:x", change)
        assert (code, "'team-b:x' is a link to a topic" in str(text)) == (42, True)
        assert "org" not in str(text)
    assert await replace_configs(gateway, [("team-b:x", {})]) == [
        (42, "'team-b:x' is a link to a topic; change or delete the topic under its own name.")
    ]
    assert broker_configs(world, "org..x") == {}
    # The configs that were described may be written back.
    whole = {"gateway.namespace": "org", "gateway.link": "team-b:x"}
    assert await replace_configs(gateway, [("org:x", whole)]) == [DONE]
    assert links(world) == {"team-b:x": "org..x"}


async def test_a_deleted_link_leaves_the_topic(world: World, gateway: FakeGateway) -> None:
    await alter(gateway, "org:x", linking("team-b:x,team-b:y,:z"))
    assert codes(await delete(gateway, "team-b:x")) == [0]
    assert await alter(gateway, "team-b:y", deleting("gateway.link.to")) == DONE
    assert codes(await delete(gateway, "z")) == [0]
    assert links(world) == {}
    assert "org..x" in world.broker.topics
    assert world.broker.requests("DeleteTopicsRequest") == []
    assert world.snapshot.topics == {}


async def test_a_link_is_deleted_by_its_id_too(world: World, gateway: FakeGateway) -> None:
    await alter(gateway, "org:x", linking("team-b:x"))
    (told,) = await delete(gateway, world.snapshot.links[NAME].topic_id)
    assert (told.code, told.name) == (0, "team-b:x")
    assert "org..x" in world.broker.topics


async def test_a_deleted_topics_links_dangle_for_good(world: World, gateway: FakeGateway) -> None:
    await alter(gateway, "org:x", linking("team-b:x"))
    first = world.snapshot.links[NAME]
    assert codes(await delete(gateway, "org:x")) == [0]
    assert world.snapshot.links[NAME] == Link(NAME, "org..x", first.topic_id, "org:x")
    assert codes(await create(gateway, "org:x")) == [0]
    assert await shown(gateway, "team-b:") == {"gateway.links": "x=org:x(deleted)"}
    (result,) = await describe_all(gateway, [(TOPIC, "team-b:x", None)])
    assert (result.error_code, "link whose topic was deleted" in result.error_message) == (3, True)
    (told,) = await create(gateway, "team-b:x")
    assert (told.code, "delete the link first" in told.message) == (36, True)
    code, _ = await alter(gateway, "team-a:x", moving("team-b"))
    assert code == 36
    assert codes(await delete(gateway, "team-b:x")) == [0]
    assert await alter(gateway, "org:x", linking("team-b:x")) == DONE
    assert world.snapshot.links[NAME].topic_id != first.topic_id


async def test_a_link_follows_a_move_and_a_release(world: World, gateway: FakeGateway) -> None:
    await alter(gateway, "orders", linking("team-b:x"))
    assert await alter(gateway, "orders", moving("org")) == DONE
    assert await shown(gateway, "team-b:x") == {"gateway.link.to": "org:orders"}
    assert await alter(gateway, "org:orders", [("gateway.release", 0, "true")]) == DONE
    assert await shown(gateway, "team-b:x") == {"gateway.link.to": "orders"}
    assert "orders" in world.snapshot.topics, "the entry stays as long as it is linked"
    code, text = await alter(gateway, "orders", moving("team-b", "x"))
    assert (code, "it is a link" in str(text)) == (36, True)


async def test_a_linked_topic_is_not_captured_by_a_namespace(
    world: World, gateway: FakeGateway
) -> None:
    world.broker.make("new..y")
    gateway = world.gateway()
    assert await alter(gateway, ":new..y", linking("team-b:x")) == DONE
    (told,) = await create(gateway, "new:", configs={"gateway.adopt": "true"})
    assert (told.code, "or are linked" in told.message) == (17, True)
    assert await shown(gateway, "team-b:x") == {"gateway.link.to": "new..y"}


async def _finish(world: World, gateway: FakeGateway, path: str) -> None:
    job = NamespaceDeletion(gateway.context)
    while (task := deletion_task(world.snapshot, path)) is not None:
        world.clock.forward(seconds=await job.run(task) or 0)


async def test_a_namespace_takes_links_along_and_their_topics_stay(
    world: World, gateway: FakeGateway
) -> None:
    await alter(gateway, "org:x", linking("team-b:x"))
    assert codes(await delete(gateway, "team-b:")) == [0]
    await _finish(world, gateway, "team-b")
    assert links(world) == {}
    assert "org..x" in world.broker.topics


async def test_the_links_of_a_deleted_namespaces_topics_dangle(
    world: World, gateway: FakeGateway
) -> None:
    await alter(gateway, "team-a:x", linking("team-b:x,team-a:sub:y"))
    assert codes(await delete(gateway, "team-a:", "team-a:sub:")) == [0, 0]
    await _finish(world, gateway, "team-a")
    assert world.snapshot.links[NAME].gone == "team-a:x"
    assert links(world) == {"team-b:x": "team-a..x"}
    assert codes(await create(gateway, "team-a:", "team-a:x")) == [0, 0]
    assert await shown(gateway, "team-b:") == {"gateway.links": "x=team-a:x(deleted)"}


async def test_a_topic_that_is_made_at_the_same_time_wins(
    world: World, gateway: FakeGateway
) -> None:
    world.step = once("changed", lambda: world.broker.make("team-b..x"))
    code, text = await alter(gateway, "org:x", linking("team-b:x"))
    assert (code, text) == (36, "Topic 'team-b:x' already exists.")
    assert links(world) == {}


async def test_a_link_that_is_made_at_the_same_time_wins(
    world: World, gateway: FakeGateway
) -> None:
    """Between the plan of a topic and its end, so the topic is deleted again."""
    link = Link(NAME, "org..x", b"l" * 16)
    entry = TopicEntry("org..x", LogicalName("org", "x"))
    world.step = once("ask CreateTopicsRequest", lambda: world.log.append([entry, link]))
    assert codes(await create(gateway, "team-b:x")) != [0]
    assert "team-b..x" not in world.broker.topics
    assert links(world) == {"team-b:x": "org..x"}
