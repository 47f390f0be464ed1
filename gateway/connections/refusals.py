"""New connections that a broker does not accept, logged while older connections work.

Operators get a line when the refusals begin, a line a minute with the counts, and a line when they
end, however many clients try. A sweep once a second reads all of that from the counts of the room
at the broker.
"""

from __future__ import annotations

import logging
from typing import Final, NamedTuple

from gateway.connections.broker_room import BrokerRoom

log = logging.getLogger(__name__)

UNANSWERED_SECONDS: Final = 5.0
"""Seconds without an answer after which a new connection counts as not accepted."""

RETRIED_SECONDS: Final = 2.5
"""Seconds without a waiting connection, at two or more sweeps, after which clients do not count as
waiting any more: a client that gives up connects again sooner."""

LOCKED_SECONDS: Final = 3.0
"""Seconds without a new connection that was accepted, after which new clients count as locked
out."""

OVER_SECONDS: Final = 60.0
"""Seconds without a refusal after which the refusals are over; also the seconds between two
lines."""

UNTRIED_SECONDS: Final = 15.0
"""Seconds after which the last refusal does not predict the next connection any more."""

CLOSES: Final = (
    "closes new connections before it answers",
    "max.connections.per.ip of the broker, and connection_creation_rate of this address (KIP-612)",
)
WAITS: Final = (
    "does not answer new connections",
    "max.connections and max.connection.creation.rate of the broker and its listener",
)
SHARES: Final = (
    "gets no more connections of principals that have their share of them",
    "max_connections_per_broker and max_connections_share of the cluster here",
)


class Seen(NamedTuple):
    """The counts of a room at a sweep."""

    accepted: int = 0
    refused: int = 0
    rejected: int = 0
    gave_way: int = 0


class Refusals:
    """The new connections that a broker accepts or refuses. Times are of the clock of its room."""

    def __init__(self, cluster: str, node_id: int, room: BrokerRoom) -> None:
        self._cluster = cluster
        self._node_id = node_id
        self._room = room
        self._seen = Seen()
        self._accepted_at = room.clock()
        self._waited: tuple[float, float] | None = None  # since when clients wait, seen when
        self._failing_since: float | None = None
        self._failed_at = 0.0
        self._began: tuple[float, Seen] | None = None
        self._event_at = self._told_at = 0.0
        self._told = Seen()

    @property
    def locked(self) -> bool:
        """Whether no new connection was accepted for some seconds, although clients have tried."""
        since = self._failing_since
        return since is not None and self._room.clock() - since >= LOCKED_SECONDS

    def sweep(self) -> Seen:
        """Read the room's counts, log changes, and return how much the counts have grown."""
        room, before, now = self._room, self._seen, self._room.clock()
        seen = self._seen = Seen(room.accepted, room.refused, room.rejected, room.gave_way)
        grown = _less(seen, before)
        if grown.accepted:
            self._accepted_at, self._failing_since = now, None
        waits_since = self._waits_since(room.waits_since, now)
        waits = waits_since is not None and (
            now - max(waits_since, self._accepted_at) >= UNANSWERED_SECONDS
        )
        if waits:
            room.note_waiting()
        if grown.refused or waits:
            self._failed_at = now
            if self._failing_since is None and not grown.accepted:
                self._failing_since = now if waits_since is None else waits_since
        elif now - self._failed_at >= UNTRIED_SECONDS:
            self._failing_since = None
        if grown.refused or grown.rejected or waits:
            self._go_on(now, before, CLOSES if grown.refused else WAITS if waits else SHARES)
        elif self._began is not None and now - self._event_at >= OVER_SECONDS:
            since, counts = self._began
            self._began = None
            self._tell(logging.INFO, "are not refused any more", since, counts)
        return grown

    def _waits_since(self, oldest: float | None, now: float) -> float | None:
        """Since when connections have waited without a pause, or None if none waits; ``oldest`` is
        when the connection began that waits longest. A client may give up before the broker counts
        as full, and connect again."""
        before, self._waited = self._waited, None
        if before is not None and now - before[1] < RETRIED_SECONDS:
            self._waited = before
        if oldest is None:
            return None
        since = oldest if self._waited is None else min(self._waited[0], oldest)
        self._waited = since, now
        return since

    def _go_on(self, now: float, before: Seen, kind: tuple[str, str]) -> None:
        self._event_at = now
        if self._began is None:
            self._began = now, before
            self._told_at, self._told = now, before
            what, where = kind
            log.warning(
                "broker %d of cluster %r %s, with %d open from this worker, which go on: see %s",
                self._node_id,
                self._cluster,
                what,
                self._room.open,
                where,
            )
        elif now - self._told_at >= OVER_SECONDS:
            self._tell(logging.WARNING, "are still refused", self._told_at, self._told)
            self._told_at, self._told = now, self._seen

    def _tell(self, level: int, how: str, since: float, before: Seen) -> None:
        counts = _less(self._seen, before)
        log.log(
            level,
            "new connections to broker %d of cluster %r %s: in %d s it let %d in and closed %d,"
            " %d were rejected here, and %d idle ones gave way",
            self._node_id,
            self._cluster,
            how,
            self._room.clock() - since,
            counts.accepted,
            counts.refused,
            counts.rejected,
            counts.gave_way,
        )


def _less(seen: Seen, before: Seen) -> Seen:
    return Seen(*(now - then for now, then in zip(seen, before, strict=True)))
