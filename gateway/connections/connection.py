"""One client connection and its broker connection, as callbacks on the event loop.

Callback protocols, no streams: no task, timer or timeout per request. The broker connection is
made when the client's first bytes arrive, so that health checks and port scans cost the broker
nothing. What one side cannot take stops the reading of the other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, cast

from gateway.brokers.messages import BrokerError
from gateway.catalog.source import ACTOR, Actor
from gateway.cluster.link import ClusterUnreachable
from gateway.connections.broker_side import BrokerSide
from gateway.connections.farewell import part
from gateway.connections.guarding import end, guarded, reason
from gateway.connections.hub import Hub
from gateway.connections.lingering import TOO_MANY
from gateway.connections.writing import WRITE_HIGH, write
from gateway.exchanges.exchange import Exchange, Interlude, Refresh, Unanswerable, Work
from gateway.peers import address_text, host_text
from gateway.session.deciding import Deciding
from gateway.session.session import Session
from gateway.slices import InSlices, in_slices
from protocol.errors import ProtocolError

DRAINED: Final = "drained"


class Connection(asyncio.Protocol):
    """The client's side. ``node_id`` is the broker it is for; None on a bootstrap port."""

    __slots__ = (
        "_broker",
        "_broker_full",
        "_client_full",
        "_early",
        "_gone",
        "_hub",
        "_paused",
        "_restoring",
        "_task",
        "_transport",
        "closing",
        "listener",
        "node_id",
        "session",
    )

    def __init__(self, hub: Hub, listener: str, node_id: int | None, session: Session) -> None:
        self._hub = hub
        self.listener = listener
        self.node_id = node_id
        self.session = session
        self.closing = False
        self._transport: asyncio.Transport | None = None
        self._broker: BrokerSide | None = None
        self._task: asyncio.Task[None] | None = None
        self._restoring: asyncio.Task[None] | None = None
        self._early: bytes = b""
        self._gone = False
        self._paused = False
        self._client_full = False
        self._broker_full = False

    # -- the client's transport ---------------------------------------------------------------

    @guarded
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Admit the client; nothing is sent to a broker yet."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(WRITE_HIGH)
        peer = transport.get_extra_info("peername")
        state = self.session.state
        state.source.client_address = address_text(peer)
        state.host = host_text(peer)
        self._hub.opened(self, transport)

    def data_received(self, data: bytes) -> None:
        """Requests, or pieces of them."""
        if self._broker is None:
            self._early += data
            self._wait_for_broker()
            return
        try:
            self.session.client_data(data)
            self._flush()
            if self.session.saturated:
                self._balance()
            if self.closing:
                self._close_if_quiet()
        except ProtocolError as error:
            self._refuse(error)
        except Exception as error:  # noqa: BLE001 - see ``guarding``
            self.fail(error)

    @guarded
    def connection_lost(self, exc: Exception | None) -> None:
        """The client went away (or was sent away)."""
        self._gone = True
        if self._transport is None:
            pass  # it was closed here
        elif not self._hub.lingering.see_off(self, self._broker):
            self.close(f"{TOO_MANY}: what the client has left behind may not be written")
        elif exc is not None:
            self.close(f"client connection failed: {exc}")
        elif self._early or self.session.mid_request:
            self.close("client closed in the middle of a request")
        else:
            self.close("client closed", quietly=True)
        if self._broker is None or not self._broker.lingering:
            self._hub.closed(self)

    @guarded
    def pause_writing(self) -> None:
        """The client reads slowly: read less from the broker."""
        self._client_full = True
        self._balance()

    @guarded
    def resume_writing(self) -> None:
        """The client has caught up."""
        self._client_full = False
        self._balance()

    # -- the broker's transport ---------------------------------------------------------------

    @guarded
    def broker_connected(self, broker: BrokerSide) -> None:
        """The broker connection is there: send what has come so far."""
        self._broker = broker
        self._task = None
        early, self._early = self._early, b""
        if self.closing or self._transport is None:
            broker.close()
        elif early:
            self.data_received(early)
        self._balance()

    def broker_data(self, data: bytes) -> None:
        """Responses, or pieces of them."""
        try:
            self.session.broker_data(data)
            self._flush()
            if self.session.restoring is not None and self._restoring is None:
                self._restoring = self._hub.spawn(self, self._restore())
                self._balance()
            if self._paused:
                self._balance()
            if self.closing:
                self._close_if_quiet()
        except ProtocolError as error:
            self._refuse_response(error)
        except Exception as error:  # noqa: BLE001 - see ``guarding``
            self.fail(error)

    @guarded
    def broker_full(self, full: bool) -> None:
        """The broker reads slowly, or has caught up."""
        self._broker_full = full
        self._balance()

    @guarded
    def broker_lost(self, exc: Exception | None) -> None:
        """The broker went away: so does the client, who knows how to come back."""
        reauth = self.session.state.reauth
        if reauth is not None and reauth.failed is not None:
            return  # the broker leaves whom it refuses; the client is told a little later
        reason = f"broker connection failed: {exc}" if exc else "broker closed"
        self.close(reason, quietly=not exc and self.session.quiet)

    @guarded
    def interject(self, run: Callable[[], Awaitable[None]]) -> None:
        """Let the gateway do something of its own at the broker, between two requests: requests
        that come meanwhile wait. A BrokerError that it raises ends the connection."""
        if self._transport is not None:
            self.session.interject(Interlude(run))
            self._flush()

    def send_own(self, exchange: Exchange, request: bytes) -> None:
        """During that: send a request frame of the gateway's own; see ``Session.ask``."""
        self.session.ask(exchange, request)
        self._flush()

    # -- both ---------------------------------------------------------------------------------

    @property
    def client_address(self) -> str:
        """``host:port`` of the client, for logs."""
        return self.session.state.source.client_address

    @guarded
    def finish(self) -> None:
        """Read no more requests; close as soon as what is under way has been answered."""
        self.closing = True
        self.session.finish()
        if self._broker is None:
            self.close(DRAINED, quietly=True)
        else:
            self._balance()
            self._close_if_quiet()

    def _close_if_quiet(self) -> None:
        """The end of a drain, for this one."""
        if self.session.quiet:
            self.close(DRAINED, quietly=True)

    def fail(self, error: Exception) -> None:
        """End both sides at once: a callback, or a task, of this connection has failed."""
        transport, broker = self._transport, self._broker
        end(lambda: self.close(reason(error), error=error))
        self._transport = None
        if transport is not None:
            transport.abort()
        if broker is not None:
            broker.abort()
        if self._gone:
            self._hub.closed(self)

    def close(self, reason: str, *, quietly: bool = False, error: Exception | None = None) -> None:
        """End both sides, with one log line that names client and reason; with the traceback of
        ``error``, if that is why."""
        if self.session.state.flows is not None:
            self._hub.busy.add(self)  # what it ends for may be counted there
        transport, self._transport = self._transport, None
        if transport is None:
            if self._broker is not None:
                if self._broker.lingering and not quietly:
                    # What the client has left behind has failed, and nobody else will tell.
                    self._hub.note_close(self, reason, quietly=False, error=error)
                self._broker.end_lingering()
            return
        self._hub.note_close(self, reason, quietly=quietly, error=error)
        self._client_full = False  # what lingers is read on
        if reason != DRAINED or not part(transport, self._parted, paused=self._paused):
            transport.close()
        if self._task is not None:
            self._task.cancel()
        if self._restoring is not None:
            self._restoring.cancel()
        self.session.abandon()  # a task that is cancelled before it begins does not
        if self._broker is not None:
            self._broker.close()

    @guarded
    def left(self) -> None:
        """The broker's side has ended too, where it lingered."""
        self._hub.lingering.left(self)
        if self._gone:
            self._hub.closed(self)

    @guarded
    def _parted(self) -> None:
        """The client has ended its side, after a farewell."""
        self._gone = True
        if self._broker is None or not self._broker.lingering:
            self._hub.closed(self)

    @guarded
    def _refuse(self, error: ProtocolError) -> None:
        if isinstance(error, Unanswerable):
            # What was decided before it is sent, as if it had come alone.
            self.session.break_off()
            self._flush()
            self._hub.lingering.see_off(self, self._broker)
            self.close(f"no answer fits: {error}")
        else:
            self.close(f"client sent what is not Kafka: {error}")

    @guarded
    def _refuse_response(self, error: ProtocolError) -> None:
        if isinstance(error, Unanswerable):
            self.close(f"no answer fits: {error}")
        else:
            self.close(f"broker sent what is not Kafka: {error}")

    @guarded
    def _wait_for_broker(self) -> None:
        """Connect to the broker, if that has not begun; meanwhile only so much is read."""
        if self._task is None:
            self._task = self._hub.spawn(self, self._connect())
        self._balance()

    def _flush(self) -> None:
        """Write what the session made, and look after what it waits for."""
        session = self.session
        if session.to_broker:
            if self._broker is not None:
                self._broker.write(session.to_broker)
            session.to_broker.clear()
        if session.to_client:
            if self._transport is not None:
                write(self._transport, session.to_client)
            session.to_client.clear()
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

    async def _connect(self) -> None:
        try:
            await self._hub.connect_broker(self)
        except (OSError, ClusterUnreachable) as error:
            self._task = None
            self.close(f"no broker connection: {error}")

    async def _restore(self) -> None:
        """Restore long responses while others are served; the broker's next ones wait."""
        try:
            while (what := self.session.restoring) is not None:
                await in_slices(self._hub.turns, what.slices)
                self.session.restored()
                self._flush()
        except ProtocolError as error:
            self._refuse_response(error)
        self._restoring = None
        self._balance()
        if self.closing:
            self._close_if_quiet()

    async def _do(self, what: Refresh | Work | Interlude | Deciding) -> None:
        """What the session waits for, off the path of everyone else's requests."""
        body = await self._outcome(what)
        self._task = None
        if self._transport is None:
            return
        try:
            self.session.resume(body)
        except ProtocolError as error:
            self._refuse(error)
            return
        self._flush()
        self._balance()
        if self.session.state.reauth is not None:
            self._hub.entrance.reauthenticated(self)
        if self.closing:
            self._close_if_quiet()

    async def _outcome(self, what: Refresh | Work | Interlude | Deciding) -> bytes | None:
        """The body of an answer, where there is one to give; what fails ends the connection."""
        try:
            if isinstance(what, Refresh):
                await self._hub.refresh(what)
            elif isinstance(what, Interlude):
                await what.run()
            elif isinstance(what, Deciding):
                await in_slices(self._hub.turns, what.slices)
            else:
                ACTOR.set(self._actor())
                return await InSlices(self._hub.turns, what.run())
        except BrokerError as error:
            self._task = None
            self.close(f"no broker connection: {error}")
        except ProtocolError as error:
            self._task = None
            self._refuse(error)
        except Exception as error:  # noqa: BLE001 - see ``guarding``
            self._task = None
            self.close("a change failed", error=error)
        return None

    def _actor(self) -> Actor:
        """On whose behalf the work under way is done."""
        source = self.session.state.source
        who = (source.principal, source.client_address, source.listener, source.client_id)
        return Actor(*who, self.session.working)
