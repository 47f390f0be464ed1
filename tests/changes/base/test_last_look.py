"""A request of the gateway's own that a broker has not answered yet ends with the right that it was
made by."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from gateway.catalog.entities import Removal
from gateway.changes.base import last_look
from gateway.changes.base.last_look import ask_about
from gateway.cluster import admin as admin_module
from gateway.cluster.admin import BrokerAdmin
from gateway.decision import Denied
from gateway.slices import Turns
from gateway.views.access import Access
from gateway.views.authorized_access import ACL_RULE
from protocol.messages import Request
from tests.changes import admin_requests, config_requests
from tests.changes.acl_requests import access, entities
from tests.changes.admin_requests import codes
from tests.changes.config_requests import setting
from tests.changes.fakes import FakeGateway, World
from tests.cluster import scripted_broker
from tests.cluster.clusters import started
from tests.cluster.scripted_broker import ClusterState, ScriptedBroker

BOB = "User:bob"
TIMED_OUT, DENIED = 7, 29
METADATA = 3
Ask = Callable[[FakeGateway, Access], Awaitable[list[int]]]


async def create(gateway: FakeGateway, asking: Access) -> list[int]:
    """CreateTopics of a topic."""
    return codes(await admin_requests.create(gateway, "org:new", access=asking))


async def delete(gateway: FakeGateway, asking: Access) -> list[int]:
    """DeleteTopics of a topic."""
    return codes(await admin_requests.delete(gateway, "org:t", access=asking))


async def configure(gateway: FakeGateway, asking: Access) -> list[int]:
    """IncrementalAlterConfigs of a topic."""
    changes = setting(retention_ms="5000")
    return [(await config_requests.alter(gateway, "org:t", changes, access=asking))[0]]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(last_look, "LOOK_SECONDS", 0.01)
    world = World(["org", "other"])
    world.broker.make("org..t")
    world.log.append(entities([f"ALLOW ALL {BOB} TOPIC:LITERAL:org:"]))
    return world


APIS = {
    "CreateTopicsRequest": create,
    "DeleteTopicsRequest": delete,
    "IncrementalAlterConfigsRequest": configure,
}


@pytest.mark.parametrize("name", APIS)
async def test_it_is_cancelled_when_the_right_is_revoked(world: World, name: str) -> None:
    gateway, cancelled = in_turns(world), list[str]()
    asking = access(gateway, BOB)
    topics, configs = dict(world.broker.topics), dict(world.broker.topics["org..t"].configs)

    async def sent(step: str) -> None:
        if step != f"sent {name}" or getattr(world.broker.asked[-1][1], "validate_only", False):
            return
        world.log.append([Removal(("acl", "TOPIC:LITERAL:org:"))])
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.append(step)
            raise

    world.broker.sent = sent
    assert await APIS[name](gateway, asking) == [TIMED_OUT]
    assert cancelled == [f"sent {name}"]
    assert world.broker.topics == topics
    assert world.broker.topics["org..t"].configs == configs
    world.broker.sent = _at_once
    assert await APIS[name](gateway, asking) == [DENIED]


@pytest.mark.parametrize("name", APIS)
async def test_other_changes_of_acls_do_not_disturb_it(world: World, name: str) -> None:
    gateway = in_turns(world)

    async def sent(step: str) -> None:
        if step == f"sent {name}":
            world.log.append(entities([f"DENY ALL {BOB} TOPIC:LITERAL:other:"]))
            await asyncio.sleep(0.1)

    world.broker.sent = sent
    assert await APIS[name](gateway, access(gateway, BOB)) == [0]
    await asyncio.sleep(0)
    others = {task.get_coro() for task in asyncio.all_tasks()} - {asyncio.current_task()}
    assert not [one for one in others if "watch" in repr(one)]


async def test_a_broker_does_not_count_as_silent_for_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever time it has had, because it could have answered in time."""
    monkeypatch.setattr(admin_module, "SILENT_SECONDS", 0.0)
    values = {"topics": [], "allow_auto_topic_creation": False}
    denied: dict[str, Denied] = {}
    async with ScriptedBroker(ClusterState(topics={}), 1) as broker, started(broker) as cluster:
        admin = BrokerAdmin(cluster, timeout=120.0)
        context = replace(in_turns(world).context, admin=admin)

        async def asked() -> object:
            request = Request("MetadataRequest", 99, values)
            return await ask_about(context, ["org..t"], lambda _: request, lambda _: denied)

        assert await asked()
        broker.spoil_next(METADATA, scripted_broker.say_nothing)
        waiting = asyncio.create_task(asked())
        await broker.wait_asked(METADATA, len(broker.asked(METADATA)) + 1)
        denied["org..t"] = Denied(DENIED, "revoked", ACL_RULE)
        world.log.append([Removal(("acl", "TOPIC:LITERAL:org:"))])
        with pytest.raises(TimeoutError):
            await waiting
        assert not cluster.lately_failed(broker.address)
        assert waiting.cancelling() == 0
        admin.close()


async def test_a_client_that_leaves_is_no_right_that_ends(world: World) -> None:
    gateway = in_turns(world)
    deleting = asyncio.create_task(delete(gateway, access(gateway, BOB)))

    async def sent(step: str) -> None:
        if step == "sent DeleteTopicsRequest":
            deleting.cancel()
            await asyncio.sleep(30)

    world.broker.sent = sent
    with pytest.raises(asyncio.CancelledError):
        await deleting


def in_turns(world: World) -> FakeGateway:
    """A gateway that serves others meanwhile."""
    gateway = world.gateway()
    gateway.context = replace(gateway.context, turns=Turns())
    return gateway


async def _at_once(_: str) -> None:
    """Answer without a wait."""
