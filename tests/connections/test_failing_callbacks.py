"""A callback that fails ends its connection, on both sides, and raises no error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

import pytest

from gateway.connections.broker_side import BrokerSide
from gateway.connections.closing import INTERNAL, guard, guarded
from gateway.connections.connection import Connection, Hub
from gateway.connections.login_connection import LoginBroker, LoginConnection, LoginHub
from gateway.session.session import Session
from tests.connections import test_login_connection as logins
from tests.connections.connected import FakeServer, connected, settled
from tests.connections.fake_transport import FakeTransport
from tests.connections.places import place_of
from tests.session.pair import Pair
from tests.session.test_session import heartbeat


class Defect(Exception):
    """An error that no code expects."""


def fails(*_: object, **__: object) -> Any:
    raise Defect("a client's bytes")


class Owner:
    """An object with callbacks."""

    def __init__(self) -> None:
        self.errors: list[Exception] = []

    def fail(self, error: Exception) -> None:
        self.errors.append(error)

    @guarded
    def callback(self, number: int, *, right: bool) -> None:
        """One of them."""
        if not right:
            raise Defect(number)


def test_the_owner_of_a_callback_gets_what_it_raises() -> None:
    owner = Owner()
    owner.callback(1, right=True)
    assert owner.errors == []
    owner.callback(2, right=False)
    guard(owner, fails)
    assert [type(error) for error in owner.errors] == [Defect, Defect]
    assert owner.callback.__doc__ == "One of them."


async def serving() -> tuple[Connection, FakeServer, FakeTransport, BrokerSide]:
    """A connection with a request at its broker."""
    connection, server, client = connected(Pair())
    connection.data_received(heartbeat(1))
    await settled()
    broker = connection._broker
    assert broker is not None
    return connection, server, client, broker


CALLBACKS: dict[str, tuple[str, Callable[[Connection, BrokerSide], None]]] = {
    "requests": ("Session.client_data", lambda client, _: client.data_received(heartbeat(2))),
    "writing requests": ("Connection._flush", lambda client, _: client.data_received(heartbeat(2))),
    "responses": ("Session.broker_data", lambda _, broker: broker.data_received(b"x")),
    "writing responses": ("Connection._flush", lambda _, broker: broker.data_received(b"")),
    "a slow client": ("Connection._balance", lambda client, _: client.pause_writing()),
    "a client no longer slow": ("Connection._balance", lambda client, _: client.resume_writing()),
    "a slow broker": ("Connection._balance", lambda _, broker: broker.pause_writing()),
    "a broker no longer slow": ("Connection._balance", lambda _, broker: broker.resume_writing()),
    "an interlude": ("Session.interject", lambda client, _: client.interject(fails)),
    "a drain": ("Session.finish", lambda client, _: client.finish()),
}


@pytest.mark.parametrize("what", CALLBACKS)
async def test_both_sides_end(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    connection, server, client, broker = await serving()
    place, call = CALLBACKS[what]
    owner, _, method = place.partition(".")
    monkeypatch.setattr({"Session": Session, "Connection": Connection}[owner], method, fails)
    call(connection, broker)
    assert (client.closed, server.broker.closed) == (True, True)
    assert server.reasons == [f"{INTERNAL}: Defect"], "which does not show what a client sent"
    (error,) = server.errors
    assert isinstance(error, Defect)
    connection.connection_lost(None)
    broker.connection_lost(None)
    assert server.gone == [connection]


@pytest.mark.parametrize("side", ["client", "broker"])
async def test_an_end_that_fails_is_an_end(monkeypatch: pytest.MonkeyPatch, side: str) -> None:
    connection, server, client, broker = await serving()
    if side == "client":
        monkeypatch.setattr(Connection, "_linger", fails)
        connection.connection_lost(None)
    else:
        monkeypatch.setattr(Session, "quiet", property(fails))
        broker.connection_lost(None)
        connection.connection_lost(None)
    assert (client.closed, server.gone) == (True, [connection])
    assert server.broker.closed or side == "broker"


async def test_a_client_that_cannot_be_admitted_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    server, client = FakeServer(), FakeTransport()
    monkeypatch.setattr(server, "opened", fails)
    Connection(cast(Hub, server), "test", None, Pair().session).connection_made(client)
    assert client.closed
    assert server.reasons == [f"{INTERNAL}: Defect"]


async def test_the_first_request_fails_once_the_broker_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the callback of the broker's connection, for which no client waits."""
    connection, server, client = connected(Pair())
    connection.data_received(heartbeat(1))
    monkeypatch.setattr(Session, "client_data", fails)
    await settled()
    assert (client.closed, server.broker.closed) == (True, True)
    assert server.reasons == [f"{INTERNAL}: Defect"]


async def test_even_where_it_cannot_be_closed_as_others_are(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    connection, server, client, _ = await serving()
    monkeypatch.setattr(Session, "broker_data", fails)
    monkeypatch.setattr(server, "note_close", fails)
    connection.broker_data(b"x")
    assert (client.closed, server.broker.closed) == (True, True)
    assert "could not be closed" in caplog.text


LOGIN_CALLBACKS: dict[str, Callable[[LoginConnection], None]] = {
    "a request": lambda login: login.data_received(b"x"),
    "the broker's answer": lambda login: login.broker_data(b"x"),
}


@pytest.mark.parametrize("what", LOGIN_CALLBACKS)
async def test_a_login_ends(what: str) -> None:
    server = logins.FakeServer()
    login = cast(Any, type("Login", (), {"data": fails, "broker_data": fails}))
    connection = LoginConnection(cast(LoginHub, server), "test", None, login, fails)
    client = FakeTransport()
    connection.connection_made(client)
    broker, at_broker = LoginBroker(connection, 2, place_of(connection)), FakeTransport()
    broker._transport = at_broker
    connection._broker = broker
    LOGIN_CALLBACKS[what](connection)
    assert (client.closed, at_broker.closed) == (True, True)
    assert server.ends == [(f"{INTERNAL}: Defect", False)]
    assert server.under_way == []


async def test_a_login_that_cannot_be_handed_over_ends() -> None:
    server, client = logins.FakeServer(), FakeTransport()
    values = {
        "data": lambda _: None,
        "to_client": [],
        "to_broker": [],
        "failed": None,
        "identity": object(),
    }
    login = cast(Any, type("Login", (), values))
    connection = LoginConnection(cast(LoginHub, server), "test", None, login, fails)
    connection.connection_made(client)
    connection.data_received(b"x")
    assert client.closed
    assert server.ends == [(f"{INTERNAL}: Defect", False)]
    assert server.under_way == []


async def test_lingering_ends_with_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    connection, server, _, broker = await serving()
    broker.linger()
    connection.connection_lost(None)
    monkeypatch.setattr(Session, "owing", property(fails))
    monkeypatch.setattr(Session, "broker_data", lambda *_: None)
    broker.data_received(b"x")
    assert server.broker.closed
    assert not broker.lingering
    assert connection in server.gone
    await asyncio.sleep(0)
