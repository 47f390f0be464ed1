"""A client's connection during its login: what is written when, and which connection it becomes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.auth.exchange import AuthenticationFailed, Exchange
from gateway.auth.login import Failure, Login, Request
from gateway.cluster.link import ClusterUnreachable
from gateway.connections.closing import Guarded
from gateway.connections.connection import Connection
from gateway.connections.login_connection import LoginBroker, LoginConnection, LoginHub
from gateway.connections.signatures import Signatures
from gateway.identity import Identity
from tests.auth.logins import (
    Accepts,
    EchoExchange,
    api_versions,
    authenticate,
    handshake,
    login,
)
from tests.connections.fake_transport import FakeTransport
from tests.connections.places import place_of
from tests.waiting import eventually

ONE, TOKEN, BAD = handshake("ONE"), authenticate(b"alice"), authenticate(b"bad")


class FakeConnection:
    """Takes over the connection that it is handed."""

    def __init__(self) -> None:
        self.session = SimpleNamespace(state=SimpleNamespace(node_id=None))
        self.tenant = ("User:alice", "")
        self.transport: asyncio.BaseTransport | None = None
        self.broker: object = None
        self.received = b""
        self.lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data

    def broker_connected(self, broker: object) -> None:
        self.broker = broker

    def broker_lost(self, exc: Exception | None) -> None:
        self.lost = True


class FakeServer:
    """The part of a server that a login uses; ``broker`` is its broker connection, or the error."""

    def __init__(self, delay: float = 0.0) -> None:
        self.spoken: list[LoginConnection] = []
        self.logins = SimpleNamespace(
            left=self.left,
            spoke=self.spoken.append,
            limits=SimpleNamespace(failure_delay_seconds=delay),
            signatures=Signatures(),
        )
        self.under_way: list[LoginConnection] = []
        self.failures: list[LoginConnection] = []
        self.ends: list[tuple[str, bool]] = []
        self.errors: list[Exception | None] = []
        self.full = False
        self.broker: FakeTransport | Exception = FakeTransport()

    def arrived(self, connection: LoginConnection) -> None:
        self.under_way.append(connection)
        if self.full:
            connection.close("full")

    def left(self, connection: LoginConnection) -> None:
        self.under_way.remove(connection)

    def login_failed(self, connection: LoginConnection) -> None:
        self.failures.append(connection)

    def note_close(
        self,
        connection: LoginConnection,
        reason: str,
        *,
        quietly: bool,
        error: Exception | None = None,
    ) -> None:
        assert connection.client_address == "127.0.0.1:5000"
        self.ends.append((reason, quietly))
        self.errors.append(error)

    def spawn(self, owner: Guarded, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work)

    async def connect_login(self, connection: LoginConnection) -> None:
        if isinstance(self.broker, Exception):
            raise self.broker
        LoginBroker(connection, 2, place_of(connection)).connection_made(self.broker)


class Arrived:
    """A client that has connected."""

    def __init__(
        self, delay: float = 0.0, made: Login | None = None, *, full: bool = False
    ) -> None:
        self.server = FakeServer(delay)
        self.server.full = full
        self.transport = FakeTransport()
        self.admitted: list[FakeConnection] = []
        self.login = made or login()
        self.connection = LoginConnection(
            cast(LoginHub, self.server), "sasl", None, self.login, self._admit
        )
        self.connection.connection_made(self.transport)

    def _admit(self) -> Connection:
        self.admitted.append(FakeConnection())
        return cast(Connection, self.admitted[-1])


async def settled() -> None:
    """Wait until every task and every call that is due has run."""
    while len(asyncio.all_tasks()) > 1:
        await asyncio.sleep(0)


class SlowExchange(EchoExchange):
    """An exchange of which a part takes until ``go_on`` is set."""

    def __init__(self, go_on: threading.Event) -> None:
        super().__init__(1)
        self._go_on = go_on
        self.worked: list[bool] = []

    def work(self, token: bytes) -> Callable[[], None]:
        return lambda: self.worked.append(self._go_on.wait(120))

    def step(self, token: bytes) -> bytes:
        assert self.worked == [True]
        return super().step(token)


class SlowAccepts(Accepts):
    def __init__(self, go_on: threading.Event) -> None:
        super().__init__()
        self.exchange = SlowExchange(go_on)

    def begin(self, mechanism: str) -> Exchange:
        return self.exchange


@pytest.mark.parametrize("token", [b"alice", b"bad"])
async def test_the_slow_part_of_a_login_is_done_in_a_thread(token: bytes) -> None:
    """Only this client waits for it, and its bytes are held meanwhile."""
    go_on = threading.Event()
    client = Arrived(made=login(SlowAccepts(go_on)))
    client.connection.data_received(ONE + authenticate(token) + b"mo")
    client.connection.data_received(b"re")
    await asyncio.sleep(0)
    assert not client.admitted
    assert not client.server.failures
    go_on.set()
    await eventually(lambda: client.admitted or client.server.failures, "the outcome")
    if token == b"alice":
        assert client.admitted[0].received == b"more"
    else:
        assert not client.admitted


async def test_a_client_that_goes_away_meanwhile_is_forgotten() -> None:
    go_on = threading.Event()
    accepts = SlowAccepts(go_on)
    client = Arrived(made=login(accepts))
    client.connection.data_received(ONE + TOKEN)
    await asyncio.sleep(0)
    client.connection.connection_lost(None)
    go_on.set()
    await eventually(lambda: accepts.exchange.worked, "the end of the thread")
    await settled()
    assert not client.admitted
    assert client.server.errors == [None]


async def test_who_has_proved_it_is_handed_over() -> None:
    client = Arrived()
    client.connection.data_received(api_versions())
    assert client.transport.taken()
    client.connection.data_received(ONE + TOKEN + b"more")
    (taken,) = client.admitted
    assert client.transport.protocol is cast(object, taken)
    assert (taken.transport, taken.received) == (client.transport, b"more")
    assert client.transport.taken().endswith(b"done" + bytes(9))  # written before it was
    assert client.server.under_way == []
    assert client.server.ends == []
    assert not client.transport.closed


async def test_nothing_comes_behind() -> None:
    client = Arrived()
    client.connection.data_received(ONE + TOKEN)
    (taken,) = client.admitted
    assert taken.received == b""


async def test_a_rejection_comes_late() -> None:
    client = Arrived(delay=0.05)
    client.connection.data_received(ONE + BAD)
    assert client.transport.paused
    assert client.transport.taken()[-1:] != b""
    assert client.server.failures == [client.connection]
    client.connection.data_received(ONE + TOKEN)  # it had come already
    began = asyncio.get_running_loop().time()
    while not client.transport.closed:
        await asyncio.sleep(0.005)
    assert asyncio.get_running_loop().time() - began > 0.03
    assert b"Authentication with ONE failed: it is bad." in client.transport.written
    assert client.server.ends == [("authentication failed: ONE of 'bad': it was bad", False)]
    assert client.admitted == []
    assert client.server.under_way == []


async def test_who_does_not_wait_for_it_has_failed_all_the_same() -> None:
    client = Arrived(delay=60)
    client.connection.data_received(ONE + BAD)
    client.connection.connection_lost(None)
    assert client.server.ends == [("authentication failed: ONE of 'bad': it was bad", False)]
    assert client.server.under_way == []


async def test_a_mechanism_that_is_not_listed() -> None:
    client = Arrived()
    client.connection.data_received(handshake("GSSAPI"))
    assert client.transport.taken() == b""
    while not client.transport.closed:
        await asyncio.sleep(0)
    assert b"TWO" in client.transport.written
    (end,) = client.server.ends
    assert end == (
        "authentication failed: login: it chose a mechanism that is not enabled",
        False,
    )


async def test_a_long_name_is_cut_and_a_line_break_shown() -> None:
    client = Arrived()
    client.login.user = "a\n" + "b" * 1_000
    client.login.failed = Failure("wrong password")
    client.connection.connection_lost(None)
    client.connection._late = None
    assert len(client.connection._failure()) < 200
    assert "\n" not in client.connection._failure()


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n", TOKEN, ONE + ONE])
async def test_what_is_no_login(data: bytes) -> None:
    client = Arrived()
    client.connection.data_received(data)
    (end,) = client.server.ends
    assert end[0].startswith("client sent what is not Kafka: ")
    assert client.transport.closed
    client.connection.data_received(ONE)
    assert len(client.server.ends) == 1


async def test_one_too_many() -> None:
    client = Arrived(full=True)
    assert client.transport.closed
    assert client.server.ends == [("full", False)]
    client.connection.data_received(ONE)
    assert client.transport.written == b""


async def test_a_client_that_goes_away() -> None:
    client = Arrived()
    client.connection.data_received(ONE)
    client.connection.connection_lost(ConnectionResetError())
    assert client.server.ends == [("client closed before it had logged in", True)]
    assert client.server.under_way == []


# -- if a broker decides ----------------------------------------------------------------------


class AskingLogin(Login):
    """A login that asks a broker; ``yes`` proves it."""

    def _begin(self, handshake: Request) -> None:
        self.wants_broker = True
        self._waits = True

    def broker_ready(self) -> None:
        self.to_broker.append(b"is it alice?")

    def broker_data(self, data: bytes) -> None:
        if data == b"yes":
            self._prove(Identity("User:alice", "ONE"))
        else:
            self._reject(None, AuthenticationFailed("the broker said no"))
        self._go_on()


def asking() -> Arrived:
    return Arrived(made=AskingLogin(Accepts(), lambda _: b"", 4_096))


async def test_a_broker_is_asked_and_stays() -> None:
    client = asking()
    client.connection.data_received(ONE + b"rest")
    await settled()
    broker = client.server.broker
    assert isinstance(broker, FakeTransport)
    assert broker.taken() == b"is it alice?"
    client.connection.broker_data(b"yes")
    (taken,) = client.admitted
    assert taken.broker is broker.protocol
    assert taken.broker is not None
    assert taken.session.state.node_id == 2
    assert taken.received == b"rest"
    assert not broker.closed


async def test_a_broker_that_says_no() -> None:
    client = asking()
    client.connection.data_received(ONE)
    await settled()
    client.connection.broker_data(b"no")
    while not client.transport.closed:
        await asyncio.sleep(0)
    assert isinstance(client.server.broker, FakeTransport)
    assert client.server.broker.closed
    assert client.server.ends == [("authentication failed: ONE: the broker said no", False)]


async def test_a_broker_that_is_not_there() -> None:
    client = asking()
    client.server.broker = ClusterUnreachable("main", "nothing answers")
    client.connection.data_received(ONE)
    await settled()
    (end,) = client.server.ends
    assert end[0].startswith("no broker connection: ")
    assert client.transport.closed


@pytest.mark.parametrize(
    ("error", "reason"),
    [(None, "broker closed"), (OSError("reset"), "broker connection failed: reset")],
)
async def test_a_broker_that_goes_away(error: Exception | None, reason: str) -> None:
    client = asking()
    client.connection.data_received(ONE)
    await settled()
    client.connection.broker_lost(error)
    assert client.server.ends == [(reason, False)]


async def test_a_client_that_goes_away_takes_the_broker_with_it() -> None:
    client = asking()
    client.connection.data_received(ONE)
    client.connection.connection_lost(None)
    await settled()
    broker = client.server.broker
    assert isinstance(broker, FakeTransport)
    assert broker.closed or broker.written == b""
    assert client.admitted == []


async def test_a_broker_that_has_gone_when_it_is_handed_over() -> None:
    connection = asking().connection
    broker = LoginBroker(connection, 2, place_of(connection))
    taken = FakeConnection()
    broker.hand_over(cast(Connection, taken))
    assert taken.lost
