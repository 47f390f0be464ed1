"""What the clients of one worker have under way at brokers: changes may have to wait for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from time import monotonic
from typing import Final

from gateway.catalog.freezes import UNDER_WAY
from gateway.connections.closing import UNREAD, UNSENT
from gateway.connections.connection import Connection
from gateway.connections.lane import Lane
from gateway.connections.tasks import Tasks
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.worker_state import WorkerState
from gateway.session.deciding import Deciding
from gateway.session.naming import ANY_TOPIC, Concerns, leaves_behind, may_concern, names_in
from gateway.session.session import Session
from gateway.session.silent import Silent
from gateway.slices import Slices, Turns, in_slices
from protocol.pausing import FEW, paced, pause_point

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


@dataclass(frozen=True, slots=True)
class _Noted:
    """What a session has under way, of which no name was read yet."""

    owner: Connection | Lane
    requests: Sequence[Exchange]
    silent: Silent | None

    @classmethod
    def of(cls, owner: Connection | Lane) -> _Noted | None:
        """What a client's connection, or a lane, has under way; None: nothing."""
        session = owner.session
        requests, silent = session.under_way, session.silent
        if isinstance(owner, Connection) and session.streamed is not None:
            requests = [*requests, session.streamed]
        return cls(owner, requests, silent) if requests or silent is not None else None

    def concerning(self, concerns: Concerns) -> Iterator[_Held]:
        """What of it may name these topics. May take several slices."""
        owner, silent = self.owner, self.silent
        concerning = (one for one in paced(self.requests) if may_concern(one, concerns))
        if isinstance(owner, Lane):
            yield from (_Held(owner) for _ in islice(concerning, 1))
            return
        yield from (_Request(owner, one) for one in concerning)
        if silent is not None and any(map(concerns, silent.topics())):
            yield _Silent(owner, silent)


@dataclass(frozen=True, slots=True)
class _Left:
    """What a connection had under way when it ended, of which no name was read yet."""

    worker: WorkerState
    requests: Sequence[Exchange]
    silent: Silent | None
    until: float

    def names(self) -> Iterator[bytes]:
        """The topics that brokers may still be at work on, as of ``names_in``."""
        for exchange in self.requests:
            if leaves_behind(exchange):
                yield from names_in(exchange)
        if self.silent is not None:
            yield from self.silent.topics()


class UnderWay:
    """The requests of one worker's clients, over their own connections and in ``lanes``, and what
    was left behind that ended unanswered: brokers may be at work on that for a while.

    What is under way is noted at once, and its names, which may be very many, are read in slices:
    until then a freeze is not known to have been read, and what was left behind concerns it.
    """

    def __init__(self, connections: Collection[Connection], turns: Turns, tasks: Tasks) -> None:
        self._connections = connections
        self._turns = turns
        self._tasks = tasks
        self.lanes: set[Lane] = set()
        self._left: deque[_Left] = deque()
        self._keeping = False
        self._ended: dict[str, dict[bytes, float]] = {}

    def watch(self, state: WorkerState, concerns: Concerns) -> Watch:
        """What is under way now, at the brokers of one volume, and may name these topics."""
        noted = []
        owners: list[Connection | Lane] = [*self._connections, *self.lanes]
        for owner in owners:
            session = owner.session
            if session.state.worker is not state:
                continue
            if isinstance(session.waiting, Deciding):
                # It is decided once more, by what is known now, and so is not waited for.
                session.waiting.outdated = True
            noted.append(_Noted.of(owner))
        watch = Watch(self, state, concerns)
        self._in_slices(partial(watch.read, list(filter(None, noted))))
        return watch

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
        session = connection.session
        requests, silent = session.under_way, session.silent
        if requests or silent is not None:
            until = monotonic() + UNDER_WAY / 1000
            self._left.append(_Left(session.state.worker, requests, silent, until))
            if not self._keeping:
                self._keeping = True
                self._in_slices(self._keep_left)

    def left_behind(self, state: WorkerState, concerns: Concerns) -> bool:
        """Whether a broker may be at work on what an ended connection had sent to these topics."""
        now = monotonic()
        if any(left.worker is state and left.until > now for left in self._left):
            return True  # its names are not all read yet
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

    def _in_slices(self, work: Callable[[], None]) -> None:
        """Do work over names: mostly at once."""
        slices = Slices(work)
        if slices.step():
            slices.result()
        else:
            self._tasks.run(in_slices(self._turns, slices))

    def _keep_left(self) -> None:
        """Read the names of what was left behind: of one connection after the other, so that none
        overwrites what another one has kept. May take several slices."""
        try:
            while self._left:
                pause_point()
                if self._left[0].until > monotonic():
                    self._keep(self._left[0])
                self._left.popleft()
        finally:
            self._keeping = False

    def _keep(self, left: _Left) -> None:
        names = dict.fromkeys(left.names())
        state, now = left.worker, monotonic()
        index = state.cluster.index
        before = self._ended.get(state.mount, {})
        kept = {name: until for name, until in paced([*before.items()], FEW) if until > now}
        room = MAX_UNKNOWN - len(kept)
        for name in paced(names, FEW):
            if name in kept or index.exists(name) or index.name_of(name) is not None:
                kept[name] = left.until
            elif room > 0:
                room -= 1
                kept[name] = left.until
        self._ended[state.mount] = kept


class Watch:
    """What a freeze found under way when it was read; what comes later it denies. ``is_ready`` once
    the names of that have been read."""

    def __init__(self, under_way: UnderWay, state: WorkerState, concerns: Concerns) -> None:
        self._under_way = under_way
        self._held: list[_Held] = []
        self._state = state
        self._concerns = concerns
        self.is_ready = False

    def read(self, noted: list[_Noted]) -> None:
        """Find what of this is waited for. May take several slices."""
        for one in noted:
            self._held += one.concerning(self._concerns)
        self.is_ready = True

    def holders(self) -> list[str]:
        """Once it is ready, the clients that hold the change up now, such as ``client
        10.0.0.7:5123 on listener plain``; empty: nothing does."""
        is_open = self._under_way.is_open
        self._held = [one for one in self._held if is_open(one.connection) and not one.is_over()]
        found = dict.fromkeys(
            f"client {one.connection.client_address} on listener {one.connection.listener}"
            for one in self._held
        )
        if not found and self._under_way.left_behind(self._state, self._concerns):
            return ["a client that has closed its connection unanswered"]
        return list(found)
