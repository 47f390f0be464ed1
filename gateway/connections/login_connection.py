"""A client's connection until it is known who the client is, on a listener with SASL.

It has no broker connection, and no session: what it may cost is bounded (``unauthenticated`` in
the configuration). Once the client is known its transport is handed to a Connection, which knows
nothing of SASL.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from gateway.auth.login import Login
from gateway.cluster.link import ClusterUnreachable
from gateway.connections.broker_side import BrokerSide
from gateway.connections.connection import Connection
from gateway.connections.guarding import end, guarded, reason
from gateway.connections.hub import Hub
from gateway.peers import address_text, host_text
from protocol.errors import ProtocolError

SHOWN_USER = 100
"""Characters of a claimed user name that are logged."""


class LoginConnection(asyncio.Protocol):
    """The client's side during its login. ``node_id`` is the broker it is for; None on a bootstrap
    port. ``admit`` makes the connection that takes over once the login is proved."""

    __slots__ = (
        "_admit",
        "_broker",
        "_hub",
        "_late",
        "_spoke",
        "_task",
        "_transport",
        "client_address",
        "host",
        "listener",
        "login",
        "node_id",
    )

    def __init__(
        self,
        hub: Hub,
        listener: str,
        node_id: int | None,
        login: Login,
        admit: Callable[[], Connection],
    ) -> None:
        self._hub = hub
        self.listener = listener
        self.node_id = node_id
        self.login = login
        self._admit = admit
        self.client_address = ""
        self.host = ""
        self._spoke = False
        self._transport: asyncio.Transport | None = None
        self._broker: LoginBroker | None = None
        self._task: asyncio.Task[None] | None = None
        self._late: asyncio.TimerHandle | None = None

    # -- the client's transport --------------------------------------------------------------------

    @guarded
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client connected; if there are too many, another one gives way."""
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        self.client_address = address_text(peer)
        self.host = host_text(peer)
        self._hub.arrived(self)

    @guarded
    def data_received(self, data: bytes) -> None:
        """Requests, or pieces of them."""
        if not self._spoke:
            self._spoke = True
            self._hub.admission.spoke(self)
        if self._transport is not None and self._late is None:
            self._step(lambda: self.login.data(data), "client")

    @guarded
    def connection_lost(self, exc: Exception | None) -> None:
        """The client went away (or was sent away)."""
        if self._late is not None:
            self.close(self._failure())
        else:
            self.close("client closed before it had logged in", quietly=True)

    # -- the transport of a broker that decides on the login -------------------------------------

    @guarded
    def broker_connected(self, broker: LoginBroker) -> None:
        """The broker connection is there."""
        self._broker = broker
        self._task = None
        if self._transport is None:
            broker.close()
        else:
            self._step(self.login.broker_ready, "broker")

    @guarded
    def broker_data(self, data: bytes) -> None:
        """The broker's answers, or pieces of them."""
        if self._transport is not None and self._late is None:
            self._step(lambda: self.login.broker_data(data), "broker")

    @guarded
    def broker_lost(self, exc: Exception | None) -> None:
        """The broker went away during the login."""
        if self._late is None:
            self.close(f"broker connection failed: {exc}" if exc else "broker closed")

    # -- both --------------------------------------------------------------------------------------

    def fail(self, error: Exception) -> None:
        """End both sides at once: a callback, or a task, of this login has failed."""
        transport, broker = self._transport, self._broker
        end(lambda: self.close(reason(error), error=error))
        if transport is not None:
            transport.abort()
        if broker is not None:
            broker.abort()

    def close(self, reason: str, *, quietly: bool = False, error: Exception | None = None) -> None:
        """End it, with one log line that names client and reason; with the traceback of ``error``,
        if that is why."""
        transport = self._leave()
        if transport is None:
            return
        self._hub.note_close(self, reason, quietly=quietly, error=error)
        transport.close()
        if self._broker is not None:
            self._broker.close()

    def give_way(self, reason: str) -> None:
        """End it, so that others find room."""
        self.close(reason)

    def _leave(self) -> asyncio.Transport | None:
        """The transport, if this has not been the end of it before."""
        transport, self._transport = self._transport, None
        if transport is not None:
            self._hub.admission.left(self)
            if self._late is not None:
                self._late.cancel()
            if self._task is not None:
                self._task.cancel()
        return transport

    def _step(self, step: Callable[[], None], whose: str) -> None:
        login = self.login
        try:
            step()
        except ProtocolError as error:
            self.close(f"{whose} sent what is not Kafka: {error}")
            return
        assert self._transport is not None
        if login.to_client:
            self._transport.write(b"".join(login.to_client))
            login.to_client.clear()
        if login.to_broker and self._broker is not None:
            self._broker.write(b"".join(login.to_broker))
            login.to_broker.clear()
        if login.failed is not None:
            self._fail_late()
        elif login.identity is not None:
            self._hand_over()
        elif login.wants_broker and self._broker is None and self._task is None:
            self._task = self._hub.spawn(self, self._connect())

    def _fail_late(self) -> None:
        """As Kafka does, the refusal comes a little later, so that guessing takes time."""
        assert self._transport is not None
        self._transport.pause_reading()
        self._hub.entrance.login_failed(self)
        loop = asyncio.get_running_loop()
        self._late = loop.call_later(self._hub.state.failure_delay, self._fail)

    @guarded
    def _fail(self) -> None:
        failed = self.login.failed
        assert failed is not None
        if self._transport is not None and failed.response:
            self._transport.write(failed.response)
        self.close(self._failure())

    def _failure(self) -> str:
        login = self.login
        assert login.failed is not None
        who = f" of {login.user[:SHOWN_USER]!r}" if login.user else ""
        reason = f"authentication failed: {login.mechanism or 'login'}{who}: {login.failed.reason}"
        return reason

    def _hand_over(self) -> None:
        connection = self._admit()
        transport = self._leave()
        assert transport is not None
        transport.set_protocol(connection)
        connection.connection_made(transport)
        if self._broker is not None:
            self._broker.hand_over(connection)
        if self.login.rest:
            connection.data_received(self.login.rest)

    async def _connect(self) -> None:
        try:
            await self._hub.connect_login(self)
        except (OSError, ClusterUnreachable) as error:
            self._task = None
            self.close(f"no broker connection: {error}")


class LoginBroker(asyncio.Protocol):
    """The broker's side while a broker decides on a login."""

    __slots__ = ("_client", "_transport")

    def __init__(self, client: LoginConnection) -> None:
        self._client = client
        self._transport: asyncio.Transport | None = None

    @guarded
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Connected: the login goes on."""
        self._transport = cast(asyncio.Transport, transport)
        self._client.broker_connected(self)

    @guarded
    def data_received(self, data: bytes) -> None:
        """Answers, or pieces of them."""
        self._client.broker_data(data)

    @guarded
    def connection_lost(self, exc: Exception | None) -> None:
        """The broker went away."""
        self._transport = None
        self._client.broker_lost(exc)

    def write(self, data: bytes) -> None:
        """Send what the login made."""
        if self._transport is not None:
            self._transport.write(data)

    def hand_over(self, connection: Connection) -> None:
        """The login is over: the connection goes on with the broker."""
        transport, self._transport = self._transport, None
        side = BrokerSide(connection)
        if transport is None:
            connection.broker_lost(None)
            return
        transport.set_protocol(side)
        side.connection_made(transport)

    def close(self) -> None:
        """End the broker connection."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """End it at once."""
        if self._transport is not None:
            self._transport.abort()

    def fail(self, error: Exception) -> None:
        """A callback has failed: both sides end."""
        self._client.fail(error)
