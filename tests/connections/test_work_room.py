"""Long requests that the gateway works on: how many at a time, and whose."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from gateway.config.reach import reach_addresses
from gateway.connections import clients
from gateway.connections.broker_side import BrokerSide
from gateway.connections.connection import Connection
from gateway.connections.work_room import WorkRoom
from gateway.session.in_flight import UNCOUNTED
from protocol import messages
from protocol.messages import Request, make
from tests.changes.fake_broker import FakeBroker
from tests.connections.fake_transport import FakeTransport
from tests.connections.places import place_of
from tests.connections.test_admission import Gate
from tests.session.pair import frames, request_frame, response_frame
from tests.waiting import eventually

NAMES: Final = 1_000
"""Topics of a request, which takes some 25 KB."""

ONE, OTHER = "192.0.2.1", "192.0.2.2"


class Broker(FakeBroker):
    """Answers requests about configs once it is ``open``; ``waiting`` is the number of requests
    that wait for that, and ``most`` how many have waited at a time."""

    waiting = most = 0

    def __init__(self) -> None:
        super().__init__()
        self.open = asyncio.Event()

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await self.open.wait()
        self.waiting -= 1
        return await super().ask(request, changes=changes)


class Worker(Gate):
    """A worker whose own requests go to ``broker``, and its clients. ``forwarded``: the broker
    connections of clients, with what was written to them."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.broker = Broker()
        self.forwarded: dict[Connection, tuple[BrokerSide, FakeTransport]] = {}
        changes: Any = self.server.served[0].state.changes
        changes.context = replace(changes.context, admin=self.broker)

    def connect(self, host: str) -> tuple[Connection, FakeTransport]:
        """A client with its broker connection."""
        settings = self.config.listeners[0]
        target = reach_addresses(self.config, settings).bootstrap
        connection = self.server.clients.admission.accept(settings, target)
        assert isinstance(connection, Connection)
        transport = FakeTransport(host=host)
        connection.connection_made(transport)
        to_broker = FakeTransport()
        side = BrokerSide(connection, place_of(connection))
        side.connection_made(to_broker)
        self.forwarded[connection] = (side, to_broker)
        return connection, transport

    @property
    def is_idle(self) -> bool:
        """Whether no room is taken, and nobody waits for any."""
        of = self.server.clients
        return not any((*of._carried_out.values(), *of._decided.values()))


def described(names: int, length: int = 20, namespace: str = "team-a:") -> bytes:
    """A DescribeConfigs of topics, which do not exist."""
    resources = [
        {"resource_type": 2, "resource_name": f"{namespace}{number:0{length}}"}
        for number in range(names)
    ]
    cls = messages.message_class("DescribeConfigsRequest", 4)
    return request_frame("DescribeConfigs", 4, make(cls, {"resources": resources}))


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Worker:
    """It works on requests of 200 KB at a time, 100 KB of an address."""
    monkeypatch.setattr(clients, "CARRIED_OUT", 200_000)
    monkeypatch.setattr(clients, "DECIDED", 200_000)
    return Worker(tmp_path)


async def settled() -> None:
    """Let everything go on that need not wait for a broker."""
    for _ in range(2_000):
        await asyncio.sleep(0)


async def test_few_long_requests_of_an_address_are_carried_out_at_a_time(worker: Worker) -> None:
    asked = described(NAMES)
    at_a_time = 100_000 // len(asked)
    assert 2 < at_a_time < 6
    many = [worker.connect(ONE) for _ in range(12)]
    for connection, _ in many:
        connection.data_received(asked)
    await eventually(lambda: worker.broker.waiting == at_a_time, "as many as there is room for")
    other, answered = worker.connect(OTHER)
    other.data_received(asked)
    await eventually(lambda: worker.broker.waiting == at_a_time + 1, "another address has its own")
    short, read = worker.connect(ONE)
    short.data_received(described(1))
    await eventually(lambda: worker.broker.waiting == at_a_time + 2, "a short one needs no room")
    await settled()
    assert worker.broker.most == at_a_time + 2
    assert worker.server.clients._incomplete["open"].total == 13 * len(asked)
    worker.broker.open.set()
    transports = [transport for _, transport in many] + [answered, read]
    await eventually(lambda: all(each.written for each in transports), "the answers")
    for transport in transports[:-1]:
        (answer,) = frames(transport.written)
        response = messages.parse("DescribeConfigsResponse", 4, answer[5:])
        assert [one.error_code for one in response.results] == [3] * NAMES
    await settled()
    assert worker.is_idle
    assert worker.server.clients._incomplete["open"].total == 0


async def test_a_client_that_leaves_gives_its_room_and_its_place_back(worker: Worker) -> None:
    asked = described(2 * NAMES)
    many = [worker.connect(ONE) for _ in range(5)]
    for connection, _ in many:
        connection.data_received(asked)
    await eventually(lambda: worker.broker.waiting, "the first")
    await settled()
    began = worker.broker.most
    assert began < 5
    for connection, _ in many[1:]:
        connection.connection_lost(None)
    worker.broker.open.set()
    await eventually(lambda: many[0][1].written, "the answer")
    await settled()
    assert worker.is_idle


async def test_one_longer_than_an_address_may_have_comes_alone(worker: Worker) -> None:
    asked = described(NAMES, 120)
    assert len(asked) > 100_000
    many = [worker.connect(f"192.0.2.{number}") for number in range(4)]
    for connection, _ in many:
        connection.data_received(asked)
    await eventually(lambda: worker.broker.waiting, "the first")
    await settled()
    assert worker.broker.most == 1
    other, _ = worker.connect(OTHER)
    other.data_received(described(NAMES))
    await eventually(lambda: worker.broker.waiting == 2, "others pass it by")
    worker.broker.open.set()
    await eventually(lambda: all(each.written for _, each in many), "the answers")


async def answered_by(transport: FakeTransport) -> None:
    await eventually(lambda: transport.written, "the next answer")


class Unreading(FakeTransport):
    """The transport of a client that reads nothing."""

    def write(self, data: bytes | bytearray | memoryview) -> None:
        super().write(data)
        self.unread += len(data)


async def test_a_long_answer_of_the_gateways_own_has_room_until_it_is_read(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is written as its client takes it."""
    monkeypatch.setattr("tests.connections.test_work_room.FakeTransport", Unreading)
    worker.broker.open.set()
    connection, transport = worker.connect(ONE)
    connection.data_received(described(5 * NAMES, 60))
    await eventually(lambda: transport.written, "the answer")
    await settled()
    collected = worker.server.clients._collected["open"]
    size = int.from_bytes(transport.written[:4], "big") + 4
    assert collected.total == size > 2 * UNCOUNTED
    assert len(transport.written) < size
    while transport.unread:
        transport.unread = 0
        connection.resume_writing()
    assert len(transport.written) == size
    assert collected.total == 0


async def test_no_answer_is_made_for_an_address_while_others_wait_for_room(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.connections.test_work_room.FakeTransport", Unreading)
    collected = worker.server.clients._collected["open"]
    monkeypatch.setattr(collected._shares, "share", 0)  # for one that is longer
    worker.broker.open.set()
    many = [worker.connect(ONE) for _ in range(4)]
    asked = described(5 * NAMES, 60)
    for connection, _ in many:
        connection.data_received(asked)
        await eventually(lambda: worker.broker.waiting == 0, "nothing waits at the broker")
        await settled()
    answered = [each for each in many if each[1].written]
    assert len(answered) == 2, "one has the place, and one waits for it"
    connection, transport = worker.connect(OTHER)
    connection.data_received(described(NAMES))
    await eventually(lambda: transport.written, "an address that has nothing waiting")
    for connection, transport in many:
        await answered_by(transport)
        while transport.unread:
            transport.unread = 0
            connection.resume_writing()
    await settled()
    assert worker.is_idle
    assert collected._behind == {}


async def test_a_request_that_is_decided_is_counted(tmp_path: Path) -> None:
    """Also while it waits for its turns: it is held nowhere else."""
    worker = Worker(tmp_path)
    connection, _ = worker.connect(ONE)
    topics = [{"name": f"nothing:{number:050}"} for number in range(20_000)]
    cls = messages.message_class("MetadataRequest", 12)
    asked = request_frame("Metadata", 12, make(cls, {"topics": topics}))
    connection.data_received(asked)
    incomplete = worker.server.clients._incomplete["open"]
    assert connection.session.waiting is not None
    assert incomplete.total == len(asked)
    await eventually(lambda: connection.session.waiting is None, "the decision")
    assert incomplete.total == 0


def unknown(names: int, length: int) -> bytes:
    """A broker's response to :func:`described`."""
    results = [
        {
            "error_code": 3,
            "error_message": "",
            "resource_type": 2,
            "resource_name": f"{number:0{length}}",
        }
        for number in range(names)
    ]
    cls = messages.message_class("DescribeConfigsResponse", 4)
    return response_frame("DescribeConfigs", 4, make(cls, {"results": results}))


async def test_few_long_requests_of_an_address_are_forwarded_at_a_time(worker: Worker) -> None:
    """What is kept of them until they are answered takes more than they do."""
    asked = described(NAMES, 40, "")
    at_a_time = 100_000 // len(asked)
    assert 1 < at_a_time < 4
    many = [worker.connect(ONE) for _ in range(7)]
    for connection, _ in many:
        connection.data_received(asked)
    other, _ = worker.connect(OTHER)
    other.data_received(asked)

    def forwarded() -> list[Connection]:
        return [one for one, (_, written) in worker.forwarded.items() if written.written]

    await eventually(lambda: len(forwarded()) == at_a_time + 1, "as many as there is room for")
    await settled()
    assert len(forwarded()) == at_a_time + 1
    assert other in forwarded()
    answered = 0
    while answered < len(many) + 1:
        for connection in forwarded():
            side, written = worker.forwarded[connection]
            written.taken()
            side.data_received(unknown(NAMES, 40))
            answered += 1
        await settled()
        assert len(forwarded()) <= at_a_time + 1
    await eventually(lambda: all(each.written for _, each in many), "the answers")
    assert worker.is_idle


async def test_what_ends_before_it_is_answered_gives_its_room_back(worker: Worker) -> None:
    asked = described(NAMES, 80, "")
    first, second = worker.connect(ONE), worker.connect(ONE)
    first[0].data_received(asked)
    await eventually(lambda: worker.forwarded[first[0]][1].written, "the first")
    second[0].data_received(asked)
    await settled()
    assert not worker.forwarded[second[0]][1].written
    first[0].drop_client("test")
    first[0].connection_lost(None)
    await eventually(lambda: worker.forwarded[second[0]][1].written, "the second")
    second[0].reset("test")
    second[0].connection_lost(None)
    assert worker.is_idle


async def test_tenants_at_one_address_have_shares_of_their_own() -> None:
    room, connections = WorkRoom(100), [object() for _ in range(4)]
    first, second, *others = connections
    await room.enter(first, "User:alice", 40)
    behind = asyncio.create_task(room.enter(second, "User:alice", 40))
    for one in others:
        await asyncio.wait_for(room.enter(one, "User:bob", 20), 60)
    assert not behind.done()
    room.leave(first)
    await behind
    for one in connections:
        room.leave(one)
    assert not room


async def test_room_is_given_back_once_however_its_request_ends() -> None:
    room, first, second = WorkRoom(100), object(), object()
    await room.enter(first, ONE, 40)
    waits = asyncio.create_task(room.enter(second, ONE, 40))
    await asyncio.sleep(0)
    assert not waits.done()
    waits.cancel()
    await asyncio.sleep(0)
    room.leave(second)
    await room.enter(first, ONE, 50)
    room.leave(first)
    room.leave(first)
    assert not room
