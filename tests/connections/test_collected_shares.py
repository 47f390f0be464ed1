"""ShareFetch responses of many connections at once: what is held of them, and who gets them."""

from __future__ import annotations

import asyncio
import random
from typing import Final, cast

import pytest

from gateway.config.security import CollectedResponses
from gateway.connections.broker_side import BrokerSide
from gateway.connections.closing import UNTAKEN
from gateway.connections.collected import MOST_SECONDS, CollectedBytes, Collecting
from gateway.connections.connection import Connection, Hub
from gateway.connections.paced import PART, PacedTransport
from gateway.connections.transports import WRITE_HIGH
from gateway.exchanges.framing import Watcher
from gateway.node_ids import NodeIdRanges
from gateway.session.in_flight import UNCOUNTED
from gateway.virtual_brokers import ListenerAddresses
from protocol import messages
from tests.connections.connected import FakeServer, settled
from tests.connections.fake_transport import FakeTransport
from tests.connections.places import place_of
from tests.scenarios.entities import entity
from tests.session import fetching
from tests.session.pair import Pair, request_frame, response_frame
from tests.session.producing import batch
from tests.session.test_share_sessions import TOPICS

MIB: Final = 2**20
VERSION: Final = 2
PIECE: Final = 64 * 1024
"""Bytes that a broker's socket gives at a time."""

SHARE_FETCH: Final = request_frame(
    "ShareFetch",
    VERSION,
    entity(
        messages.message_class("ShareFetchRequest", VERSION),
        {
            "group_id": "app",
            "member_id": "m1",
            "topics": [{"topic_id": 1, "partitions": [{"partition_index": 0}]}],
        },
    ),
)


def response(size: int) -> bytes:
    """A whole response with so many bytes of records."""
    records = bytearray(batch(10).ljust(size, b"x"))
    records[8:12] = (size - 12).to_bytes(4, "big")
    partition = {"partition_index": 0, "records": bytes(records)}
    values = {"responses": [{"topic_id": 1, "partitions": [partition]}]}
    made = entity(messages.message_class("ShareFetchResponse", VERSION), values)
    return response_frame("ShareFetch", VERSION, made)


ANSWER: Final = response(600 * 1024)


class ClientTransport(FakeTransport):
    """A client's socket, with flow control as an event loop's. ``got`` bytes were read."""

    def __init__(self, host: str) -> None:
        super().__init__(host=host)
        self.connection: Connection | None = None
        self.got = bytearray()
        self._full = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        super().write(data)
        self.unread = len(self.written)
        if self.unread > WRITE_HIGH and not self._full:
            self._full = True
            assert self.connection is not None
            self.connection.pause_writing()

    def read(self, size: int) -> None:
        self.got += self.written[:size]
        self.written = self.written[size:]
        self.unread = len(self.written)
        if self._full and self.unread <= WRITE_HIGH // 4:
            self._full = False
            assert self.connection is not None
            self.connection.resume_writing()


class Client:
    """A member of a share group, and its broker, which sends a response in pieces."""

    def __init__(self, site: Site, host: str) -> None:
        self.transport, self.broker = ClientTransport(host), FakeTransport()
        self.left = b""
        session = site.pair.another_session(site.addresses)
        self.connection = Connection(cast(Hub, site), "test", None, session)
        self.transport.connection = self.connection
        self.connection.connection_made(self.transport)
        self.side = BrokerSide(self.connection, place_of(self.connection))
        self.side.connection_made(self.broker)
        session.watch_collected(self.connection)

    def asks(self) -> None:
        self.connection.data_received(SHARE_FETCH)
        assert self.broker.taken(), "the request is not forwarded"
        self.left = ANSWER

    @property
    def may_send(self) -> bool:
        """Whether the broker has more to send, and is read."""
        return bool(self.left) and not self.broker.paused and not self.broker.closed

    def sends(self) -> None:
        """The broker sends a piece, if it is read."""
        if self.may_send:
            piece, self.left = self.left[:PIECE], self.left[PIECE:]
            self.side.data_received(piece)

    @property
    def held(self) -> int:
        """Bytes of the response that the gateway holds, besides those that wait for a client."""
        collected = len(self.connection.session._responses._held)
        transport = self.connection._transport
        return collected + (transport.left if isinstance(transport, PacedTransport) else 0)


class Site(FakeServer):
    """A worker's connections, with a budget and a clock that the test moves."""

    def __init__(self, most: int, per_ip: int) -> None:
        super().__init__()
        self.now = 0.0
        limits = CollectedResponses(max_bytes=most * MIB, max_bytes_per_ip=per_ip * MIB)
        self.collected = CollectedBytes(limits, lambda: self.now)
        self.pair = Pair(topics=TOPICS)
        self.addresses = ListenerAddresses("gateway.example", 9193, NodeIdRanges.parse(["1-3"]))

    def collects(self, connection: Connection, size: int) -> Watcher:
        return self.collected.enter(connection, size)

    def taken(self, connection: Connection) -> None:
        self.collected.look(connection)

    def closed(self, connection: Connection) -> None:
        super().closed(connection)
        self.collected.forget(cast(Collecting, connection))


class NoRooms(Site):
    """A worker whose connections must not ask for room."""

    def collects(self, connection: Connection, size: int) -> Watcher:
        raise AssertionError("a response of the hot path needs room")

    def taken(self, connection: Connection) -> None:
        raise AssertionError("the hot path looks after rooms")


async def run(site: Site, clients: list[Client], chance: random.Random, most: int) -> None:
    """Let brokers send and clients read, in any order, until every client has its response."""
    held = {each: each.held for each in clients}
    total = sum(held.values())
    while any(len(each.transport.got) < len(ANSWER) for each in clients):
        ready = [each for each in clients if each.may_send or each.transport.unread]
        assert ready, "each waits for another"
        client = chance.choice(ready)
        if client.may_send and chance.random() < 0.6:
            client.sends()
        else:
            client.transport.read(chance.randrange(1, 300_000))
        await asyncio.sleep(0)
        total += client.held - held[client]
        held[client] = client.held
        assert total <= most
        assert client.transport.unread <= WRITE_HIGH + PART


async def test_two_hundred_connections_of_an_address_have_one_budget() -> None:
    """Of 100 MiB the budget's 4 are held at a time, and a piece of each that waits."""
    site = Site(64, 4)
    clients = [Client(site, "192.0.2.1") for _ in range(200)]
    for client in clients:
        client.asks()
    await settled()
    await run(site, clients, random.Random(1), 4 * MIB + len(clients) * PIECE)
    assert all(bytes(each.transport.got) == ANSWER for each in clients)
    assert site.reasons == []
    assert site.collected.total == 0
    assert not any(isinstance(each.connection._transport, PacedTransport) for each in clients)


async def test_addresses_have_one_budget_together() -> None:
    site = Site(4, 2)
    clients = [Client(site, f"192.0.2.{number % 10}") for number in range(60)]
    for client in clients:
        client.asks()
    await settled()
    await run(site, clients, random.Random(2), 4 * MIB + len(clients) * PIECE)
    assert all(bytes(each.transport.got) == ANSWER for each in clients)


async def test_all_come_beside_a_client_that_does_not_read_and_a_broker_that_stops() -> None:
    """Of three rooms two are taken, and every other client comes in the third. Those two are closed
    once they have held others up for too long."""
    site = Site(4, 2)
    unread, stopped, *others = [Client(site, "192.0.2.1") for _ in range(12)]
    for client in (unread, stopped):
        client.asks()
        client.sends()
    while unread.left:
        unread.sends()
    for client in others:
        client.asks()
        client.sends()
    await run(site, others, random.Random(3), 2 * MIB + 12 * PIECE)
    site.now = MOST_SECONDS - 1
    late = [Client(site, "192.0.2.1") for _ in range(3)]
    for client in late:
        client.asks()
        client.sends()
    assert [each.broker.paused for each in late] == [False, True, True]
    site.collected.sweep()
    assert site.reasons == []
    site.now = MOST_SECONDS
    written = len(unread.transport.written)
    site.collected.sweep()
    assert [reason.partition(":")[0] for reason in site.reasons] == [UNTAKEN] * 2
    assert unread.transport.aborted
    assert len(unread.transport.written) == written, "what is left is given up"
    assert stopped.broker.reset
    for client in (unread, stopped):
        client.connection.connection_lost(None)
    await run(site, late, random.Random(4), 2 * MIB + 12 * PIECE)


async def test_a_connection_that_ends_while_it_waits_leaves_its_place() -> None:
    site = Site(1, 1)
    first, leaves, last = (Client(site, "192.0.2.1") for _ in range(3))
    for client in (first, leaves, last):
        client.asks()
        client.sends()
    assert [each.broker.paused for each in (first, leaves, last)] == [False, True, True]
    leaves.connection.reset("test", quietly=True)
    leaves.connection.connection_lost(None)
    while first.left:
        first.sends()
    while first.transport.unread:
        first.transport.read(len(ANSWER))
    await asyncio.sleep(0)
    assert not last.broker.paused


async def test_a_short_response_needs_no_room() -> None:
    site = Site(1, 1)
    client = Client(site, "192.0.2.1")
    client.asks()
    client.left = response(UNCOUNTED - 1_000)
    while client.left:
        client.sends()
        assert site.collected.total == 0
    assert client.transport.written


@pytest.mark.parametrize("piece", [1_000, PIECE])
async def test_records_that_pass_by_need_no_room(piece: int) -> None:
    """Of a Fetch no response is collected, however long it is, and no Produce is looked at."""
    site = NoRooms(1, 1)
    client = Client(site, "192.0.2.1")
    asked = fetching.request(12, {TOPICS[0].replace("..", ":"): [0]})
    client.connection.data_received(request_frame("Fetch", 12, asked))
    await settled()
    made = fetching.response(12, {TOPICS[0]: [fetching.batch(10, 2 * MIB)]})
    data = response_frame("Fetch", 12, made)
    for at in range(0, len(data), piece):
        client.side.data_received(data[at : at + piece])
        client.transport.read(MIB)
    assert len(client.transport.got) == len(data) - 1, "the name is shorter by a byte"
    assert site.errors == []


async def test_what_comes_although_it_is_not_read_is_answered() -> None:
    """TLS may hold bytes of the broker that were read before reading stopped."""
    site = Site(1, 1)  # for one of them
    first, second = (Client(site, "192.0.2.1") for _ in range(2))
    for client in (first, second):
        client.asks()
    first.sends()
    second.side.data_received(ANSWER[:PIECE])
    assert second.broker.paused
    second.side.data_received(ANSWER[PIECE:])
    while second.transport.unread:
        second.transport.read(MIB)
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert bytes(second.transport.got) == ANSWER
    assert not second.broker.paused


async def test_a_long_response_that_is_not_read_delays_no_other_address() -> None:
    """It is longer than the address may have, and longer than all of the budget."""
    site = Site(4, 2)
    unread, *others = [Client(site, f"192.0.2.{number % 9 + 1}") for number in range(30)]
    unread.asks()
    unread.left = response(5 * MIB)
    while unread.left:
        unread.sends()
    assert unread.transport.unread
    for client in others:
        client.asks()
    await settled()
    await run(site, others, random.Random(5), 4 * MIB + len(others) * PIECE)
    assert all(bytes(each.transport.got) == ANSWER for each in others)
    assert site.reasons == []
    assert site.collected.total == 0
