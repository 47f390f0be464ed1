"""Which broker a client's connection goes to, and what is said when there is none."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from devkit.ports import free_port
from gateway.cluster.cluster import Cluster
from gateway.cluster.link import ClusterUnreachable
from gateway.connections import broker_sessions
from gateway.connections.broker_sessions import open_broker
from tests.cluster.clusters import started
from tests.cluster.scripted_broker import ClusterState, ScriptedBroker
from tests.waiting import eventually


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


@contextmanager
def broker() -> Iterator[int]:
    """The port of one that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


def cluster(**brokers: int) -> Cluster:
    """A cluster with these brokers: ``b1=9092`` is broker 1."""
    made = Cluster("main", [("127.0.0.1", 1)])
    made.brokers = {int(name[1:]): ("127.0.0.1", port) for name, port in brokers.items()}
    return made


async def port_of(known: Cluster, node_id: int | None) -> int:
    side = Side(0)
    assert await open_broker(known, node_id, lambda _: side) == 0.0
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
        await open_broker(cluster(b1=1), 7, Side)
    with pytest.raises(ClusterUnreachable):
        await open_broker(cluster(), None, Side)


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
    """Another server may be where it was."""
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
            await open_broker(known, 7, Side)
        with pytest.raises(ConnectionRefusedError, match="the cluster has no broker 7"):
            await open_broker(known, 7, Side)


async def test_one_that_takes_no_connection_is_left_out_for_a_while() -> None:
    with broker() as good:
        bad = free_port()
        known = cluster(b1=bad, b2=good)
        with pytest.raises(ConnectionError, match=rf"^broker 1 \(127\.0\.0\.1:{bad}\): "):
            await open_broker(known, 1, Side)
        assert {await port_of(known, None) for _ in range(3)} == {good}


async def test_one_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*_: object, **__: object) -> float:
        await asyncio.sleep(60)
        return 0.0

    monkeypatch.setattr(broker_sessions, "open_transport", hang)
    monkeypatch.setattr(broker_sessions, "CONNECT_TIMEOUT", 0.01)
    with pytest.raises(TimeoutError, match=r"broker 1 did not accept in 0.01 s"):
        await open_broker(cluster(b1=1), 1, Side)
