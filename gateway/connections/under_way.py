"""What the clients of one worker have under way at brokers: changes may have to wait for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from time import monotonic
from typing import Final

from gateway.catalog.freezes import UNDER_WAY
from gateway.connections.closing import UNREAD, UNSENT
from gateway.connections.connection import Connection
from gateway.connections.lane import Lane
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.worker_state import WorkerState
from gateway.session.deciding import Deciding
from gateway.session.naming import ANY_TOPIC, Concerns, leaves_behind, may_concern, names_in
from gateway.session.session import Session
from gateway.session.silent import Silent

MAX_UNKNOWN: Final = 10_000
"""Topics that the brokers do not have, and ids, of connections that ended unanswered: more of them
are not kept."""

TO_READ: Final = 2.0
"""Seconds for a client to read what it has asked for, so that the broker is read on."""

TO_SEND: Final = 5.0
"""Seconds for a client to send the rest of a request. Nothing of it is done before that."""


class _Held:
    """Something of a client that a change waits for, and the ``connection`` or lane it is on."""

    def __init__(self, connection: Connection | Lane) -> None:
        self.connection = connection

    def is_over(self) -> bool:
        """Whether it is done before that has ended; a request of a lane is not."""
        return False


class _OfConnection(_Held):
    """Something of a client's connection."""

    connection: Connection

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._unread_at: float | None = None

    def is_over(self) -> bool:
        """As of the base; ends a client that does not read, which would hold it up for ever: the
        response may be there."""
        if self._is_done():
            return True
        if self._unread_at is None and self.connection.read_slowly:
            self._unread_at = monotonic()
        elif self._unread_at is not None and monotonic() - self._unread_at >= TO_READ:
            self.connection.drop_client(UNREAD)
        return False

    def _is_done(self) -> bool:
        raise NotImplementedError


class _Request(_OfConnection):
    """A request that its broker has not answered, or that the client has not wholly sent."""

    def __init__(self, connection: Connection, request: Exchange) -> None:
        super().__init__(connection)
        self._request = request
        self._since = monotonic()

    def _is_done(self) -> bool:
        session = self.connection.session
        if self._request is session.streamed:
            if monotonic() - self._since >= TO_SEND:
                self.connection.reset(UNSENT)
            return False
        return self._request not in session.under_way


class _Silent(_OfConnection):
    """Requests without a response (acks=0), behind which the gateway sends one of its own."""

    def __init__(self, connection: Connection, silent: Silent) -> None:
        super().__init__(connection)
        self._silent = silent

    def _is_done(self) -> bool:
        if self.connection.session.silent is not self._silent:
            return True
        self.connection.prove()
        return False


class UnderWay:
    """The requests of one worker's clients, over their own connections and in ``lanes``, and what
    was left behind that ended unanswered: brokers may be at work on that for a while."""

    def __init__(self, connections: Collection[Connection]) -> None:
        self._connections = connections
        self.lanes: set[Lane] = set()
        self._ended: dict[str, dict[bytes, float]] = {}

    def watch(self, state: WorkerState, concerns: Concerns) -> Watch:
        """What is under way now, at the brokers of one volume, and may name these topics."""
        for session in self._sessions():
            waiting = session.waiting
            if session.state.worker is state and isinstance(waiting, Deciding):
                # It is decided once more, by what is known now, and so is not waited for.
                waiting.outdated = True
        held = [
            _Held(lane)
            for lane in self.lanes
            if lane.session.state.worker is state
            and any(may_concern(one, concerns) for one in lane.session.under_way)
        ]
        for connection in self._connections:
            session = connection.session
            if session.state.worker is not state:
                continue
            requests = [*session.under_way, *filter(None, (session.streamed,))]
            held += [_Request(connection, one) for one in requests if may_concern(one, concerns)]
            silent = session.silent
            if silent is not None and any(map(concerns, silent.topics())):
                held.append(_Silent(connection, silent))
        return Watch(self, held, state, concerns)

    def is_open(self, connection: Connection | Lane) -> bool:
        """Whether a connection, or a lane, has not ended; its broker's side may go on alone."""
        return connection in self._connections or connection in self.lanes

    def lane_ended(self, lane: Lane) -> None:
        """A request for another volume is over: keep it, if a broker may still be at work on it."""
        self.lanes.discard(lane)
        if lane.sent:
            self.ended(lane)

    def ended(self, connection: Connection | Lane) -> None:
        """A connection is gone: keep what it had under way."""
        session, now = connection.session, monotonic()
        until = now + UNDER_WAY / 1000
        left = {
            name: until
            for exchange in session.under_way
            if leaves_behind(exchange)
            for name in names_in(exchange)
        }
        silent = session.silent
        if silent is not None:
            left |= dict.fromkeys(silent.topics(), until)
        if left:
            self._keep(session.state.worker, left, now)

    def left_behind(self, state: WorkerState, concerns: Concerns) -> bool:
        """Whether a broker may be at work on what an ended connection had sent to these topics."""
        now = monotonic()
        kept = self._ended.get(state.mount, {})
        return any(
            until > now and (name == ANY_TOPIC or concerns(name)) for name, until in kept.items()
        )

    def is_unsure(self, state: WorkerState) -> bool:
        """Whether brokers may be at work on anything once this process has ended."""
        if any(one.unsettled for one in self._sessions() if one.state.worker is state):
            return True
        return self.left_behind(state, lambda name: True)

    def _sessions(self) -> Iterator[Session]:
        yield from (connection.session for connection in self._connections)
        yield from (lane.session for lane in self.lanes)

    def _keep(self, state: WorkerState, left: dict[bytes, float], now: float) -> None:
        kept = {
            name: until for name, until in self._ended.get(state.mount, {}).items() if until > now
        }
        index = state.cluster.index
        room = MAX_UNKNOWN - len(kept)
        for name, until in left.items():
            if name in kept or index.exists(name) or index.name_of(name) is not None:
                kept[name] = until
            elif room > 0:
                room -= 1
                kept[name] = until
        self._ended[state.mount] = kept


class Watch:
    """What a freeze found under way when it was read; what comes later it denies."""

    def __init__(
        self, under_way: UnderWay, held: Sequence[_Held], state: WorkerState, concerns: Concerns
    ) -> None:
        self._under_way = under_way
        self._held = held
        self._state = state
        self._concerns = concerns

    def holders(self) -> list[str]:
        """The clients that hold the change up now, ``client 10.0.0.7:5123 on listener plain``;
        empty: nothing does."""
        is_open = self._under_way.is_open
        self._held = [one for one in self._held if is_open(one.connection) and not one.is_over()]
        found = dict.fromkeys(
            f"client {one.connection.client_address} on listener {one.connection.listener}"
            for one in self._held
        )
        if not found and self._under_way.left_behind(self._state, self._concerns):
            return ["a client that has closed its connection unanswered"]
        return list(found)
