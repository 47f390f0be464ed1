"""A connection sends its broker a request of its own while the client's requests wait."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.brokers.errors import BrokerError
from gateway.connections.connection import Connection
from protocol import messages
from tests.connections.connected import FakeServer, connected, settled
from tests.session.pair import Pair, frames, response_frame
from tests.session.test_session import heartbeat

DESCRIBE = "ConsumerGroupDescribe"


def asking(connection: Connection) -> asyncio.Task[Any]:
    """The gateway's request, sent as by a session's preparation: in the connection's own task."""
    request = messages.message_class(f"{DESCRIBE}Request", 0)
    entity: Any = messages.build(request, group_ids=("app",))
    task = asyncio.create_task(connection.ask(f"{DESCRIBE}Request", 0, entity))
    connection._task = task
    return task


def answer() -> bytes:
    entity: Any = messages.build(messages.message_class(f"{DESCRIBE}Response", 0))
    return response_frame(DESCRIBE, 0, entity, 0)


async def test_where_there_is_no_broker_connection_yet_it_is_made_first() -> None:
    """In a tree, because there a node answers many requests by itself."""
    connection, server, client = connected(Pair())
    task = asking(connection)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(frames(bytes(server.broker.written))) == 1
    assert connection._task is task, "the connection waits for what asks"
    connection.broker_data(answer())
    assert (await task).groups == ()
    assert client.written == b""


async def test_the_clients_requests_wait_for_the_answer() -> None:
    connection, server, _ = connected(Pair())
    asked: list[Any] = []

    async def run() -> None:
        request = messages.message_class(f"{DESCRIBE}Request", 0)
        entity: Any = messages.build(request, group_ids=("app",))
        asked.append(await connection.ask(f"{DESCRIBE}Request", 0, entity))

    connection.interject(run)
    for _ in range(5):
        await asyncio.sleep(0)
    connection.data_received(heartbeat(1))
    assert len(frames(bytes(server.broker.written))) == 1
    connection.broker_data(answer())
    await settled()
    assert asked
    assert len(frames(bytes(server.broker.written))) == 2


async def test_a_broker_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(_: FakeServer, connection: Connection) -> None:
        raise OSError("refused")

    monkeypatch.setattr(FakeServer, "connect_broker", refused)
    connection, _, _ = connected(Pair())
    with pytest.raises(BrokerError, match="refused"):
        await asking(connection)
