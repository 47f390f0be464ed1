"""A connection between two fake transports, in a fake worker."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, cast

from gateway.connections.broker_side import BrokerSide, Lingering
from gateway.connections.clients import Clients
from gateway.connections.closing import Guarded
from gateway.connections.connection import Connection, Hub, Waiting
from gateway.connections.doubts import Doubts
from gateway.connections.tasks import Tasks
from gateway.exchanges.exchange import Refresh
from gateway.exchanges.framing import Watcher
from gateway.session.session import Session
from gateway.slices import Turns
from tests.connections.fake_transport import FakeTransport
from tests.connections.places import place_of
from tests.session.pair import Pair


class FakeServer:
    """The part of a server that a connection uses; its broker takes everything."""

    def __init__(self) -> None:
        self.busy: set[Connection] = set()
        self.reasons: list[str] = []
        self.loud: list[bool] = []
        self.errors: list[Exception | None] = []
        self.gone: list[Connection] = []
        self.refreshed: list[Refresh] = []
        self.broker = FakeTransport()
        self.broker_heard = False
        self.lingering = Lingering(most=1)
        self.turns = Turns()
        self.doubts = Doubts(self.turns, Tasks())
        self.held = 0
        self.reauthentications: list[tuple[Connection, bool]] = []
        self.expired: list[Connection] = []

    def reauthenticated(self, connection: Connection) -> None:
        transport = connection._transport
        assert isinstance(transport, FakeTransport)
        self.reauthentications.append((connection, bool(transport.written)))
        state = connection.session.state
        if state.reauth is not None and state.reauth.identity is not None:
            state.identify(state.reauth.identity, state.access)
            state.reauth = None

    def session_expired(self, connection: Connection) -> None:
        self.expired.append(connection)

    def holds_more(self, connection: Connection, change: int) -> None:
        self.held += change

    def collects(self, connection: Connection, size: int) -> Watcher:
        raise AssertionError("a response needs room")

    def taken(self, connection: Connection) -> None:
        pass

    def resumed(self, connection: Connection) -> None:
        pass

    def answered(self, connection: Connection) -> None:
        pass

    def opened(self, connection: Connection, transport: asyncio.BaseTransport) -> None:
        pass

    def closed(self, connection: Connection) -> None:
        self.gone.append(connection)

    def note_close(
        self,
        connection: Connection,
        reason: str,
        *,
        quietly: bool,
        error: Exception | None = None,
    ) -> None:
        self.reasons.append(reason)
        self.loud.append(not quietly)
        self.errors.append(error)

    def spawn(self, owner: Guarded, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work)

    async def connect_broker(self, connection: Connection) -> None:
        BrokerSide(connection, place_of(connection)).connection_made(self.broker)

    async def carry_out(self, connection: Connection, work: Waiting) -> bytes | None:
        return await self.perform(connection.session, work)

    async def perform(self, session: Session, work: Waiting) -> bytes | None:
        return await Clients.perform(cast(Clients, self), session, work)

    async def _refresh(self, state: object, what: Refresh) -> None:
        self.refreshed.append(what)


def connected(pair: Pair) -> tuple[Connection, FakeServer, FakeTransport]:
    server, client = FakeServer(), FakeTransport()
    connection = Connection(cast(Hub, server), "test", None, pair.session)
    connection.connection_made(client)
    return connection, server, client


async def settled() -> None:
    """Wait until every task that was spawned has run."""
    while len(asyncio.all_tasks()) > 1:
        await asyncio.sleep(0)
