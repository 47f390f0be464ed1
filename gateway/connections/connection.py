"""One client connection and its broker connection, as callbacks on the event loop.

Callback protocols, no streams: no task, timer or timeout per request. The broker connection is
made when the client's first bytes arrive, so that health checks and port scans cost the broker
nothing. What one side cannot take stops the reading of the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

from gateway.brokers.errors import BrokerError
from gateway.cluster.link import ClusterUnreachable
from gateway.connections.base import BaseConnection, BaseHub
from gateway.connections.broker_side import LINGER_SECONDS, BrokerSide, Lingering
from gateway.connections.closing import (
    LEFT_TOO_LONG,
    NO_ROOM,
    NOT_ANY_MORE,
    SESSION_EXPIRED,
    guarded,
)
from gateway.connections.doubts import Doubts
from gateway.connections.tenants import Refused, Tenant, tenant_of
from gateway.connections.transports import WRITE_HIGH, close, half_close, write
from gateway.exchanges.exchange import (
    Exchange,
    Interlude,
    Prepare,
    Refresh,
    Turn,
    Unanswerable,
    Work,
)
from gateway.session import own_requests
from gateway.session.deciding import Deciding
from gateway.session.expiry import SessionExpired
from gateway.session.naming import may_leave_behind
from gateway.session.session import Session
from gateway.slices import Budget, Turns, in_slices
from gateway.views.access import Access
from protocol.errors import ProtocolError

DRAINED: Final = "drained"

Waiting: TypeAlias = Refresh | Prepare | Work | Interlude | Turn | Deciding
"""Work that a session waits for before it decides the next request."""


class Hub(BaseHub, Protocol):
    """The worker that a connection is in. ``busy`` holds those with flows since the last
    collection, ``broker_heard`` is True once a broker has sent anything."""

    turns: Turns
    doubts: Doubts
    lingering: Lingering
    busy: set[Connection]
    broker_heard: bool

    def opened(self, connection: Connection, transport: asyncio.BaseTransport) -> None: ...
    def closed(self, connection: Connection) -> None: ...
    def reauthenticated(self, connection: Connection) -> None: ...
    def session_expired(self, connection: Connection) -> None: ...
    def heard(self, connection: Connection) -> None: ...
    def holds_more(self, connection: Connection, change: int) -> None: ...
    async def connect_broker(self, connection: Connection) -> None: ...
    async def perform(self, session: Session, work: Waiting) -> bytes | None: ...


class Connection(BaseConnection):
    """The client's side, once the client is known. ``closing``: it drains."""

    __slots__ = (
        "_broker_full",
        "_client_full",
        "_connects_to_ask",
        "_early",
        "_gone",
        "_left",
        "_paused",
        "_restoring",
        "_unread",
        "closing",
        "session",
    )

    _hub: Hub
    _broker: BrokerSide | None

    def __init__(self, hub: Hub, listener: str, node_id: int | None, session: Session) -> None:
        super().__init__(hub, listener, node_id)
        self.session = session
        self.closing = False
        self._restoring: asyncio.Task[None] | None = None
        self._early: bytes = b""
        self._gone = False
        # It left before there was a broker connection for what it had sent.
        self._left: asyncio.TimerHandle | None = None
        self._connects_to_ask = False
        self._paused = False
        self._client_full = False
        self._unread = False  # it sends, and does not read
        self._broker_full = False

    # -- the client's transport ---------------------------------------------------------------

    @guarded
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Admit the client; nothing is sent to a broker yet."""
        self.take_over(transport).set_write_buffer_limits(WRITE_HIGH)
        self.session.state.source.client_address = self.client_address
        self.session.state.host = self.host
        self._hub.opened(self, transport)

    def data_received(self, data: bytes) -> None:
        """Requests, or pieces of them. Until there is a broker connection they are kept."""
        try:
            if self._broker is None:
                if self.session.state.tree is None:
                    self._early += data
                    self._hub.holds_more(self, len(data))
                    self._begin_connecting()
                    return
                self._hub.heard(self)
            self.session.client_data(data)
            self._flush()
            if self._client_full or self.session.saturated:
                self._unread = self._client_full
                self._balance()
            if self.closing:
                self._close_if_drained()
        except ProtocolError as error:
            self._reject(error)
        except Exception as error:  # noqa: BLE001 - see ``closing``
            self.fail(error)

    def _begin_connecting(self) -> None:
        if self._task is None:
            self._task = self._hub.spawn(
                self, self._connect(partial(self._hub.connect_broker, self))
            )
        self._balance()

    def holds_more(self, change: int) -> None:
        """The session holds so many bytes more, or less, of a request that is incomplete."""
        self._hub.holds_more(self, change)

    @property
    def _heard(self) -> bool:
        """Whether the client has sent anything."""
        state = self.session.state
        counted = state.flows is not None or state.earlier is not None
        return bool(self._broker is not None or self._early or self._task or counted)

    @guarded
    def connection_lost(self, exc: Exception | None) -> None:
        """The client closed the connection, or the gateway did."""
        self._gone = True
        if exc is not None:
            self._drop_task()
        if self._transport is not None:  # else it was closed here
            self._linger()
            if exc is not None:
                # Load balancers look whether a port is open, and reset what they have opened.
                self.close(f"client connection failed: {exc}", quietly=not self._heard)
            elif self.session.mid_request:
                self.close("client closed in the middle of a request")
            else:
                self.close("client closed", quietly=True)
        if not self._left and (self._broker is None or not self._broker.lingering):
            self._hub.closed(self)

    def _linger(self) -> None:
        """Let the broker's side go on until it has carried out what the client has left behind, if
        it has: if there is no broker connection yet, once there is."""
        if self._broker is None:
            early = may_leave_behind(self._early)
            unsent = early or self.session.to_broker or self.session.owing
            if unsent and self._task is not None and self._left is None:
                loop = asyncio.get_running_loop()
                self._left = loop.call_later(LINGER_SECONDS, self.reset, LEFT_TOO_LONG)
                self._hub.lingering.add(self)
        elif not self._broker.lingering:
            self._broker.prove()
            if self.session.owing:
                self._hub.lingering.add(self)
                self._broker.linger()

    def _go_on_alone(self) -> None:
        """The client has left: what it had sent goes to the broker connection that is there now, or
        is done without one. It ends when nothing is to be done any more."""
        if self._task is not None or self.session.waiting is not None:
            return
        self._is_left_no_more()
        if self._broker is not None:
            self._linger()
            if self._broker.lingering:
                return
            self._broker.close()
        self.lingered()

    def _is_left_no_more(self) -> None:
        left, self._left = self._left, None
        if left is not None:
            left.cancel()

    @guarded
    def pause_writing(self) -> None:
        """The client reads slowly: read less from the broker."""
        self._client_full = True
        self._balance()

    @guarded
    def resume_writing(self) -> None:
        self._client_full = self._unread = False
        self._balance()

    # -- the broker's transport ---------------------------------------------------------------

    @guarded
    def broker_connected(self, broker: BrokerSide) -> None:
        """The broker connection is there: send what has come so far."""
        self._broker = broker
        if not self._connects_to_ask:
            self._task = None
        early, self._early = self._early, b""
        self._hub.holds_more(self, -len(early))
        if self._transport is None and not self._left:
            broker.close()
        elif early:
            self.data_received(early)
        elif self.session.to_broker:
            self._flush()
        if self._left:
            self._go_on_alone()
        self._balance()

    def broker_data(self, data: bytes) -> None:
        """Responses, or pieces of them."""
        self._hub.broker_heard = True
        try:
            self.session.broker_data(data)
            self._flush()
            if self.session.restoring is not None and self._restoring is None:
                self._restoring = self._hub.spawn(self, self._restore())
                self._balance()
            if self._paused:
                self._balance()
            if self.closing:
                self._close_if_drained()
        except ProtocolError as error:
            self._reject(error, client=self.session.reading_client)
        except Exception as error:  # noqa: BLE001 - see ``closing``
            self.fail(error)

    @guarded
    def broker_full(self, full: bool) -> None:
        """The broker reads slowly, or has caught up."""
        self._broker_full = full
        self._balance()

    @guarded
    def broker_lost(self, exc: Exception | None) -> None:
        """The broker closed the connection: so does the gateway, and the client reconnects."""
        reauth = self.session.state.reauth
        if reauth is not None and reauth.failed is not None:
            return  # a broker closes at once when it rejects a login; the client hears it later
        if isinstance(exc, Refused):
            self.close(f"{NO_ROOM}: {exc}", quietly=True)
            return
        reason = f"broker connection failed: {exc}" if exc else "broker closed"
        self.close(reason, quietly=not exc and self.session.quiet)

    @guarded
    def interject(self, run: Callable[[], Awaitable[None]]) -> None:
        """Let the gateway do something of its own at the broker, between two requests: requests
        that come meanwhile wait. A BrokerError that it raises closes the connection."""
        if self._transport is not None:
            self.session.interject(Interlude(run))
            self._flush()

    async def ask(self, name: str, version: int, entity: Any) -> Any:
        """The response entity to a request of the gateway's own (``name`` is Kafka's), while the
        client's requests wait for it. In a tree there may be no broker connection yet. Raises
        BrokerError."""
        if self._broker is None:
            self._connects_to_ask = True
            try:
                await self._hub.connect_broker(self)
            except (OSError, ClusterUnreachable) as error:
                raise BrokerError(str(error)) from None
            finally:
                self._connects_to_ask = False
        return await own_requests.ask(self.send_own, name, version, entity)

    def send_own(self, exchange: Exchange, request: bytes) -> None:
        """During that: send a request frame of the gateway's own; see ``Session.ask``."""
        self.session.ask(exchange, request)
        self._flush()

    @guarded
    def see(self, access: Access, budget: Budget) -> None:
        """Go on with another access: the catalog has changed. If something in flight is not allowed
        any more the connection ends before the broker does it, as far as it has not begun. What
        the ``budget`` has no time for is checked later."""
        if not self.session.see(access, budget):
            self._end_denied()
        elif self.session.doubted:
            self._doubt()

    def _doubt(self) -> None:
        self._hub.doubts.add(self, self.session, self._end_denied)

    def _end_denied(self) -> None:
        self.reset(NOT_ANY_MORE)

    @guarded
    def prove(self) -> None:
        """See ``Requests.prove``."""
        if self.session.prove():
            self._flush()

    @property
    def tenant(self) -> Tenant:
        """Whose connection it is."""
        return tenant_of(self.session.state.identity.principal, self.host)

    @property
    def idle(self) -> bool:
        """Whether it may give way: nothing is under way, and nothing waits for the client."""
        return self.session.idle and self._task is None and not self._client_full

    @property
    def awaits_answer(self) -> bool:
        """Whether it has no broker connection yet, or a request is under way that brokers answer as
        soon as they read it."""
        return self._broker is None or self.session.awaits_answer

    def give_way(self, reason: str) -> None:
        """Close it, so that others find room."""
        self.close(reason, quietly=True)

    def used(self) -> None:
        """Note that the connection was in use lately."""
        if self._broker is not None:
            self._broker.used()

    @property
    def read_slowly(self) -> bool:
        """Whether so much waits for the client to read it that the broker is not read."""
        return self._client_full

    @guarded
    def drop_client(self, reason: str) -> None:
        """Close the client's side; the broker's goes on until it has carried out what there is."""
        transport = self._transport
        if transport is not None:
            self._linger()
            self.close(reason)
            transport.abort()

    def reset(self, reason: str, *, quietly: bool = False) -> None:
        """Close the connection; the broker drops what it has not begun with."""
        if self._transport is None:
            self._report_left(reason, quietly=quietly)
            quietly = True
        if self._broker is not None:
            self._broker.reset()
        self.close(reason, quietly=quietly)

    @guarded
    def finish(self, *, waits: bool = True) -> None:
        """Drain: read no more requests; close as soon as those under way are answered; unless it
        ``waits``, but for those that a broker may hold back."""
        self.closing = True
        if self._left:
            return  # its client would not send it again
        self.session.finish(waits=waits)
        self._balance()
        self._close_if_drained()

    def _close_if_drained(self) -> None:
        if self.closing and self.session.quiet:
            self.close(DRAINED, quietly=True)

    def fail(self, error: Exception) -> None:
        """See :meth:`BaseConnection.fail`."""
        super().fail(error)
        if self._gone:
            self._hub.closed(self)

    def close(self, reason: str, *, quietly: bool = False, error: Exception | None = None) -> None:
        """See :meth:`BaseConnection.close`."""
        if self.session.state.flows is not None:
            self._hub.busy.add(self)  # the reason may be counted there
        transport, self._transport = self._transport, None
        if transport is None:
            self._report_left(reason, quietly=quietly, error=error)
            if self._left:
                self._is_left_no_more()
                self.lingered()
            if self._broker is not None:
                self._broker.end_lingering()
                self._broker.close()  # what came before its connection may have failed
            return
        self._hub.note_close(self, reason, quietly=quietly, error=error)
        self._client_full = False  # what lingers is read on
        ends_in_turn = reason in (DRAINED, SESSION_EXPIRED)  # responses before it are to be read
        if not ends_in_turn or not half_close(transport, self.connection_lost, self._paused):
            close(transport)
        if not self._left and (self._broker is None or not self._broker.lingering):
            self._abandon()
        if self._broker is not None:
            self._broker.close()

    def _report_left(self, reason: str, *, quietly: bool, error: Exception | None = None) -> None:
        """Requests that the client has left behind have failed; this alone reports it."""
        lingering = self._broker is not None and self._broker.lingering
        if (self._left or lingering) and not quietly:
            self._hub.note_close(self, reason, quietly=False, error=error)

    def _abandon(self) -> None:
        """Both sides have ended: nothing is begun, and nothing waits, any more."""
        self._drop_task()
        restoring, self._restoring = self._restoring, None
        if restoring is not None:
            restoring.cancel()
        self.session.abandon()  # a task that is cancelled before it begins does not

    def _drop_task(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
        self.session.forget_held()

    @guarded
    def lingered(self) -> None:
        """The broker's side has closed too, after it lingered."""
        self._abandon()
        self._hub.lingering.ended(self)
        if self._gone:
            self._hub.closed(self)

    @guarded
    def _reject(self, error: ProtocolError, *, client: bool = True) -> None:
        if isinstance(error, SessionExpired):
            self.session.break_off()
            self._flush()
            self._hub.session_expired(self)
            return
        if not isinstance(error, Unanswerable):
            reason = "client sent what is not Kafka" if client else "broker sent what is not Kafka"
            self.close(f"{reason}: {error}")
            return
        if client:
            # What was decided before it is sent, as if it had come alone.
            self.session.break_off()
            self._flush()
            self._linger()
        self.close(f"no answer fits: {error}")

    def _flush(self) -> None:
        """Write what the session made, and begin what it waits for."""
        session = self.session
        requests, responses = session.to_broker, session.to_client
        if requests:
            broker = self._broker
            if broker is None and (self._transport is not None or self._left):
                self._begin_connecting()  # in a tree: what is written waits
            else:
                if broker is not None:
                    broker.write(requests)
                requests.clear()
        if responses:
            if self._transport is not None:
                write(self._transport, responses)
            responses.clear()
        if session.state.flows is not None:
            self._hub.busy.add(self)
        if session.waiting is not None and self._task is None:
            self._task = self._hub.spawn(self, self._do(session.waiting))
            self._balance()

    def _balance(self) -> None:
        """Read from each side only while the other, and the session, can take it."""
        hold = (
            self._broker_full
            or self._task is not None
            or self.session.saturated
            or self._unread
            or (self.closing and not self.session.streaming)
        )
        if hold is not self._paused and self._transport is not None:
            self._paused = hold
            if hold:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()
        if self._broker is not None:
            self._broker.hold(self._client_full or self._restoring is not None)

    async def _restore(self) -> None:
        """Restore long responses while others are served; the broker's next ones wait."""
        try:
            while (restoring := self.session.restoring) is not None:
                await in_slices(self._hub.turns, restoring.slices)
                self.session.restored()
                self._flush()
                if self.session.restoring is not None:
                    await self._hub.turns.next()  # it has had its first slice
        except ProtocolError as error:
            self._reject(error, client=self.session.reading_client)
        self._restoring = None
        self._balance()
        if self._broker is not None and self._broker.lingering:
            self._broker.end_if_answered()
        self._close_if_drained()

    async def _do(self, work: Waiting) -> None:
        """Do what the session waits for, off the path of other connections' requests."""
        body: bytes | None = None
        failed: Exception | None = None
        try:
            body = await self._hub.perform(self.session, work)
        except Exception as error:  # noqa: BLE001 - see ``closing``
            failed = error
        self._task = None
        if isinstance(failed, BrokerError):
            self.close(f"no broker connection: {failed}")
        elif isinstance(failed, ProtocolError):
            self._reject(failed)
        elif failed is not None:
            self.close("a change failed", error=failed)
        lingering = self._broker if self._broker is not None and self._broker.lingering else None
        if self._transport is None and lingering is None and not self._left:
            return
        try:
            self.session.resume(body)
        except ProtocolError as error:
            self._reject(error)
            return
        self._flush()
        self._balance()
        if self.session.state.reauth is not None:
            self._hub.reauthenticated(self)
        if self.session.doubted:
            self._doubt()
        if lingering is not None:
            lingering.end_if_answered()
        if self._left:
            self._go_on_alone()
        self._close_if_drained()
