"""IncrementalAlterConfigs of ``gateway.*``: topics are moved, adopted and released."""

from __future__ import annotations

from gateway.catalog.entities import Removal
from gateway.names import LogicalName
from tests.changes.config_requests import (
    RELEASING,
    alter,
    broker_configs,
    moving,
    setting,
)
from tests.changes.fakes import FakeGateway, World

DONE = (0, None)


async def test_a_move_is_one_record_and_the_configs_follow(
    world: World, gateway: FakeGateway
) -> None:
    await alter(gateway, "org:", setting(retention_ms="1", segment_bytes="1"))
    await alter(gateway, "team-b:", setting(retention_ms="2"))
    await alter(gateway, "org:x", setting(max_message_bytes="3"))
    broker_id = world.broker.topics["org..x"].topic_id
    before = len(world.log.decisions)
    assert await alter(gateway, "org:x", moving("team-b")) == DONE
    moved, applied = world.log.decisions[before:]
    assert len(moved) == len(applied) == 1
    entry = world.snapshot.topics["org..x"]
    assert entry.name == LogicalName("team-b", "x")
    assert entry.topic_id not in (None, broker_id)
    assert not entry.apply
    assert entry.own_configs == ("max.message.bytes",)
    assert broker_configs(world, "org..x") == {"retention.ms": "2", "max.message.bytes": "3"}
    code, message = await alter(gateway, "org:x", setting(retention_ms="1"))
    assert (code, message) == (3, "Topic 'org:x' does not exist.")
    assert await alter(gateway, "team-b:x", setting(retention_ms="4")) == DONE
    assert broker_configs(world, "org..x")["retention.ms"] == "4"


async def test_a_move_with_an_alias(world: World, gateway: FakeGateway) -> None:
    assert await alter(gateway, "org:x", moving("team-b", "z", "2030-01-01")) == DONE
    entry = world.snapshot.topics["org..x"]
    (alias,) = entry.aliases
    assert (alias.name, alias.topic_id) == (LogicalName("org", "x"), None)
    assert await alter(gateway, "org:x", setting(retention_ms="4")) == DONE
    assert broker_configs(world, "org..x") == {"retention.ms": "4"}
    # By its alias the topic goes back, to the id that clients know under that name; the name that
    # it had meanwhile no longer works.
    assert await alter(gateway, "org:x", moving("org", "x")) == DONE
    back = world.snapshot.topics["org..x"]
    assert (back.name, back.aliases) == (LogicalName("org", "x"), ())
    assert entry.topic_id is not None
    assert back.topic_id is None


async def test_adopting_is_a_move_and_done_once(world: World, gateway: FakeGateway) -> None:
    broker_configs(world, "orders")["retention.ms"] = "5"
    await alter(gateway, "org:", setting(retention_ms="1", segment_bytes="1"))
    assert await alter(gateway, "orders", moving("org")) == DONE
    entry = world.snapshot.topics["orders"]
    assert entry.name == LogicalName("org", "orders")
    assert broker_configs(world, "orders") == {"retention.ms": "5", "segment.bytes": "1"}
    before = world.snapshot
    assert await alter(gateway, "orders", moving("org")) == DONE
    assert await alter(gateway, "org:orders", moving("org")) == DONE
    assert world.snapshot == before
    code, message = await alter(gateway, "orders", moving("team-b"))
    assert (code, message) == (3, "Topic 'orders' does not exist.")


async def test_adopting_by_prefix_renames(world: World, gateway: FakeGateway) -> None:
    world.broker.make("team-a.orders", "team-a.x")
    gateway = world.gateway()
    assert await alter(gateway, "team-a.orders", moving("team-a", "orders")) == DONE
    assert world.snapshot.topics["team-a.orders"].name == LogicalName("team-a", "orders")
    code, message = await alter(gateway, "team-a.x", moving("team-a", "x"))
    assert (code, message) == (36, "Topic 'team-a:x' already exists.")


async def test_mirrormakers_own_topics_are_not_adopted(world: World, gateway: FakeGateway) -> None:
    own, users = "A.checkpoints.internal", "orders.internal"
    world.broker.make(own, users, "org..mm2-status.A.internal")
    gateway = world.gateway()
    for to in (moving("org"), moving("org", "plain")):
        code, message = await alter(gateway, own, to)
        assert (code, message and message.partition(":")[0]) == (
            42,
            f"Topic '{own}' is MirrorMaker's own, so it cannot be adopted",
        )
    assert not world.snapshot.topics
    assert await alter(gateway, users, moving("org")) == DONE
    # From a namespace it is moved like any other topic, if the others are there.
    assert await alter(gateway, "org:mm2-status.A.internal", moving("team-b")) == DONE


async def test_release(world: World, gateway: FakeGateway) -> None:
    broker_configs(world, "orders")["segment.bytes"] = "5"
    await alter(gateway, "org:", setting(retention_ms="1"))
    await alter(gateway, "orders", moving("org"))
    assert broker_configs(world, "orders") == {"retention.ms": "1", "segment.bytes": "5"}
    assert await alter(gateway, "org:orders", RELEASING) == DONE
    assert broker_configs(world, "orders") == {"segment.bytes": "5"}
    assert world.snapshot.topics == {}
    assert world.log.decisions[-1] == (Removal(("topic", "orders")),)
    assert await alter(gateway, "orders", RELEASING) == DONE
    code, message = await alter(gateway, "org:x", RELEASING)
    assert code == 42
    assert message is not None
    assert "move it" in message


async def test_under_a_home_both_ends_are_inside(world: World, gateway: FakeGateway) -> None:
    view = gateway.view("team-a")
    assert await alter(gateway, "x", moving("sub"), view=view) == DONE
    assert world.snapshot.topics["team-a..x"].name == LogicalName("team-a:sub", "x")
    assert await alter(gateway, "sub:x", moving("", "back"), view=view) == DONE
    assert world.snapshot.topics["team-a..x"].name == LogicalName("team-a", "back")
    for namespace in (":org", ":", ":team-b"):
        code, message = await alter(gateway, "back", moving(namespace), view=view)
        assert code == 17
        assert message is not None
        assert "outside namespace 'team-a'" in message
    assert (await alter(gateway, ":orders", moving(""), view=view))[0] == 3
    assert (await alter(gateway, "orders", moving(""), view=view))[0] == 3
    escaping = gateway.view("team-a", escape=True)
    assert await alter(gateway, "back", moving(":org", "z"), view=escaping) == DONE
    assert await alter(gateway, ":org:z", moving(":"), view=escaping) == DONE
    assert world.snapshot.topics["team-a..x"].name == LogicalName("", "z")


async def test_an_alias_does_not_reach_out_of_a_home(world: World, gateway: FakeGateway) -> None:
    await alter(gateway, "team-a:x", moving("org", "z", "2030-01-01"))
    code, message = await alter(gateway, "x", moving("sub"), view=gateway.view("team-a"))
    assert (code, message) == (
        42,
        "Topic 'x' was moved out of namespace 'team-a' of this listener, so it cannot be changed"
        " from here.",
    )


async def test_a_topic_that_is_not_there(world: World, gateway: FakeGateway) -> None:
    for name in ("org:missing", "missing"):
        code, message = await alter(gateway, name, moving("team-b"))
        assert (code, message) == (3, f"Topic '{name}' does not exist.")
    assert world.log.decisions == []
