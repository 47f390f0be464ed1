"""What the gateway asks of a cluster itself, and what it does when a broker goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from gateway.cluster.admin import MAX_CONNECTIONS, BrokerAdmin
from gateway.cluster.cluster import Cluster
from gateway.cluster.link import ClusterUnreachable
from protocol.messages import Request
from tests.cluster import scripted_broker
from tests.cluster.clusters import started
from tests.cluster.scripted_broker import ScriptedBroker

pytestmark = pytest.mark.asyncio
METADATA = 3


VALUES = {"topics": [], "allow_auto_topic_creation": False}


@pytest_asyncio.fixture
async def admin(broker: ScriptedBroker) -> AsyncIterator[BrokerAdmin]:
    cluster = Cluster("main", [broker.address])
    found = BrokerAdmin(cluster, timeout=120.0)
    yield found
    found.close()


async def ask(admin: BrokerAdmin, *, changes: bool = True, at_most: int = 99) -> Any:
    return await admin.ask(Request("MetadataRequest", at_most, VALUES), changes=changes)


async def test_it_asks_in_the_newest_version_that_all_know(
    broker: ScriptedBroker, admin: BrokerAdmin
) -> None:
    await ask(admin, at_most=5)
    assert broker.asked(METADATA)[-1].version == 5
    assert broker.connections == 1
    await ask(admin)
    assert broker.connections == 1, "the connection is kept"


async def test_what_changes_something_is_asked_once(
    broker: ScriptedBroker, admin: BrokerAdmin
) -> None:
    broker.spoil_next(METADATA, scripted_broker.disconnect)
    with pytest.raises(ClusterUnreachable):
        await ask(admin)
    assert len(broker.asked(METADATA)) == 1


async def test_what_changes_nothing_is_asked_again(
    broker: ScriptedBroker, admin: BrokerAdmin
) -> None:
    await ask(admin)
    broker.spoil_next(METADATA, scripted_broker.disconnect)
    await ask(admin, changes=False)
    assert len(broker.asked(METADATA)) == 3


async def test_a_lost_connection_is_not_used_again(
    broker: ScriptedBroker, admin: BrokerAdmin
) -> None:
    broker.spoil_next(METADATA, scripted_broker.disconnect)
    with pytest.raises(ClusterUnreachable):
        await ask(admin)
    await ask(admin)
    assert broker.connections == 2


async def test_an_idle_connection_that_the_broker_ended_is_no_failure(
    broker: ScriptedBroker, admin: BrokerAdmin
) -> None:
    await ask(admin)
    broker.disconnect_all()
    await broker.wait_disconnected()
    await ask(admin)
    assert broker.connections == 2


async def test_nobody_there(broker: ScriptedBroker, admin: BrokerAdmin) -> None:
    await broker.stop()
    with pytest.raises(ClusterUnreachable):
        await ask(admin)
    await broker.start()
    await ask(admin)


async def test_nobody_waits_for_a_turn_without_end(
    broker: ScriptedBroker, admin: BrokerAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.cluster.admin.TURN_TIMEOUT", 0.05)
    for _ in range(MAX_CONNECTIONS):
        broker.spoil_next(METADATA, scripted_broker.say_nothing)
    under_way = [asyncio.create_task(ask(admin)) for _ in range(MAX_CONNECTIONS)]
    # Who is cancelled before would leave the silence to the last one.
    await broker.wait_asked(METADATA, MAX_CONNECTIONS)
    with pytest.raises(ClusterUnreachable, match="earlier questions"):
        await ask(admin)
    for task in under_way:
        task.cancel()
    await asyncio.wait(under_way)
    await ask(admin)


async def test_a_broker_that_is_silent_is_left_for_another(brokers: list[ScriptedBroker]) -> None:
    """Its caller has given up; those that come next do not wait for it again."""
    async with started(*brokers) as cluster:
        admin = BrokerAdmin(cluster, timeout=120.0)
        silent, *others = brokers
        await asyncio.gather(*(ask(admin, changes=False) for _ in range(3)))
        asked = len(silent.asked(METADATA))
        assert not any(other.asked(METADATA) for other in others)
        silent.spoil_next(METADATA, scripted_broker.say_nothing)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await ask(admin, changes=False)
        for _ in range(5):
            await ask(admin, changes=False)
        assert len(silent.asked(METADATA)) == asked + 1
        admin.close()
