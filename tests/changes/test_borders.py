"""Requests that no tenant may make across the border of its home, and no client at the expense of
all others."""

from __future__ import annotations

import time

import pytest

from gateway.catalog.entities import Alias, Change, Namespace, TopicEntry
from gateway.names import LogicalName
from gateway.rules.error_text import TextFacts, restored
from tests.changes.admin_requests import codes, create, delete
from tests.changes.config_requests import RELEASING, alter, moving, setting
from tests.changes.fakes import START, World, once

LATER = START + 10**9
INVALID_TOPIC, INVALID_REQUEST, UNKNOWN_TOPIC_ID = 17, 42, 100
QUICK = 1.0
"""Seconds of CPU; quadratic work takes many of them."""


async def test_a_home_does_not_release_a_topic() -> None:
    world = World(["team-a"], [TopicEntry("orders", LogicalName("team-a", "orders"))])
    world.broker.make("orders")
    gateway = world.gateway()
    code, message = await alter(gateway, "orders", RELEASING, view=gateway.view("team-a"))
    assert code == INVALID_REQUEST
    assert message is not None
    assert "out of namespace 'team-a'" in message
    assert "orders" in world.snapshot.topics
    escaping = gateway.view("team-a", escape=True)
    assert await alter(gateway, "orders", RELEASING, view=escaping) == (0, None)


async def test_a_release_tells_a_home_nothing_of_other_namespaces() -> None:
    entry = TopicEntry("team-b..y", LogicalName("team-a", "y"))
    world = World(["team-a", "team-b"], [entry])
    world.broker.make("team-b..y")
    gateway = world.gateway()
    _, message = await alter(gateway, "y", RELEASING, view=gateway.view("team-a"))
    assert message is not None
    assert "team-b" not in message


@pytest.fixture
def moved_out() -> World:
    """A world where team-a:x was moved to team-b:z, and an alias keeps its old name working."""
    alias = Alias(LogicalName("team-a", "x"), LATER, None)
    entry = TopicEntry("team-a..x", LogicalName("team-b", "z"), bytes([7]) * 16, (alias,))
    world = World(["team-a", "team-b"], [entry])
    world.broker.make("team-a..x")
    return world


async def test_an_alias_inside_a_home_does_not_delete_a_topic_outside(moved_out: World) -> None:
    gateway = moved_out.gateway()
    told = await delete(gateway, "x", view=gateway.view("team-a"))
    assert codes(told) == [INVALID_REQUEST]
    assert "moved out of namespace 'team-a'" in told[0].message
    assert "team-b" not in told[0].message
    own_id = moved_out.broker.topics["team-a..x"].topic_id
    assert codes(await delete(gateway, own_id, view=gateway.view("team-a"))) == [INVALID_REQUEST]
    assert "team-a..x" in moved_out.broker.topics


async def test_an_alias_inside_a_home_does_not_configure_a_topic_outside(moved_out: World) -> None:
    gateway = moved_out.gateway()
    code, _ = await alter(gateway, "x", setting(retention_ms="1"), view=gateway.view("team-a"))
    assert code == INVALID_REQUEST
    assert moved_out.broker.topics["team-a..x"].configs == {}


@pytest.mark.parametrize("adopt", [{}, {"gateway.adopt": "true"}])
async def test_a_namespace_does_not_take_over_an_alias(adopt: dict[str, str | None]) -> None:
    world = World(["shop", "crm"])
    world.broker.make("crm.x..foo")
    gateway = world.gateway()
    until = "2040-01-01"
    assert await alter(gateway, "crm.x..foo", moving("shop", "foo", until)) == (0, None)
    (told,) = await create(gateway, "x:", view=gateway.view("crm"), configs=adopt)
    assert told.code == INVALID_TOPIC
    assert "1 that you do not see here" in told.message
    (told,) = await create(gateway, "crm:x:", configs=adopt)
    assert told.code == INVALID_TOPIC
    assert "'crm.x..foo'" in told.message
    assert "crm:x" not in world.snapshot.namespaces


async def test_nor_the_name_of_a_topic_that_was_moved_to_the_default_namespace() -> None:
    world = World(["shop"], [TopicEntry("t", LogicalName("", "crm..foo"))])
    world.broker.make("t")
    (told,) = await create(world.gateway(), "crm:")
    assert told.code == INVALID_TOPIC


async def test_many_names_in_one_delete_are_decided_at_once() -> None:
    gateway = World(["team-a"]).gateway()
    began = time.process_time()
    told = await delete(gateway, *(f"team-a:t{number}" for number in range(5_000)))
    assert len(told) == 5_000
    assert time.process_time() - began < 3 * QUICK


async def test_a_large_tree_is_deleted_at_once() -> None:
    paths = ["org", *(f"org:n{number}" for number in range(5_000))]
    gateway = World(paths).gateway()
    began = time.process_time()
    assert set(codes(await delete(gateway, *(f"{path}:" for path in paths)))) == {0}
    assert time.process_time() - began < 3 * QUICK
    marked = gateway.catalog.snapshot.deleting
    assert marked == {"org"}
    assert isinstance(gateway.catalog.snapshot.namespaces["org"], Namespace)


def test_a_long_word_in_an_error_text_costs_nothing() -> None:
    view = World(["team-a"]).gateway().view()
    facts = TextFacts(view.spell, view)
    text = b"Invalid value " + b"a" * 100_000 + b" for broker-1.internal:9092: no " + b"b-" * 50_000
    began = time.process_time()
    new = restored(text, facts)
    assert time.process_time() - began < QUICK
    assert b"internal" not in new
    assert b"a" * 100_000 in new


@pytest.mark.parametrize("name", [b"a:" * 16_000 + b"t", b"a:" * 16_000, b"a" * 32_000])
def test_a_long_name_costs_nothing(name: bytes) -> None:
    view = World(["team-a"]).gateway().view("team-a")
    began = time.process_time()
    for _ in range(100):
        found = view.resolve(name)
    assert time.process_time() - began < QUICK
    assert "longer than any name" in getattr(found, "message", "")
    assert len(getattr(found, "message", "")) < 200
    assert not view._resolved


async def test_a_home_does_not_change_its_own_configs() -> None:
    gateway = World(["team-a", "team-a:sub"]).gateway()
    inside = gateway.view("team-a")
    code, message = await alter(gateway, ":", setting(retention_ms="1"), view=inside)
    assert code == INVALID_REQUEST
    assert message is not None
    assert "itself cannot be changed" in message
    assert await alter(gateway, "sub:", setting(retention_ms="1"), view=inside) == (0, None)


@pytest.mark.parametrize("name", ["org..orders", "org__orders"])
async def test_a_topic_that_a_namespace_would_take_is_not_made(name: str) -> None:
    """Another gateway creates the namespace while the broker creates the topic."""
    world = World()
    gateway, other = world.gateway(), world.gateway()
    world.step = once("asked CreateTopicsRequest", lambda: other.context.catalog.change(_org))
    (told,) = await create(gateway, name)
    assert told.code != 0
    assert name not in world.broker.topics


def _org(_: object) -> list[Change]:
    return [Namespace("org")]
