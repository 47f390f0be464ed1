"""Which broker a client's connection goes to, and the error if there is none."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import pytest

from devkit.ports import free_port
from gateway.brokers.opening_turns import LEAST
from gateway.brokers.security import BrokerSecurity
from gateway.cluster.cluster import Cluster
from gateway.cluster.link import ClusterUnreachable
from gateway.config.security import ClusterSecurity
from gateway.connections import broker_sessions
from gateway.connections.broker_room import Limits
from gateway.connections.broker_rooms import BrokerRooms
from gateway.connections.broker_sessions import open_broker
from tests.cluster.clusters import started
from tests.cluster.scripted_broker import ClusterState, ScriptedBroker
from tests.waiting import eventually


class Client:
    """A client that needs a connection."""

    tenant = ("User:alice", "")
    idle = False
    awaits_answer = True

    def give_way(self, reason: str) -> None:
        raise AssertionError(reason)

    def fail(self, error: Exception) -> None:
        raise error


class Side(asyncio.Protocol):
    """Takes a broker connection over."""

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.transport: asyncio.BaseTransport | None = None
        self.lost = False

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport


async def open_to(
    known: Cluster,
    node_id: int | None,
    take_over: Callable[[int], asyncio.Protocol] = Side,
    **options: bool,
) -> float:
    rooms = BrokerRooms(known, Limits())
    return await open_broker(
        known, node_id, lambda node, _: take_over(node), rooms, Client(), **options
    )


@contextmanager
def broker() -> Iterator[int]:
    """The port of a broker that takes connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def cluster(**brokers: int) -> Cluster:
    """A cluster with these brokers: ``b1=9092`` is broker 1."""
    made = Cluster("main", [("127.0.0.1", 1)])
    made.brokers = {int(name[1:]): ("127.0.0.1", port) for name, port in brokers.items()}
    return made


async def port_of(known: Cluster, node_id: int | None) -> int:
    side = Side(0)
    assert await open_to(known, node_id, lambda _: side) == 0.0
    transport = await eventually(lambda: side.transport, "the connection")
    assert transport is not None
    port: int = transport.get_extra_info("peername")[1]
    transport.close()
    await eventually(lambda: side.lost, "the end of the connection")
    return port


async def test_the_broker_that_is_asked_for() -> None:
    with broker() as one, broker() as two:
        known = cluster(b1=one, b2=two)
        assert await port_of(known, 1) == one
        assert await port_of(known, 2) == two


async def test_any_in_turn() -> None:
    with broker() as one, broker() as two:
        known = cluster(b1=one, b2=two)
        assert {await port_of(known, None) for _ in range(2)} == {one, two}


async def test_one_that_there_is_not() -> None:
    with pytest.raises(ConnectionRefusedError, match="the cluster has no broker 7"):
        await open_to(cluster(b1=1), 7)
    with pytest.raises(ClusterUnreachable):
        await open_to(cluster(), None)


async def test_one_that_is_not_listed_yet() -> None:
    state = ClusterState()
    async with ScriptedBroker(state, 1) as listing, started(listing) as known:
        with broker() as other:
            state.brokers[7] = ("127.0.0.1", other)
            assert await port_of(known, 7) == other


async def test_one_that_is_not_where_it_is_listed_any_more() -> None:
    state = ClusterState(brokers={7: ("127.0.0.1", free_port())})
    async with ScriptedBroker(state, 1) as listing, started(listing) as known:
        with broker() as other:
            state.brokers[7] = ("127.0.0.1", other)
            assert await port_of(known, 7) == other


async def test_one_that_an_answer_named_elsewhere() -> None:
    """Another server may be at its former address."""
    with broker() as before, broker() as now:
        state = ClusterState(brokers={7: ("127.0.0.1", before)})
        async with ScriptedBroker(state, 1) as listing, started(listing) as known:
            state.brokers[7] = ("127.0.0.1", now)
            known.hear(7, "127.0.0.1", now)
            assert await port_of(known, 7) == now


async def test_one_that_has_left() -> None:
    state = ClusterState(brokers={7: ("127.0.0.1", free_port())})
    async with ScriptedBroker(state, 1) as listing, started(listing) as known:
        del state.brokers[7]
        with pytest.raises(ConnectionError, match=r"^broker 7 "):
            await open_to(known, 7)
        with pytest.raises(ConnectionRefusedError, match="the cluster has no broker 7"):
            await open_to(known, 7)


async def test_one_that_takes_no_connection_is_left_out_for_a_while() -> None:
    with broker() as good:
        bad = free_port()
        known = cluster(b1=bad, b2=good)
        with pytest.raises(ConnectionError, match=rf"^broker 1 \(127\.0\.0\.1:{bad}\): "):
            await open_to(known, 1)
        assert {await port_of(known, None) for _ in range(3)} == {good}


class Openings:
    """Connections being opened, until a test ends them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.under_way: list[asyncio.Future[float]] = []
        monkeypatch.setattr(broker_sessions, "open_transport", self._open)

    async def _open(self, *_: object, **__: object) -> float:
        mine: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self.under_way.append(mine)
        try:
            return await mine
        finally:
            self.under_way.remove(mine)


def secured(protocol: Literal["SSL", "SASL_PLAINTEXT"]) -> BrokerSecurity:
    return BrokerSecurity(ClusterSecurity(protocol=protocol))


@pytest.mark.parametrize("protocol", ["SSL", "SASL_PLAINTEXT"])
async def test_a_broker_that_answers_late_has_few_openings_under_way(
    monkeypatch: pytest.MonkeyPatch, protocol: Literal["SSL", "SASL_PLAINTEXT"]
) -> None:
    known = cluster(b1=1, b2=1)
    known.security = secured(protocol)
    openings = Openings(monkeypatch)
    clients = [asyncio.ensure_future(open_to(known, 1)) for _ in range(50)]
    other = asyncio.ensure_future(open_to(known, 2))
    await asyncio.sleep(0)
    assert len(openings.under_way) == LEAST + 1, "each broker has turns of its own"
    for client in (*clients, other):
        client.cancel()
    await asyncio.wait([*clients, other])
    assert not openings.under_way


@pytest.mark.parametrize("log_in_first", [True, False])
async def test_without_an_answer_of_the_broker_there_are_no_turns(
    monkeypatch: pytest.MonkeyPatch, log_in_first: bool
) -> None:
    """The system accepts for the broker. If clients log in themselves, the gateway does not."""
    known = cluster(b1=1)
    if not log_in_first:
        known.security = secured("SASL_PLAINTEXT")
    openings = Openings(monkeypatch)
    clients = [
        asyncio.ensure_future(open_to(known, 1, log_in_first=log_in_first)) for _ in range(50)
    ]
    await asyncio.sleep(0)
    assert len(openings.under_way) == 50
    for opening in list(openings.under_way):
        opening.set_result(0.0)
    assert await asyncio.gather(*clients) == [0.0] * 50


async def test_one_that_is_slow_is_left_out_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_sessions, "SLOW_SECONDS", 0.01)
    known = cluster(b1=1, b2=2)
    openings = Openings(monkeypatch)
    client = asyncio.ensure_future(open_to(known, 1))
    await eventually(lambda: known.lately_failed(("127.0.0.1", 1)), "a look at the slow one")
    assert {known.any_broker()[0] for _ in range(3)} == {2}
    (opening,) = openings.under_way
    opening.set_result(7.0)
    assert await client == 7.0, "its own client waits on"
