"""Clients of a broker that limits the connections of an address (KIP-402), over sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from devkit.certificates import Authority
from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import Unanswered
from gateway.brokers.security import BrokerSecurity
from gateway.cluster.cluster import Cluster
from gateway.config.reach import reach_addresses
from gateway.connections import broker_room
from gateway.connections.broker_room import Limits, Place
from gateway.connections.broker_rooms import BrokerRooms
from gateway.connections.broker_sessions import open_broker
from gateway.connections.broker_side import BrokerSide
from gateway.connections.closing import GAVE_WAY, NO_ROOM
from gateway.connections.connection import Connection, Hub
from gateway.connections.tenants import NoRoom, Refused
from gateway.identity import Identity
from gateway.processes.server import Server
from gateway.virtual_brokers import Target
from protocol import messages
from tests.auth.sasl_broker import SaslBroker
from tests.brokers.test_opening import security_of
from tests.brokers.tls_broker import HOST, TlsBroker
from tests.config import config_samples
from tests.connections.connected import FakeServer
from tests.connections.fake_transport import FakeTransport
from tests.session.pair import Pair, request_frame
from tests.session.producing import batch, produce
from tests.waiting import eventually

MOST = 4


class FullBroker(TlsBroker):
    """Closes a connection beyond ``most`` when it accepts it, before TLS; ``delay`` is the throttle
    time of a rate (KIP-612)."""

    most = MOST
    delay = 0.0
    open = 0

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.open >= self.most:
            await asyncio.sleep(self.delay)
            writer.close()
            return
        self.open += 1
        try:
            await super()._serve(reader, writer)
        finally:
            self.open -= 1


class Client:
    """A client of a gateway in front of that broker."""

    def __init__(self, gateway: Gateway, name: str, request: bytes | None = None) -> None:
        self.server = FakeServer()
        self.server.connect_broker = gateway.connect  # type: ignore[method-assign]
        self.transport = FakeTransport()
        session = Pair().session
        session.state.identity = Identity(f"User:{name}")
        self.connection = Connection(cast(Hub, self.server), "test", None, session)
        self.connection.connection_made(self.transport)
        self.connection.data_received(request or api_versions())

    async def got_through(self) -> bool:
        """Whether the broker has answered, or the client was closed."""
        await eventually(lambda: self.transport.written or self.transport.closed, "an end")
        return bool(self.transport.written)


def api_versions() -> bytes:
    """The request with which clients begin."""
    request = messages.build(
        messages.message_class("ApiVersionsRequest", 4),
        client_software_name="test",
        client_software_version="1",
    )
    return request_frame("ApiVersions", 4, request)


class Gateway:
    """The part of a worker that knows the cluster."""

    def __init__(self, broker: TlsBroker, security: BrokerSecurity | None = None) -> None:
        self.cluster = Cluster("main", [(HOST, broker.port)], security=security)
        self.cluster.brokers = {1: (HOST, broker.port)}
        self.rooms = BrokerRooms(self.cluster, Limits())
        self.clients: list[Client] = []

    async def connect(self, connection: Connection) -> None:
        def take_over(node_id: int, place: Place) -> BrokerSide:
            return BrokerSide(connection, place)

        await open_broker(self.cluster, 1, take_over, self.rooms, connection)

    async def come(self, name: str, count: int = 1) -> list[Client]:
        came = [Client(self, name) for _ in range(count)]
        self.clients += came
        return [client for client in came if await client.got_through()]

    def close(self) -> None:
        for client in self.clients:
            client.connection.close("the test is over")


@pytest.fixture
async def broker() -> AsyncIterator[FullBroker]:
    async with FullBroker(SaslBroker({"gateway": "secret"})) as one:
        yield one


@pytest.fixture(autouse=True)
def idle_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_room, "IDLE_SECONDS", 0.0)


async def test_without_a_login_the_next_try_gets_through(broker: FullBroker) -> None:
    """Only the broker's end of the first connection tells it apart."""
    gateway = Gateway(broker)
    many = await gateway.come("many", MOST)
    assert len(many) == MOST
    assert await gateway.come("few") == []
    assert gateway.clients[-1].server.reasons == [f"{NO_ROOM}: {Refused()}"]
    assert gateway.clients[-1].server.loud == [False], "one line tells of all of them"
    assert many[0].server.reasons == [GAVE_WAY]
    await eventually(lambda: broker.open < MOST, "the end of the other one")
    assert await gateway.come("few")
    assert await gateway.come("other"), "now the limit is known"
    assert await gateway.come("many") == []
    (reason,) = gateway.clients[-1].server.reasons
    assert reason == "no room at the broker: User:many has 2 connections to it, its share of 4"
    gateway.close()
    await eventually(lambda: not broker.open, "the end of all")
    assert len(gateway.rooms.of(1)) == 0


async def test_with_a_login_the_first_try_gets_through(broker: FullBroker, tmp_path: Path) -> None:
    gateway = Gateway(broker, security_of("SASL_PLAINTEXT", tmp_path, mechanism="PLAIN"))
    many = await gateway.come("many", MOST + 2)
    assert len(many) == MOST
    assert await gateway.come("few", 2)
    assert [each.server.reasons for each in many[:2]] == [[GAVE_WAY], [GAVE_WAY]]
    gateway.close()
    await eventually(lambda: not broker.open, "the end of all")
    assert len(gateway.rooms.of(1)) == 0


async def test_with_tls_it_is_tried_again(tmp_path: Path) -> None:
    """The limit is before TLS, so a connection that the broker closes has not begun the
    handshake."""
    ca = Authority(tmp_path / "ca")
    closed = 0

    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal closed
        closed += 1
        writer.close()

    async with (
        FullBroker(SaslBroker({}), ca.server()) as broker,
        await asyncio.start_server(close, HOST, 0) as full,
    ):
        gateway = Gateway(broker, security_of("SSL", tmp_path, ca=ca.file))
        many = await gateway.come("many", MOST)
        assert len(many) == MOST
        gateway.cluster.brokers = {1: full.sockets[0].getsockname()}
        assert await gateway.come("few") == []
        assert (closed, gateway.rooms.of(1).refused) == (2, 2)
        assert many[0].server.reasons == [GAVE_WAY]
        gateway.cluster.brokers = {1: (HOST, broker.port)}
        await eventually(lambda: broker.open < MOST, "the end of the one that gave way")
        assert await gateway.come("few")
        gateway.close()
        await eventually(lambda: not broker.open, "the end of all")


async def test_a_rate_closes_nobody(
    broker: FullBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker_room, "AT_ONCE_SECONDS", 0.1)
    broker.delay = 0.2
    gateway = Gateway(broker, security_of("SASL_PLAINTEXT", tmp_path, mechanism="PLAIN"))
    many = await gateway.come("many", MOST)
    assert await gateway.come("few") == []
    (reason,) = gateway.clients[-1].server.reasons
    assert reason.startswith(f"{NO_ROOM}: broker 1 ")
    assert not any(each.transport.closed for each in many)
    gateway.close()


async def test_the_gateways_own_finds_room(broker: FullBroker) -> None:
    gateway = Gateway(broker)
    many = await gateway.come("many", MOST)
    with pytest.raises(Unanswered):
        await BrokerConnection.connect(
            HOST, broker.port, timeout=60, security=gateway.cluster.security
        )
    assert many[0].server.reasons == [GAVE_WAY]
    await eventually(lambda: broker.open < MOST, "the end of the one that gave way")
    connection = await BrokerConnection.connect(HOST, broker.port, timeout=60)
    connection.close()
    gateway.close()


async def test_a_client_that_leaves_is_not_refused(broker: FullBroker) -> None:
    gateway = Gateway(broker)
    (client,) = await gateway.come("one")
    client.connection.connection_lost(None)
    left = Client(gateway, "one")
    await asyncio.sleep(0)
    left.connection.connection_lost(ConnectionResetError())
    await eventually(lambda: not broker.open, "the end of both")
    room = gateway.rooms.of(1)
    assert (len(room), room.refused) == (0, 0)


async def test_a_setting_is_kept_whatever_the_broker_takes(broker: FullBroker) -> None:
    gateway = Gateway(broker)
    gateway.rooms = BrokerRooms(gateway.cluster, Limits(most=2))
    assert len(await gateway.come("many", 2)) == 1
    assert len(await gateway.come("few")) == 1
    with pytest.raises(NoRoom):
        gateway.rooms.of(1).enter(Client(gateway, "many").connection)
    assert broker.connections == 2
    gateway.close()


async def test_only_what_brokers_answer_at_once_is_awaited(broker: FullBroker) -> None:
    """A JoinGroup that waits for members, or a Produce for replicas, shows nothing about its
    broker."""
    gateway = Gateway(broker)
    broker.silent = True
    versions = Client(gateway, "one").connection
    assert versions.awaits_answer, "there is no connection yet"
    await eventually(lambda: broker.open == 1, "the connection")
    await eventually(lambda: versions.session.first, "the request")
    assert versions.awaits_answer
    for name, request in (
        ("Produce", produce({"orders": [batch(1)]})),
        ("JoinGroup", messages.build(messages.message_class("JoinGroupRequest", 9), group_id="a")),
    ):
        client = Client(gateway, "other", request_frame(name, 9, request))
        await eventually(lambda: client.connection.session.first, name)  # noqa: B023
        assert not client.connection.awaits_answer
        gateway.clients.append(client)
    versions.close("the test is over")
    gateway.close()


class Worker:
    """A whole worker, whose clients come to a listener without a login, so that an address is a
    tenant."""

    def __init__(self, directory: Path, broker: FullBroker) -> None:
        config = config_samples.config(directory)
        self.server = Server(config)
        cluster = self.server.served[0].cluster
        cluster.brokers, cluster.reachable = {1: (HOST, broker.port)}, True
        self._listener = config.listeners[0]
        self._target = Target("", reach_addresses(config, self._listener).bootstrap.addresses, None)

    async def comes(self, host: str) -> FakeTransport:
        """A client that gets through, or is closed."""
        made = self.server.clients.admission.accept(self._listener, self._target)
        assert isinstance(made, Connection)
        client = FakeTransport()
        client._extra["peername"] = (host, 5_000)  # type: ignore[attr-defined]
        made.connection_made(client)
        made.data_received(api_versions())
        await eventually(lambda: client.written or client.closed, "an end")
        return client


async def test_a_whole_worker(
    broker: FullBroker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    worker = Worker(tmp_path, broker)
    idle = [await worker.comes("10.0.0.1") for _ in range(MOST)]
    assert not any(client.closed for client in idle)
    broker.most = 0
    assert (await worker.comes("10.0.0.2")).closed
    assert idle[0].closed
    report = worker.server.collect()
    assert ("broker_refusals", ("main", "closed"), 1) in report.rows
    assert ("closes", (NO_ROOM,), 1) in report.rows
    assert ("closes", (GAVE_WAY,), 1) in report.rows
    assert (report.gauges["refusing_brokers"], report.gauges["locked_out"]) == (0, 0)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    broker.most = MOST
    await eventually(lambda: broker.open < MOST, "the end of the one that gave way")
    assert not (await worker.comes("10.0.0.2")).closed
    assert worker.server.collect().gauges["locked_out"] == 0
    await worker.server.clients.stop()
    await eventually(lambda: not broker.open, "the end of all")
    assert len(worker.server.clients.rooms[""].of(1)) == 0
