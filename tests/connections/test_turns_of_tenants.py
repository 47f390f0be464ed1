"""Long requests and responses of a tenant with many connections, beside one of another."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from gateway import slices
from gateway.connections.broker_side import BrokerSide
from gateway.connections.connection import Connection, Hub
from gateway.identity import ANONYMOUS, Identity
from tests.connections.connected import FakeServer, settled
from tests.connections.fake_transport import FakeTransport
from tests.connections.places import place_of
from tests.pauses import pause_everywhere
from tests.session.long_requests import longest_request, values
from tests.session.pair import Pair, frames, raw_frame, request_frame, response_frame, topic_id
from tests.session.samples import request, response

METADATA = 3

LONG_REQUEST = raw_frame(METADATA, 9, longest_request("Metadata", 9, "topics", 300))

FLOOD = 12
"""Connections of the tenant that sends much."""

FEW = 4
"""Requests, or responses, of the flood that are done before the other's, at most: each has half of
the turns, so it is one, and what had begun before."""


@pytest.fixture(autouse=True)
def pausing_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every pause point pause, however fast the machine is."""
    pause_everywhere(monkeypatch)
    monkeypatch.setattr(slices, "FIRSTS_SECONDS", 0.0)


class Worker(FakeServer):
    """A worker with many connections, each with its own broker connection."""

    def __init__(self) -> None:
        super().__init__()
        self.brokers: dict[Connection, FakeTransport] = {}

    async def connect_broker(self, connection: Connection) -> None:
        broker = self.brokers[connection] = FakeTransport()
        BrokerSide(connection, place_of(connection)).connection_made(broker)


class Client:
    """A client of a worker."""

    def __init__(self, worker: Worker, principal: str, host: str) -> None:
        self.worker = worker
        self.transport = FakeTransport(host=host)
        session = Pair(topics=["t"]).session
        self.connection = Connection(cast(Hub, worker), "test", None, session)
        self.connection.connection_made(self.transport)
        session.state.identity = Identity(principal)

    def send(self, data: bytes) -> None:
        self.connection.data_received(data)

    @property
    def forwarded(self) -> int:
        """The number of its requests that its broker has."""
        broker = self.worker.brokers.get(self.connection)
        return 0 if broker is None else len(frames(broker.written))

    @property
    def answered(self) -> int:
        """The number of responses that it has."""
        return len(frames(self.transport.written))


def clients(worker: Worker, *, addresses: bool) -> tuple[list[Client], Client]:
    """The clients of a tenant, by principal or by address, and a client of another."""
    if addresses:
        anonymous = ANONYMOUS.principal
        return (
            [Client(worker, anonymous, "10.0.0.1") for _ in range(FLOOD)],
            Client(worker, anonymous, "10.0.0.2"),
        )
    return (
        [Client(worker, "User:flood", f"10.0.1.{number}") for number in range(FLOOD)],
        Client(worker, "User:other", "10.0.0.2"),
    )


def is_idle(worker: Worker) -> bool:
    side = worker.turns._rota.tenants
    return not side.turns and not side.waiting and not any(side.places._held)


def forwarded(flood: Sequence[Client]) -> int:
    return sum(client.forwarded for client in flood)


def answered(flood: Sequence[Client]) -> int:
    return sum(client.answered for client in flood)


@pytest.mark.parametrize("addresses", [False, True], ids=["by principal", "by address"])
async def test_a_long_request_beside_many_of_another_tenant(addresses: bool) -> None:
    worker = Worker()
    flood, other = clients(worker, addresses=addresses)
    for client in flood:
        client.send(LONG_REQUEST)
    while not forwarded(flood):
        await asyncio.sleep(0)
    before = forwarded(flood)
    other.send(LONG_REQUEST)
    while not other.forwarded:
        await asyncio.sleep(0)
    assert forwarded(flood) - before <= FEW
    await settled()
    assert forwarded(flood) == FLOOD
    assert is_idle(worker)


@pytest.mark.parametrize("addresses", [False, True], ids=["by principal", "by address"])
async def test_a_long_response_beside_many_of_another_tenant(addresses: bool) -> None:
    worker = Worker()
    flood, other = clients(worker, addresses=addresses)
    asked = request_frame("OffsetFetch", 7, request("OffsetFetch", 7, "t", topic_id(1)))
    for client in (*flood, other):
        client.send(asked)
    await settled()
    entity = response("OffsetFetch", 7, "t", topic_id(1), "")
    long = type(entity)(**{**values(entity), "topics": entity.topics * 300})
    for client in (*flood, other):
        client.connection.broker_data(response_frame("OffsetFetch", 7, long))
    while not other.answered:
        await asyncio.sleep(0)
    assert answered(flood) <= FEW
    await settled()
    assert answered(flood) == FLOOD
    assert is_idle(worker)
