"""Requests of a worker's clients that brokers may be at work on, for which changes may wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

from gateway.catalog.freezes import UNDER_WAY
from gateway.connections.connection import Connection
from gateway.connections.lane import Lane
from gateway.connections.noted import Held, Noted, are_few
from gateway.connections.tasks import Tasks
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.worker_state import WorkerState
from gateway.session.deciding import Deciding
from gateway.session.naming import ANY_TOPIC, Concerns, leaves_behind, names_in
from gateway.session.session import Session
from gateway.session.silent import Silent
from gateway.slices import Slices, Turns, in_slices
from protocol.pausing import FEW, paced, pause_point

MAX_UNKNOWN: Final = 10_000
"""Topics and ids unknown to the brokers that are kept, at most, for connections that ended with
requests unanswered."""


@dataclass(frozen=True, slots=True)
class _Left:
    """Requests that a connection left behind when it ended, whose names were not read yet."""

    worker: WorkerState
    requests: Sequence[Exchange]
    silent: Silent | None
    until: float

    def names(self) -> Iterator[bytes]:
        """The topics that brokers may still be at work on; see ``names_in``."""
        for exchange in self.requests:
            yield from names_in(exchange)
        if self.silent is not None:
            yield from self.silent.topics()


class UnderWay:
    """The requests of a worker's clients that are under way, on their own connections and in
    ``lanes``, and the requests that ended connections left unanswered: brokers may be at work on
    them for a while.

    Requests under way are noted at once. Their names, which may be very many, are read in slices,
    and until then the worker does not confirm that it has read a freeze.
    """

    def __init__(self, connections: Collection[Connection], turns: Turns, tasks: Tasks) -> None:
        self._connections = connections
        self._turns = turns.apart("freezes")
        self._tasks = tasks
        self.lanes: set[Lane] = set()
        self._left: deque[_Left] = deque()
        self._keeping = False
        self._ended: dict[str, dict[bytes, float]] = {}

    def watch(self, state: WorkerState, concerns: Concerns) -> Watch:
        """Watch the requests that are under way now at the brokers of a volume, and may name
        these topics."""
        return self.watch_each(state, [concerns])[0]

    def watch_each(self, state: WorkerState, concerns: Sequence[Concerns]) -> list[Watch]:
        """As :meth:`watch`, a watch for each of ``concerns``. All share one pass over the
        connections, which has no pauses: a request that is sent later is not waited for."""
        noted: list[Noted] = []
        owners: list[Connection | Lane] = [*self._connections, *self.lanes]
        for owner in owners:
            session = owner.session
            if session.state.worker is not state:
                continue
            if isinstance(session.waiting, Deciding):
                # It is decided again, by the current state, so the change need not wait for it.
                session.waiting.outdated = True
            if one := Noted.of(owner):
                noted.append(one)
        watches = [Watch(self, each) for each in concerns]
        left = [one for one in self._left if one.worker is state]
        kept = self._ended.get(state.mount, {})  # replaced as a whole
        most = FEW // max(len(watches), 1)
        few = not left and len(kept) <= most and are_few(noted, most)

        def read() -> None:
            for watch in watches:
                watch.read(noted, left, kept)

        self._read(read, few=few)
        return watches

    def is_open(self, connection: Connection | Lane) -> bool:
        """Whether a connection, or a lane, is open. A connection that has ended may linger."""
        return connection in self._connections or connection in self.lanes

    def lane_ended(self, lane: Lane) -> None:
        """Stop tracking a lane; keep its request if a broker may still be at work on it."""
        self.lanes.discard(lane)
        if lane.sent:
            self.ended(lane)

    def ended(self, connection: Connection | Lane) -> None:
        """Keep the requests that a connection had under way when it ended."""
        session = connection.session
        requests, silent = [*filter(leaves_behind, session.under_way)], session.silent
        if requests or silent is not None:
            until = monotonic() + UNDER_WAY / 1000
            self._left.append(_Left(session.state.worker, requests, silent, until))
            if not self._keeping:
                self._keeping = True
                kept = self._ended.get(session.state.worker.mount, ())
                few = len(kept) <= FEW and are_few([Noted(connection, requests, None, silent)])
                self._read(self._keep_left, few=few)

    def is_unsure(self, state: WorkerState) -> bool:
        """Whether brokers may be at work on anything once this process has ended."""
        if any(one.unsettled for one in self._sessions() if one.state.worker is state):
            return True
        left = (one.until for one in self._left if one.worker is state)
        kept = self._ended.get(state.mount, {}).values()
        return max((*left, *kept), default=0.0) > monotonic()

    def _sessions(self) -> Iterator[Session]:
        yield from (connection.session for connection in self._connections)
        yield from (lane.session for lane in self.lanes)

    def _read(self, read: Callable[[], None], *, few: bool) -> None:
        """Read names: at once if they are few, or else in slices."""
        if few:
            read()
        else:
            self._tasks.run(in_slices(self._turns, Slices(read)))

    def _keep_left(self) -> None:
        """Read the names of requests that were left behind, connection by connection, so that no
        reading overwrites the result of another. May take several slices."""
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
    """The requests that were under way when a freeze was read; the freeze denies later requests.
    ``is_ready``: their names have been read."""

    def __init__(self, under_way: UnderWay, concerns: Concerns) -> None:
        self._under_way = under_way
        self._held: list[Held] = []
        self._left_until = 0.0
        self._concerns = concerns
        self.is_ready = False

    def read(
        self, noted: Sequence[Noted], left: Sequence[_Left], kept: Mapping[bytes, float]
    ) -> None:
        """Find the requests that the change waits for: among ``noted``, among those ``left``
        behind, and by the names that are ``kept``, each until a time. May take several slices."""
        for one in paced(noted):
            self._held += one.concerning(self._concerns)
        for ended in paced(left):
            if ended.until > self._left_until and any(
                _is_concerned(self._concerns, name) for name in ended.names()
            ):
                self._left_until = ended.until
        for name, until in paced([*kept.items()]):
            if until > self._left_until and _is_concerned(self._concerns, name):
                self._left_until = until
        self.is_ready = True

    def holders(self) -> list[str]:
        """The clients that delay the change now, once the watch is ready, such as ``client
        10.0.0.7:5123 on listener plain``. Empty if no client does."""
        held = []
        for one in self._held:
            if self._under_way.is_open(one.connection):
                if not one.is_over():
                    held.append(one)
            elif one.has_left():
                self._left_until = monotonic() + UNDER_WAY / 1000
        self._held = held
        found = dict.fromkeys(
            f"client {one.connection.client_address} on listener {one.connection.listener}"
            for one in self._held
        )
        if not found and self._left_until > monotonic():
            return ["a client that has closed its connection unanswered"]
        return list(found)


def _is_concerned(concerns: Concerns, name: bytes) -> bool:
    return name == ANY_TOPIC or concerns(name)
