"""A client connection and its broker connection, as callbacks on the event loop.

These are callback protocols, not streams, so a request needs no task, timer or timeout. The broker
connection is opened when the client's first bytes arrive, so that health checks and port scans cost
the broker nothing. If a side cannot take more, the gateway stops reading from the other.
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
from gateway.connections.paced import PacedTransport
from gateway.connections.tenants import Refused, Tenant, line_of, tenant_of
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
from gateway.exchanges.framing import Watcher
from gateway.session import own_requests
from gateway.session.deciding import Deciding
from gateway.session.expiry import SessionExpired
from gateway.session.naming import ends_mid_request, may_leave_behind
from gateway.session.session import Session
from gateway.slices import Budget, Turns, in_slices
from gateway.views.access import Access
from protocol.errors import ProtocolError

DRAINED: Final = "drained"

MAX_EARLY: Final = 64 * 1024
"""Bytes that are kept of a client whose broker connection is being opened. If it holds as many, it
is read no more."""

Waiting: TypeAlias = Refresh | Prepare | Work | Interlude | Turn | Deciding
"""Work that a session waits for before it decides the next request."""


class Hub(BaseHub, Protocol):
    """The worker that a connection belongs to: ``clients.Clients``, which makes connections. Tests
    fill it in, because a connection is tested without a worker's listeners.

    ``busy`` are the connections with flows since the last collection, and ``broker_heard`` is True
    once a broker has sent anything.
    """

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
    def collects(self, connection: Connection, size: int) -> Watcher: ...
    def taken(self, connection: Connection) -> None: ...
    def resumed(self, connection: Connection) -> None: ...
    def answered(self, connection: Connection) -> None: ...
    async def connect_broker(self, connection: Connection) -> None: ...
    async def carry_out(self, connection: Connection, work: Waiting) -> bytes | None: ...


class Connection(BaseConnection):
    """The client's side of a connection whose client may send requests. ``closing``: it drains."""

    __slots__ = (
        "_awaits_room",
        "_broker",
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

    def __init__(self, hub: Hub, listener: str, node_id: int | None, session: Session) -> None:
        super().__init__(hub, listener, node_id)
        self.session = session
        self.closing = False
        # Whether a response waits for room to be collected.
        self._awaits_room = False
        self._broker: BrokerSide | None = None
        self._restoring: asyncio.Task[None] | None = None
        self._early: bytes = b""
        self._gone = False
        # The timer of a client that left before its requests had a broker connection.
        self._left: asyncio.TimerHandle | None = None
        self._connects_to_ask = False
        self._paused = False
        self._client_full = False
        self._unread = False  # the client sends, and does not read
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
        """Take requests, or pieces of them, and keep them until there is a broker connection."""
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

    @property
    def _takes_early(self) -> bool:
        """Whether the client is read before it has a broker connection. The event loop notices that
        a client has left only while it is read, and a full broker may let it wait for long."""
        waits = self._broker is None and self.session.state.tree is None
        return waits and len(self._early) < MAX_EARLY

    def holds_more(self, change: int) -> None:
        """Note that the session holds ``change`` bytes more, or fewer, of an incomplete request."""
        self._hub.holds_more(self, change)

    def collects(self, size: int) -> Watcher:
        """Give a response of ``size`` bytes room to be collected, or wait for it."""
        return self._hub.collects(self, size)

    def answered(self) -> None:
        """Note that a long response has been restored."""
        self._hub.answered(self)

    def await_room(self, waits: bool) -> None:
        """See ``collected.Collecting``."""
        self._awaits_room = waits
        self._balance()

    def pace(self, paced: bool) -> None:
        """See ``collected.Collecting``."""
        transport = self._transport
        if isinstance(transport, PacedTransport):
            if not paced:
                self._transport = transport.inner
        elif transport is not None and paced:
            self._transport = PacedTransport(transport, self.write_on)

    @property
    def holds_response(self) -> bool:
        """See ``collected.Collecting``. Closing goes on with what is left, for a few seconds."""
        if self.session.restoring is not None:
            return True
        if self._transport is None:
            return not self._gone
        return isinstance(self._transport, PacedTransport) and self._transport.left > 0

    @property
    def _heard(self) -> bool:
        """Whether the client has sent anything."""
        state = self.session.state
        counted = state.flows is not None or state.earlier is not None
        return bool(self._broker is not None or self._early or self._task or counted)

    @guarded
    def connection_lost(self, exc: Exception | None) -> None:
        """Close the broker's side as well, unless it lingers. Either the client or the gateway has
        closed."""
        self._gone = True
        if exc is not None:
            self._drop_task()
        if self._transport is not None:  # else the gateway has closed it
            self._linger()
            if exc is not None:
                # Not logged if it has sent nothing: a load balancer's check resets the connection.
                self.close(f"client connection failed: {exc}", quietly=not self._heard)
            elif self.session.mid_request or ends_mid_request(self._early):
                self.close("client closed in the middle of a request")
            else:
                self.close("client closed", quietly=True)
        if not self._left and (self._broker is None or not self._broker.lingering):
            self._hub.closed(self)

    def _linger(self) -> None:
        """Let the broker's side go on until it has carried out any requests that the client has
        left behind. If there is no broker connection yet, wait until there is."""
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
                self._broker.linger(held=self._awaits_room)

    def _go_on_alone(self) -> None:
        """Finish the requests of a client that has left, now that the broker connection is there or
        the work that they waited for is done. Close if nothing is left to do."""
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
        """Stop reading from the broker while the client reads slowly."""
        self._client_full = True
        self._balance()

    @guarded
    def resume_writing(self) -> None:
        self._client_full = self._unread = False
        self._write_rest()
        self._balance()

    @guarded
    def write_on(self) -> None:
        """Write more of a long response, in a round of its own."""
        self._write_rest()

    def _write_rest(self) -> None:
        if isinstance(self._transport, PacedTransport):
            self._transport.go_on()
            self._hub.taken(self)

    # -- the broker's transport ---------------------------------------------------------------

    @guarded
    def broker_connected(self, broker: BrokerSide) -> None:
        """Send the requests that have arrived so far to the broker connection, which is open
        now."""
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
        """Take responses, or pieces of them."""
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
        """Stop reading from the client while the broker reads slowly."""
        self._broker_full = full
        self._balance()

    @guarded
    def broker_lost(self, exc: Exception | None) -> None:
        """Close the client's side after the broker has closed its own; the client reconnects."""
        reauth = self.session.state.reauth
        if reauth is not None and reauth.failed is not None:
            # A broker closes at once if it rejects a login; the client gets the rejection later.
            return
        if isinstance(exc, Refused):
            self.close(f"{NO_ROOM}: {exc}", quietly=True)
            return
        reason = f"broker connection failed: {exc}" if exc else "broker closed"
        self.close(reason, quietly=not exc and self.session.quiet)

    @guarded
    def interject(self, run: Callable[[], Awaitable[None]]) -> None:
        """Let the gateway do work of its own at the broker, between two requests of the client,
        which wait meanwhile. If the work raises BrokerError, the connection closes."""
        if self._transport is not None:
            self.session.interject(Interlude(run))
            self._flush()

    async def ask(self, name: str, version: int, entity: Any) -> Any:
        """Send a request of the gateway's own (``name`` is Kafka's), and return the response
        entity. The client's requests wait for it. In a tree the broker connection may have to be
        opened first. Raises BrokerError."""
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
        """Send a request frame of the gateway's own, during :meth:`interject` or :meth:`ask`; see
        ``Session.ask``."""
        self.session.ask(exchange, request)
        self._flush()

    @guarded
    def see(self, access: Access, budget: Budget) -> None:
        """Use another access after a change of the catalog. If a request in flight is not allowed
        any more, reset the connection, so that the broker does not begin with it. Requests for
        which the ``budget`` has no time are checked later."""
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
        """Request a response behind requests that have no response; see ``Requests.prove``."""
        if self.session.prove():
            self._flush()

    @property
    def tenant(self) -> Tenant:
        """The tenant that the connection counts for at its broker."""
        return tenant_of(self.session.state.identity.principal, self.host)

    @property
    def idle(self) -> bool:
        """Whether the connection may give way: no request is under way, and no response is
        unread."""
        return self.session.idle and self._task is None and not self._client_full

    @property
    def awaits_answer(self) -> bool:
        """Whether there is no broker connection yet, or a request is under way that brokers answer
        as soon as they read it."""
        return self._broker is None or self.session.awaits_answer

    def give_way(self, reason: str) -> None:
        """See :meth:`BaseConnection.give_way`."""
        self.close(reason, quietly=True)

    def used(self) -> None:
        """Note that the connection was in use recently."""
        if self._broker is not None:
            self._broker.used()

    @property
    def read_slowly(self) -> bool:
        """Whether so many responses wait for the client to read them that the broker is not
        read."""
        return self._client_full

    @guarded
    def drop_client(self, reason: str) -> None:
        """Close the client's side. The broker's side goes on until it has carried out the requests
        that it has."""
        transport = self._transport
        if transport is not None:
            self._linger()
            transport.abort()  # first, because closing goes on with what is left
            self.close(reason)

    def reset(self, reason: str, *, quietly: bool = False) -> None:
        """Close the connection so that the broker drops the requests that it has not begun with."""
        if self._transport is None:
            self._report_left(reason, quietly=quietly)
            quietly = True
        if self._broker is not None:
            self._broker.reset()
        self.close(reason, quietly=quietly)

    @guarded
    def finish(self, *, waits: bool = True) -> None:
        """Drain: read no more requests, and close once the requests under way are answered. Unless
        it ``waits``, requests whose response a broker may hold back do not count."""
        self.closing = True
        if self._left:
            return  # its client has left, and would not send the requests again
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

    def _abort_broker(self) -> None:
        if self._broker is not None:
            self._broker.abort()

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
                self._broker.close()  # a request that came before its connection may have failed
            return
        self._hub.note_close(self, reason, quietly=quietly, error=error)
        self._client_full = False  # a side that lingers is read on
        # The client should read the responses before it.
        ends_in_turn = reason in (DRAINED, SESSION_EXPIRED)
        if not ends_in_turn or not half_close(transport, self.connection_lost, self._paused):
            close(transport)
        if not self._left and (self._broker is None or not self._broker.lingering):
            self._abandon()
        if self._broker is not None:
            self._broker.close()

    def _report_left(self, reason: str, *, quietly: bool, error: Exception | None = None) -> None:
        """Log the failure of requests that the client has left behind: nothing else reports it."""
        lingering = self._broker is not None and self._broker.lingering
        if (self._left or lingering) and not quietly:
            self._hub.note_close(self, reason, quietly=False, error=error)

    def _abandon(self) -> None:
        """Drop all work of the connection, both sides of which have ended."""
        self._drop_task()
        restoring, self._restoring = self._restoring, None
        if restoring is not None:
            restoring.cancel()
        self.session.abandon()  # a task that is cancelled before it begins does not do this

    def _drop_task(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
        self.session.forget_held()

    @guarded
    def lingered(self) -> None:
        """Drop the rest of the connection after the broker's side, which lingered, has closed,
        too."""
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
            # Requests that were decided before it are sent, as if they had come alone.
            self.session.break_off()
            self._flush()
            self._linger()
        self.close(f"no answer fits: {error}")

    def _flush(self) -> None:
        """Write the session's requests and responses, and begin the work that it waits for."""
        session = self.session
        requests, responses = session.to_broker, session.to_client
        if requests:
            broker = self._broker
            if broker is None and (self._transport is not None or self._left):
                self._begin_connecting()  # in a tree: the requests wait for it
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
        """Read from each side only while the other side, and the session, can take more."""
        hold = (
            self._broker_full
            or (self._task is not None and not self._takes_early)
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
            held = self._client_full or self._restoring is not None or self._awaits_room
            self._broker.hold(held)

    async def _restore(self) -> None:
        """Restore long responses while other connections are served; the broker's next responses
        wait."""
        turns = self._hub.turns.of(line_of(self.session.state))
        try:
            while (restoring := self.session.restoring) is not None:
                await in_slices(turns, restoring.slices)
                self.session.restored()
                self._flush()
                if self.session.restoring is not None:
                    await turns.next()  # the next response has had its first slice
        except ProtocolError as error:
            self._reject(error, client=self.session.reading_client)
        self._restoring = None
        self._balance()
        self._hub.taken(self)
        if self._broker is not None and self._broker.lingering:
            self._broker.end_if_answered()
        self._close_if_drained()

    def _renewed(self) -> bool:
        """Apply a re-authentication that has succeeded; return whether the connection goes on."""
        self._flush()  # the client gets its response, even if the connection ends with it
        self._hub.reauthenticated(self)
        return not self.closing

    async def _do(self, work: Waiting) -> None:
        """Do the work that the session waits for, beside other connections' requests."""
        body: bytes | None = None
        failed: Exception | None = None
        try:
            body = await self._hub.carry_out(self, work)
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
            self.session.resume(body, self._renewed)
        except ProtocolError as error:
            self._reject(error)
            return
        finally:
            self._hub.resumed(self)
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
