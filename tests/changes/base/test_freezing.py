"""A change waits until no request is under way under the names that it takes away."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gateway.catalog.entities import Removal, TopicEntry, Worker
from gateway.catalog.freezes import acknowledge, freezes_in, workers_in
from gateway.changes.base.freezing import FORCED_BY
from gateway.changes.base.rejected import Rejected
from gateway.changes.base.virtual_configs import Move
from gateway.changes.topics.move_topics import move_topic
from gateway.error_codes import REQUEST_TIMED_OUT
from gateway.names import LogicalName
from tests.changes.fakes import World, allowed
from tests.changes.freezing import (
    HERE,
    SILENCE,
    Holders,
    deleted,
    freezes,
    freezing,
    frozen_world,
    moved,
)

THERE = Worker("there", "gw-2", 3)


@pytest.fixture
def world() -> World:
    return frozen_world()


async def test_a_move_freezes_its_name_and_thaws_it_with_the_move(world: World) -> None:
    await moved(freezing(world))
    (freeze,) = freezes(world)
    assert (freeze.names, freeze.namespaces, freeze.run) == (("org:x",), (), HERE.run)
    assert world.snapshot.topics["org..x"].name == LogicalName("team", "x")
    end = Removal(("freeze", freeze.freeze_id))
    (decision,) = [one for one in world.log.decisions if end in one]
    (entry,) = [one for one in decision if isinstance(one, TopicEntry)]
    assert entry.name == LogicalName("team", "x")


async def test_a_name_that_stays_as_an_alias_is_not_frozen(world: World) -> None:
    """Clients of the alias notice nothing; an alias that ends with the move is frozen."""
    gateway = freezing(world, Holders(["client"]), patience=0.0)
    until = world.clock.now + 1_000
    await move_topic(gateway.context, allowed(gateway), "org:x", Move("team", alias_until=until))
    assert freezes(world) == []
    world.clock.forward(seconds=2)
    await move_topic(freezing(world).context, allowed(gateway), "team:x", Move("org", "z"))
    (freeze,) = freezes(world)
    assert freeze.names == ("org:x", "team:x")


async def test_it_waits_for_this_process(world: World) -> None:
    here = Holders(None, ["client"], ["client"])
    await moved(freezing(world, here))
    assert here.asked == 4
    assert world.snapshot.topics["org..x"].name == LogicalName("team", "x")


async def test_it_waits_for_every_other_worker(world: World) -> None:
    world.log.append([THERE])
    gateway = freezing(world, Holders())
    seen = []

    def answer() -> None:
        for freeze_id in freezes_in(gateway.catalog.snapshot):
            assert "org..x" not in world.snapshot.topics
            seen.append(freeze_id)
            world.log.append(acknowledge(world.snapshot, THERE.run, [freeze_id]))

    class Answering(Holders):
        def __call__(self, freeze_id: str) -> list[str] | None:
            found = super().__call__(freeze_id)
            if self.asked == 3:
                answer()
            return found

    gateway.context.freezer.here = Answering()
    await moved(gateway)
    assert len(seen) == 1
    assert world.snapshot.topics["org..x"].name == LogicalName("team", "x")


@pytest.mark.parametrize("tells", [True, False])
async def test_it_is_given_up_and_says_who_held_it_up(world: World, tells: bool) -> None:
    world.log.append([THERE])
    gateway = freezing(world, Holders(*[["client 10.0.0.7:5 on listener plain"]] * 9), patience=0.0)
    with pytest.raises(Rejected) as caught:
        async with gateway.context.freezer.hold("It", [LogicalName("org", "x")], tells=tells):
            raise AssertionError("it is not free")
    assert caught.value.why.code == REQUEST_TIMED_OUT
    text = caught.value.why.message
    assert FORCED_BY in text
    assert ("gw-2" in text, "10.0.0.7" in text) == (tells, tells)
    assert not freezes_in(world.snapshot), "the name is free again"
    assert workers_in(world.snapshot)[THERE.run].unheard == world.clock.now
    assert "org..x" not in world.snapshot.topics


async def test_a_silent_gateway_is_waited_for_no_longer_than_it_may_decide(world: World) -> None:
    world.log.append([replace(THERE, unheard=world.clock.now)])
    with pytest.raises(Rejected):
        await moved(freezing(world, patience=0.0))
    world.clock.forward(seconds=SILENCE / 1000)
    await moved(freezing(world, patience=0.0))
    assert THERE.run not in workers_in(world.snapshot), "it registers anew if it comes back"


async def test_a_forced_move_goes_ahead(world: World) -> None:
    gateway = freezing(world, Holders(*[["client"]] * 9), patience=0.0)
    await moved(gateway, forced=True)
    assert world.snapshot.topics["org..x"].name == LogicalName("team", "x")
    assert not freezes_in(world.snapshot)


async def test_nothing_is_frozen_for_what_lasts_longer_than_the_wait(world: World) -> None:
    """The requests that a killed worker had sent: a forced move does not wait for them, either."""
    world.log.append([replace(THERE, gone=world.clock.now)])
    world.clock.forward(seconds=2)
    gateway = freezing(world, patience=10.0)
    with pytest.raises(Rejected) as caught:
        await moved(gateway)
    assert (caught.value.why.code, freezes(world)) == (REQUEST_TIMED_OUT, [])
    await moved(gateway, forced=True)
    assert world.snapshot.topics["org..x"].name == LogicalName("team", "x")


async def test_a_process_that_was_taken_for_gone_changes_nothing(world: World) -> None:
    class Late(Holders):
        def __call__(self, freeze_id: str) -> list[str] | None:
            world.log.append([Removal(("freeze", freeze_id))])
            return []

    with pytest.raises(Rejected) as caught:
        await moved(freezing(world, Late()))
    assert caught.value.why.code == REQUEST_TIMED_OUT
    assert "org..x" not in world.snapshot.topics


async def test_one_that_the_catalog_does_not_list_changes_nothing(world: World) -> None:
    world.log.append([Removal(("worker", HERE.run))])
    with pytest.raises(Rejected):
        await moved(freezing(world))
    assert freezes(world) == []


async def test_a_catalog_of_older_gateways_knows_no_freezes() -> None:
    world = World(["org", "team"])
    world.broker.make("org..x")
    here = Holders(["client"])
    await moved(freezing(world, here))
    assert (here.asked, freezes(world)) == (0, [])
    assert world.snapshot.topics["org..x"].name == LogicalName("team", "x")


async def test_a_move_that_cannot_be_freezes_nothing(world: World) -> None:
    gateway = freezing(world)
    with pytest.raises(Rejected):
        await move_topic(gateway.context, allowed(gateway), "org:x", Move("nowhere"))
    assert freezes(world) == []


async def test_a_deletion_waits_before_the_broker_is_asked(world: World) -> None:
    here = Holders(["client"], ["client"])
    there: list[bool] = []

    async def step(name: str) -> None:
        if name.startswith("ask DeleteTopics"):
            there.append(bool(freezes_in(world.snapshot)) and here.asked == 3)

    world.step = step
    assert await deleted(freezing(world, here), "org:x", "org:missing") == [0, 3]
    assert there == [True]
    (freeze,) = freezes(world)
    assert freeze.names == ("org:x",), "what does not exist is nothing to wait for"
    assert not freezes_in(world.snapshot)


async def test_a_deletion_that_is_held_up_deletes_nothing(world: World) -> None:
    gateway = freezing(world, Holders(*[["client"]] * 99), patience=0.0)
    assert await deleted(gateway, "org:x", "team:") == [REQUEST_TIMED_OUT] * 2
    assert "org..x" in world.broker.topics
    assert world.snapshot.deleting == frozenset()
    assert not freezes_in(world.snapshot)


async def test_a_namespace_is_frozen_with_all_in_it(world: World) -> None:
    assert await deleted(freezing(world), "team:") == [0]
    (freeze,) = freezes(world)
    assert (freeze.names, freeze.namespaces) == ((), ("team",))
    assert world.snapshot.deleting == {"team"}
