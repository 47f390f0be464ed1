"""The gateway's own requests to a cluster, and how they continue if a broker goes away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.messages import request_frame
from gateway.brokers.throttling import OneClientsAdmin
from gateway.cluster.admin import MAX_CONNECTIONS, MOST_RESTING, TURN_TIMEOUT, BrokerAdmin
from gateway.cluster.cluster import Cluster
from gateway.cluster.link import ClusterUnreachable
from protocol.messages import Request
from tests.cluster import scripted_broker
from tests.cluster.clusters import started
from tests.cluster.scripted_broker import ScriptedBroker
from tests.waiting import eventually

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


async def test_one_broker_alone_is_asked(broker: ScriptedBroker, admin: BrokerAdmin) -> None:
    host, port = broker.address
    request = Request("MetadataRequest", 99, VALUES)
    assert (await admin.ask_at((host, port), request)).brokers is not None
    await broker.wait_disconnected()
    with pytest.raises(ClusterUnreachable):
        await admin.ask_at((host, 1), request)  # and not at the bootstrap server
    assert len(broker.asked(METADATA)) == 1


async def test_the_time_for_a_turn_is_not_the_brokers(
    broker: ScriptedBroker, admin: BrokerAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A silent broker is given up, and is asked last from then on."""
    request = Request("MetadataRequest", 99, VALUES)
    for _ in range(MAX_CONNECTIONS):
        await admin._take_turn()
    within = TURN_TIMEOUT / 4
    waiting = asyncio.create_task(admin.ask_at(broker.address, request, within=within))
    await asyncio.sleep(0)
    loop = asyncio.get_running_loop()
    clock = loop.time
    monkeypatch.setattr(loop, "time", lambda: clock() + 2 * within)
    await asyncio.sleep(0.01)
    assert not waiting.done()
    for _ in range(MAX_CONNECTIONS):
        admin._turns.release()
    assert (await waiting).brokers is not None
    assert not admin.cluster.lately_failed(broker.address)
    broker.spoil_next(METADATA, scripted_broker.say_nothing)
    with pytest.raises(ClusterUnreachable):
        await admin.ask_at(broker.address, request, within=0.2)
    assert admin.cluster.lately_failed(broker.address)


async def test_a_request_is_made_when_it_has_its_turn(
    broker: ScriptedBroker, admin: BrokerAdmin
) -> None:
    """So what it is made of is decided then, and not when it began to wait."""
    made: list[int] = []

    def values(version: int) -> dict[str, object]:
        made.append(version)
        if len(made) == 1:
            raise LookupError("nothing is left of it")
        return VALUES

    for _ in range(MAX_CONNECTIONS):
        await admin._take_turn()
    waiting = asyncio.create_task(admin.ask(Request("MetadataRequest", 5, values)))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not made
    admin._turns.release()
    with pytest.raises(LookupError):
        await waiting
    assert not broker.asked(METADATA)
    assert (await admin.ask(Request("MetadataRequest", 5, values))).brokers is not None
    assert made == [5, 5]
    assert broker.connections == 1, "what is not sent ends no connection"


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
    # A task that is cancelled before would leave the silence to the last.
    await broker.wait_asked(METADATA, MAX_CONNECTIONS)
    with pytest.raises(ClusterUnreachable, match="earlier questions"):
        await ask(admin)
    for task in under_way:
        task.cancel()
    await asyncio.wait(under_way)
    await ask(admin)


@pytest.mark.parametrize("leaves", [False, True], ids=["gives up", "leaves"])
async def test_a_broker_that_is_silent_is_left_for_another(
    brokers: list[ScriptedBroker], monkeypatch: pytest.MonkeyPatch, leaves: bool
) -> None:
    """Its caller has given up, but later callers do not wait for it again. A broker whose client
    leaves does not count as silent."""
    monkeypatch.setattr("gateway.cluster.admin.SILENT_SECONDS", 100.0 if leaves else 0.04)
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
        assert len(silent.asked(METADATA)) == asked + (6 if leaves else 1)
        admin.close()


HOUR = 3_600_000


async def at_once(connection: BrokerConnection) -> None:
    """Check nothing before a request is sent."""


async def test_a_request_that_is_not_ready_is_not_sent(
    broker: ScriptedBroker, admin: BrokerAdmin
) -> None:
    async def never(connection: BrokerConnection) -> None:
        raise LookupError

    entity = Request("MetadataRequest", 13, VALUES).entity(13)
    framed = request_frame("MetadataRequest", 13, 1, entity)
    await admin.forward(framed, changes=True, ready=at_once)
    sent = len(broker.asked(METADATA))
    with pytest.raises(LookupError):
        await admin.forward(framed, changes=True, ready=never)
    await admin.forward(framed, changes=True, ready=at_once)
    assert len(broker.asked(METADATA)) == sent + 1
    assert broker.connections == 1, "nothing was sent, so the next request may use the connection"


@pytest.mark.parametrize("forwarded", [False, True])
async def test_a_connection_that_is_throttled_rests(
    broker: ScriptedBroker, admin: BrokerAdmin, forwarded: bool
) -> None:
    """Its broker does not read from it meanwhile (KIP-219), and the next client is another."""

    async def question() -> None:
        if not forwarded:
            await ask(admin)
            return
        entity = Request("MetadataRequest", 13, VALUES).entity(13)
        framed = request_frame("MetadataRequest", 13, 1, entity)
        await admin.forward(framed, changes=True, ready=at_once)

    broker.spoil_next(METADATA, scripted_broker.send_throttled(HOUR))
    for _ in range(3):
        await question()
    assert broker.connections == 2
    broker.spoil_next(METADATA, scripted_broker.send_throttled(1))
    await question()
    await asyncio.sleep(0.002)
    await question()
    assert broker.connections == 2


async def test_connections_that_rest_are_bounded(
    broker: ScriptedBroker, admin: BrokerAdmin
) -> None:
    for number in range(1, 12):
        broker.spoil_next(METADATA, scripted_broker.send_throttled(HOUR))
        await ask(admin)
        assert broker.connections == number
    await eventually(lambda: broker.open_connections <= MOST_RESTING + 1, "the connections closed")


async def test_the_client_that_a_request_is_sent_for_learns_the_throttle_time(
    broker: ScriptedBroker, admin: BrokerAdmin
) -> None:
    answers = (scripted_broker.send_throttled(ms) for ms in (0, 28_900, 500, 7))
    broker.spoil_next(METADATA, *answers)
    one, other = OneClientsAdmin(admin), OneClientsAdmin(admin)
    request = Request("MetadataRequest", 99, VALUES)
    for _ in range(3):
        await one.ask(request)
    await ask(admin)
    await other.ask(request)
    assert (one.throttle_ms, other.throttle_ms) == (28_900, 0)
