"""A deletion waits for requests under way, and deletes only topics that it may delete after
that."""

from __future__ import annotations

import asyncio

import pytest

from gateway.catalog.entities import Link, Namespace, Removal
from gateway.catalog.freezes import freezes_in
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.virtual_configs import Move
from gateway.changes.topics.move_topics import move_topic
from gateway.error_codes import (
    INVALID_REQUEST,
    REQUEST_TIMED_OUT,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.names import LogicalName
from gateway.views.authorized_access import AuthorizedAccess
from tests.changes.fakes import FakeGateway, World, allowed, once
from tests.changes.freezing import Holders, deleted, freezes, freezing, frozen_world, moved
from tests.session.allowing import Allowing


@pytest.fixture
def world() -> World:
    return frozen_world()


class Waiting(Holders):
    """A client that holds up every freeze until ``go``; ``waits`` is set if a freeze waits."""

    def __init__(self) -> None:
        super().__init__()
        self.go, self.waits = asyncio.Event(), asyncio.Event()

    def __call__(self, freeze_id: str) -> list[str] | None:
        self.waits.set()
        return [] if self.go.is_set() else ["client"]


async def test_a_topic_that_was_moved_before_it_was_frozen_stays(world: World) -> None:
    """The deletion has read the catalog already."""
    mover = freezing(world)
    world.step = once("change", lambda: moved(mover))
    assert await deleted(freezing(world), "org:x") == [UNKNOWN_TOPIC_OR_PARTITION]
    assert world.snapshot.topics["org..x"].name == LogicalName("team", "x")
    assert "org..x" in world.broker.topics


@pytest.mark.parametrize("alias", [False, True])
@pytest.mark.parametrize("what", [("org:x", "org:y"), ("org:",)])
async def test_nothing_that_waits_for_its_deletion_is_moved(
    world: World, what: tuple[str, ...], alias: bool
) -> None:
    """Its new owner would lose it. With an alias no name is taken away, so the move freezes no name
    itself."""
    here = Waiting()
    gateway, mover = freezing(world, here), freezing(world)
    deleting = asyncio.create_task(deleted(gateway, *what))
    await here.waits.wait()
    until = world.clock.now + 60_000 if alias else None
    with pytest.raises(Rejected) as caught:
        await move_topic(
            mover.context, allowed(mover), "org:x", Move("team", alias_until=until, forced=True)
        )
    assert (caught.value.why.code, caught.value.why.rule) == (REQUEST_TIMED_OUT, "frozen")
    here.go.set()
    assert await deleting == [0] * len(what)
    assert "org..x" not in world.snapshot.topics


async def test_two_deletions_of_one_topic_do_not_end_each_other(world: World) -> None:
    here = Waiting()
    first, second = freezing(world, here), freezing(world)
    deleting = asyncio.create_task(deleted(first, "org:x", "org:y"))
    await here.waits.wait()
    assert await deleted(second, "org:x", "org:") == [REQUEST_TIMED_OUT] * 2
    assert len(freezes_in(world.snapshot)) == 1
    here.go.set()
    assert await deleting == [0, 0]


async def test_a_right_that_was_taken_away_meanwhile(world: World) -> None:
    """The same applies to a right on a topic that has come into a namespace."""
    here = Waiting()
    gateway = freezing(world, here)
    names = ("org:x", "org:y", "team:")
    rights = Allowing(
        [f"{right} TOPIC {name}" for right in ("DELETE", "DESCRIBE") for name in names]
    )
    access = AuthorizedAccess(gateway.view(), "User:alice", "127.0.0.1", rights)
    deleting = asyncio.create_task(deleted(gateway, "org:x", "org:y", "team:", access=access))
    await here.waits.wait()
    rights._allowed -= {("DELETE", "TOPIC", "org:x"), ("DELETE", "TOPIC", "team:")}
    here.go.set()
    assert await deleting == [TOPIC_AUTHORIZATION_FAILED, 0, TOPIC_AUTHORIZATION_FAILED]
    assert [*world.broker.topics] == ["org..x"]
    assert not world.snapshot.deleting


async def test_a_right_on_a_link_that_was_taken_away_meanwhile(world: World) -> None:
    here = Waiting()
    gateway = freezing(world, here)
    name = LogicalName("team", "link")
    world.log.append([Link(name, "org..x", bytes(15) + b"\1")])
    rights = Allowing(["DELETE TOPIC team:link", "DESCRIBE TOPIC team:link"])
    access = AuthorizedAccess(gateway.view(), "User:alice", "127.0.0.1", rights)
    deleting = asyncio.create_task(deleted(gateway, "team:link", access=access))
    await here.waits.wait()
    rights._allowed.clear()
    here.go.set()
    assert await deleting == [TOPIC_AUTHORIZATION_FAILED]
    assert name in world.snapshot.links


@pytest.mark.parametrize("name", ["org:x", "org:"])
async def test_a_freeze_that_others_have_ended(world: World, name: str) -> None:
    """This process was considered dead, so requests of others under the name since then are not
    frozen."""

    class Late(Holders):
        def __call__(self, freeze_id: str) -> list[str] | None:
            world.log.append([Removal(("freeze", freeze_id))])
            return []

    assert await deleted(freezing(world, Late()), name) == [REQUEST_TIMED_OUT]
    assert "org..x" in world.broker.topics
    assert not world.snapshot.deleting


async def test_a_name_that_the_topic_got_meanwhile_is_not_frozen(world: World) -> None:
    def linked(gateway: FakeGateway) -> None:
        world.log.append([Link(LogicalName("team", "link"), "org..x", bytes(15) + b"\1")])

    gateway = freezing(world)
    world.step = once("change", lambda: linked(gateway))
    assert await deleted(gateway, "org:x") == [REQUEST_TIMED_OUT]
    assert "org..x" in world.broker.topics


async def test_a_namespace_that_cannot_be_deleted_is_not_frozen(world: World) -> None:
    """The namespace holds another namespace; a topic that can be deleted beside it is."""
    world.log.append([Namespace("org:sub")])
    gateway = freezing(world)
    assert await deleted(gateway, "org:") == [INVALID_REQUEST]
    assert freezes(world) == []
    assert await deleted(gateway, "org:", "team:", "nowhere:") == [
        INVALID_REQUEST,
        0,
        UNKNOWN_TOPIC_OR_PARTITION,
    ]
    (freeze,) = freezes(world)
    assert freeze.namespaces == ("team",)
    assert world.snapshot.deleting == {"team"}
