"""A client's connection until it has authenticated, on a listener with SASL.

It has no session, and a broker connection only if a broker decides on the login. Its cost is
bounded (``unauthenticated`` in the configuration). When the client has authenticated, its transport
is handed to a Connection, which knows nothing of SASL.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Protocol, cast

from gateway.auth.login import Login
from gateway.connections.base import BaseConnection, BaseHub
from gateway.connections.broker_room import Place
from gateway.connections.broker_side import BrokerSide
from gateway.connections.closing import NO_ROOM, guarded
from gateway.connections.connection import Connection
from gateway.connections.logins import Logins
from gateway.connections.tenants import Refused, Tenant, tenant_of
from gateway.connections.transports import close
from gateway.identity import ANONYMOUS
from protocol.errors import ProtocolError

SHOWN_USER = 100
"""Characters of a claimed user name that are logged."""


class LoginHub(BaseHub, Protocol):
    """The worker that a login belongs to: ``clients.Clients``, which makes logins. Tests fill it
    in, because a login is tested without a worker's listeners."""

    logins: Logins

    def arrived(self, login: LoginConnection) -> None: ...
    def login_failed(self, login: LoginConnection) -> None: ...
    async def connect_login(self, login: LoginConnection) -> None: ...


class LoginConnection(BaseConnection):
    """The client's side of a connection during its login. ``admit`` makes the connection that takes
    over once the client has authenticated."""

    __slots__ = ("_admit", "_broker", "_late", "_spoke", "login")

    _hub: LoginHub

    def __init__(
        self,
        hub: LoginHub,
        listener: str,
        node_id: int | None,
        login: Login,
        admit: Callable[[], Connection],
    ) -> None:
        super().__init__(hub, listener, node_id)
        self.login = login
        self._admit = admit
        self._broker: LoginBroker | None = None
        self._spoke = False
        self._late: asyncio.TimerHandle | None = None

    # -- the client's transport --------------------------------------------------------------------

    @guarded
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note that a client has connected; above the limit for logins, another client gives
        way."""
        self.take_over(transport)
        self._hub.arrived(self)

    @guarded
    def data_received(self, data: bytes) -> None:
        """Take requests, or pieces of them."""
        if not self._spoke:
            self._spoke = True
            self._hub.logins.spoke(self)
        if self._transport is not None and self._late is None:
            self._step(lambda: self.login.data(data), "client")

    @guarded
    def connection_lost(self, exc: Exception | None) -> None:
        """Close the login of a client that has closed the connection, or was rejected."""
        if self._late is not None:
            self.close(self._failure())
        else:
            self.close("client closed before it had logged in", quietly=True)

    # -- the transport of a broker that decides on the login -------------------------------------

    @guarded
    def broker_connected(self, broker: LoginBroker) -> None:
        """Go on with the login, now that the broker connection is open."""
        self._broker = broker
        self._task = None
        if self._transport is None:
            broker.close()
        else:
            self._step(self.login.broker_ready, "broker")

    @guarded
    def broker_data(self, data: bytes) -> None:
        """Take the broker's responses, or pieces of them."""
        if self._transport is not None and self._late is None:
            self._step(lambda: self.login.broker_data(data), "broker")

    @guarded
    def broker_lost(self, exc: Exception | None) -> None:
        """Close the login, because the broker has closed its connection."""
        if self._late is None:
            if isinstance(exc, Refused):
                self.close(f"{NO_ROOM}: {exc}", quietly=True)
            else:
                self.close(f"broker connection failed: {exc}" if exc else "broker closed")

    # -- both --------------------------------------------------------------------------------------

    def close(self, reason: str, *, quietly: bool = False, error: Exception | None = None) -> None:
        """See :meth:`BaseConnection.close`."""
        transport = self._leave()
        if transport is None:
            return
        self._hub.note_close(self, reason, quietly=quietly, error=error)
        close(transport)
        if self._broker is not None:
            self._broker.close()

    @property
    def tenant(self) -> Tenant:
        """The tenant that the connection counts for at its broker: the client's address, before the
        login."""
        return tenant_of(ANONYMOUS.principal, self.host)

    @property
    def idle(self) -> bool:
        """False: a login is under way."""
        return False

    @property
    def awaits_answer(self) -> bool:
        """True: brokers answer each step of a login at once."""
        return True

    def _abort_broker(self) -> None:
        if self._broker is not None:
            self._broker.abort()

    def _leave(self) -> asyncio.Transport | None:
        """End the login, and return the client's transport, or None if the login had ended
        before."""
        transport, self._transport = self._transport, None
        if transport is not None:
            self._hub.logins.left(self)
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
        elif login.work is not None:
            if self._task is None:
                self._task = self._hub.spawn(self, self._verify(login.work))
        elif login.wants_broker and self._broker is None and self._task is None:
            self._task = self._hub.spawn(
                self, self._connect(partial(self._hub.connect_login, self))
            )

    async def _verify(self, work: Callable[[], None]) -> None:
        """Have a token's signature verified in a thread, then go on with the login."""
        await self._hub.logins.signatures.run(self.host, work)
        self._task = None
        if self._transport is not None:
            self._step(self.login.worked, "client")

    def _fail_late(self) -> None:
        """Reject the login a little later, as Kafka does, so that guessing passwords takes time."""
        assert self._transport is not None
        self._transport.pause_reading()
        self._hub.login_failed(self)
        loop = asyncio.get_running_loop()
        self._late = loop.call_later(self._hub.logins.limits.failure_delay_seconds, self._fail)

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


class LoginBroker(asyncio.Protocol):
    """The broker's side of a connection while a broker decides on the login."""

    __slots__ = ("_client", "_node_id", "_place", "_transport")

    def __init__(self, client: LoginConnection, node_id: int, place: Place) -> None:
        self._client = client
        self._node_id = node_id
        self._place = place
        self._transport: asyncio.Transport | None = None

    @guarded
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Go on with the login now that the broker connection is open."""
        self._transport = cast(asyncio.Transport, transport)
        self._client.broker_connected(self)

    @guarded
    def data_received(self, data: bytes) -> None:
        """Take the broker's responses, or pieces of them."""
        self._place.heard()
        self._client.broker_data(data)

    @guarded
    def connection_lost(self, exc: Exception | None) -> None:
        """Close the login, because the broker has closed its connection."""
        closed_here, self._transport = self._transport is None, None
        if not closed_here and not self._place.answered and self._place.is_new:
            self._place.refused()
            exc = Refused()
        self._place.leave()
        self._client.broker_lost(exc)

    def write(self, data: bytes) -> None:
        """Send the login's requests to the broker."""
        if self._transport is not None:
            self._transport.write(data)

    def hand_over(self, connection: Connection) -> None:
        """Hand the broker connection over to ``connection`` when the login is over."""
        transport, self._transport = self._transport, None
        connection.session.state.node_id = self._node_id
        side = BrokerSide(connection, self._place)
        if transport is None:
            connection.broker_lost(None)
            return
        self._place.hand_over(connection)
        transport.set_protocol(side)
        side.connection_made(transport)

    def close(self) -> None:
        """Close the broker connection."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close the broker connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def fail(self, error: Exception) -> None:
        """Close both sides after a callback has failed."""
        self._client.fail(error)
