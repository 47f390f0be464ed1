"""Room for clients' connections at a broker, shared between tenants.

To a broker all clients of a gateway have the same address, so under the broker's limit for an
address (``max.connections.per.ip``, KIP-402) a single client could lock all others out. So if a
limit is known, no tenant gets more than a share of it, and if the limit is reached, the tenant with
the most connections gives up an idle connection. A broker does the same: it closes its least
recently used connection to accept an inter-broker connection. Clients connect again when they need
to, as after the broker's ``connections.max.idle.ms``.

A limit is known from the configuration, or because the broker has just closed a new connection
without a byte while others stayed open, or has left new connections unanswered, as it does at its
``max.connections``, until an idle connection gave way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from time import monotonic
from typing import Final, NamedTuple

from gateway.connections.closing import GAVE_WAY, guard
from gateway.connections.tenants import NoRoom, RoomClient, Tenant

LEARNED_SECONDS: Final = 60.0
"""Seconds for which a limit is assumed after a broker closed a new connection without a byte."""

AT_ONCE_SECONDS: Final = 0.25
"""Seconds in which a broker closes a connection beyond its maximum. It closes a connection beyond
an address's creation rate only after a throttle time (KIP-612), and that does not show how many
connections it accepts."""

NEW_SECONDS: Final = 5.0
"""Seconds for which a connection is new: a broker that closes a connection for a limit does so
within its quota's window of a second."""

ROOM_SECONDS: Final = 0.1
"""Seconds for a broker to notice that a connection was closed to make room for another."""

IDLE_SECONDS: Final = 2.0
"""Seconds for which a connection must have been idle before it gives way. A client is likely to
send a request sooner on a connection that it has just used, and would lose it. A sweep notes once a
second which connections are in use."""

LOOKED_AT: Final = 256
"""Connections that are looked at, at most, to find an idle connection of a tenant."""

NONE_OF_MINE: Final = -1


class Limits(NamedTuple):
    """A worker's limits on its clients' connections to a broker."""

    # Connections in all, or None for as many as the broker accepts.
    most: int | None = None
    # The part of the limit that a tenant may have.
    share: float = 0.5


class Place:
    """A broker connection of a client, from before it is opened until it is closed."""

    __slots__ = ("_room", "answered", "client", "made_room", "since", "tenant", "used_at")

    def __init__(self, room: BrokerRoom, client: RoomClient, since: float, made_room: bool) -> None:
        self._room: BrokerRoom | None = room
        self.client = client
        self.tenant = client.tenant
        self.since = self.used_at = since
        self.made_room = made_room
        self.answered = False

    @property
    def is_new(self) -> bool:
        """Whether the connection is so new that the broker may still close it for a limit."""
        return self._room is not None and self._room.clock() < self.since + NEW_SECONDS

    def begins(self) -> None:
        """Note that the connection begins to be opened only now."""
        if self._room is not None:
            self.since = self._room.clock()

    def heard(self) -> None:
        """Note that the broker has sent something, so that it has accepted the connection."""
        if not self.answered:
            self.answered = True
            if self._room is not None:
                self._room.note_accepted(self)

    def refused(self) -> bool:
        """Note that the broker closed the connection without a byte. Returns whether an idle
        connection was closed to make room, so that another attempt after :data:`ROOM_SECONDS` may
        succeed."""
        return self._room is not None and not self.answered and self._room.note_refused(self)

    def used(self) -> None:
        """Note that the connection is in use, so that it is the last of its tenant to give way."""
        if self._room is not None:
            self._room.used(self)

    def hand_over(self, client: RoomClient) -> None:
        """Give the place to ``client``, whose principal is known now that the login is over."""
        room = self._room
        if room is not None:
            room.hand_over(self, client)

    def ended(self) -> None:
        """Note that the broker ended the connection after it had accepted it."""
        if self.answered and self._room is not None:
            self._room.note_ended()

    def leave(self) -> None:
        """Release the place of a connection that is closed; does nothing if it was released
        before."""
        room, self._room = self._room, None
        if room is not None:
            room.remove(self)


class BrokerRoom:
    """The connections of a worker's clients to a broker. ``clock`` returns seconds.

    Four counts only grow: new connections that the broker ``accepted``, or closed without a byte
    (``refused``), connections that were ``rejected`` here, and idle connections that ``gave_way``.
    """

    def __init__(
        self,
        limits: Limits,
        clock: Callable[[], float] = monotonic,
        ask_others: Callable[[Tenant, int], None] = lambda tenant, mine: None,
    ) -> None:
        """``ask_others`` requests room from the other workers for a tenant, with the number of its
        connections here."""
        self.clock = clock
        self._ask_others = ask_others
        self.accepted = self.refused = self.rejected = self.gave_way = 0
        self._limits = limits
        self._places: dict[Tenant, dict[Place, None]] = {}
        self._count = 0
        self._opening: dict[Place, None] = {}
        self._learned: int | None = None
        self._learned_until = 0.0
        self._contended = False  # other tenants need room while a tenant has the most connections

    def __len__(self) -> int:
        return self._count

    @property
    def open(self) -> int:
        """The number of connections that the broker has accepted."""
        return self._count - len(self._opening)

    @property
    def waits_since(self) -> float | None:
        """When the oldest connection began that the broker should have answered and has not, or
        None if there is no such connection."""
        for place in islice(self._opening, LOOKED_AT):
            if place.client.awaits_answer:
                return place.since
        return None

    @property
    def limit(self) -> int | None:
        """The most connections that there can be, or None if no limit is known."""
        if self._learned is not None and self.clock() >= self._learned_until:
            self._forget()
        if self._learned is None or self._limits.most is None:
            return self._limits.most or self._learned
        return min(self._learned, self._limits.most)

    def enter(self, client: RoomClient) -> Place:
        """Take a place for a connection that is about to be opened. Raises NoRoom."""
        limit, tenant, made_room = self.limit, client.tenant, False
        if limit is not None:
            mine = len(self._places.get(tenant, ()))
            if self._has_share(mine, limit):
                self.rejected += 1
                raise NoRoom(f"{tenant[0]} has {mine} connections to it, its share of {limit}")
            if self._count >= limit:
                made_room = self._make_room(tenant, mine)
                most = self._limits.most
                if not made_room and most is not None and self._count >= most:
                    self.rejected += 1
                    raise NoRoom(f"all of {limit} connections to it are in use")
        place = Place(self, client, self.clock(), made_room)
        self._opening[place] = None
        self.add(place)
        return place

    def _has_share(self, mine: int, limit: int) -> bool:
        """Whether a tenant with ``mine`` connections has its share. The share of a learned limit
        counts only if other tenants need room, because a tenant that is alone may try how many
        connections the broker accepts."""
        if self._limits.most is not None and mine >= self._share_of(self._limits.most):
            return True
        return self._contended and mine >= self._share_of(limit)

    def _share_of(self, limit: int) -> int:
        return max(1, int(limit * self._limits.share))

    def make_room(self) -> bool:
        """Close an idle connection to make room for a connection of the gateway's own. Returns
        whether an idle connection was found."""
        return self._make_room(None, NONE_OF_MINE)

    def make_room_for(self, tenant: Tenant, elsewhere: int) -> bool:
        """Close an idle connection for a tenant of another worker, which has ``elsewhere``
        connections there. The broker has closed a new connection of that tenant, so the number of
        connections open from here is taken for the limit."""
        if self.open:
            self._learned, self._learned_until = self.open, self.clock() + LEARNED_SECONDS
        return self._make_room(tenant, elsewhere + len(self._places.get(tenant, ())))

    def _make_room(self, tenant: Tenant | None, mine: int) -> bool:
        """Close the longest idle connection of the tenant with the most connections. That tenant
        has to keep more connections than the ``mine`` of the tenant that needs room, because the
        two would otherwise close each other's connections in turn."""
        most = max(self._places, key=lambda each: len(self._places[each]), default=tenant)
        if most is None or most == tenant or len(self._places[most]) <= mine + 1:
            return False
        return self._close_idle(most)

    def _close_idle(self, tenant: Tenant) -> bool:
        """Close the longest idle connection of a tenant, because another tenant needs room."""
        self._contended = True
        long_ago = self.clock() - IDLE_SECONDS
        for place in islice(self._places[tenant], LOOKED_AT):
            client = place.client
            if place.used_at > long_ago:
                return False  # they are in order of use: the rest were used later
            if place.answered and client.idle:
                place.leave()
                guard(client, partial(client.give_way, GAVE_WAY))
                self.gave_way += 1
                return True
        return False

    def note_waiting(self) -> None:
        """Make room for a connection, because new connections have waited long for the broker to
        accept them, while others are open. Called once a second as long as that is so.

        A broker at its ``max.connections`` accepts a connection for each that is closed, in the
        order in which they came. So connections of tenants that have their share do not wait ahead
        of the others.
        """
        waiting = [each for each in islice(self._opening, LOOKED_AT) if each.client.awaits_answer]
        accepted = {who: sum(each.answered for each in of) for who, of in self._places.items()}
        most = max(accepted, key=accepted.__getitem__, default=None)
        if most is None or not self.open:
            return
        wanting = [each.tenant for each in waiting if accepted[each.tenant] + 1 < accepted[most]]
        limit = self.open
        if not wanting or not self._close_idle(most):
            if waiting:
                self._ask_others(waiting[0].tenant, accepted[waiting[0].tenant])
            return
        self._learned, self._learned_until = limit, self.clock() + LEARNED_SECONDS
        for place in waiting:
            if accepted[place.tenant] >= self._share_of(limit):
                self.rejected += 1
                place.leave()
                guard(place.client, partial(place.client.give_way, GAVE_WAY))

    # -- called by places --------------------------------------------------------------------------

    def note_accepted(self, place: Place) -> None:
        """Note that the broker accepted a connection, so that it accepts at least as many as are
        open now."""
        del self._opening[place]
        self.accepted += 1
        self.used(place)
        if self._learned is not None and self.open > self._learned:
            self._forget()

    def note_refused(self, place: Place) -> bool:
        """Note that the broker closed a new connection without a byte. Returns whether an idle
        connection was closed to make room for another attempt."""
        self.refused += 1
        now, mine = self.clock(), len(self._places[place.tenant]) - 1
        if now - place.since >= AT_ONCE_SECONDS:
            self._forget()
            return False
        if self.open:
            self._learned, self._learned_until = self.open, now + LEARNED_SECONDS
        if self._make_room(place.tenant, mine):
            return True
        self._ask_others(place.tenant, mine)
        return False

    def note_ended(self) -> None:
        """Forget the learned limit when the broker ends a connection that it had accepted. A broker
        that stops ends all of them, so the new connections that it closed just before do not show a
        limit."""
        self._forget()

    def _forget(self) -> None:
        self._learned = None
        self._contended = False

    def add(self, place: Place) -> None:
        """Count a place, as the most recently used place of its tenant."""
        self._places.setdefault(place.tenant, {})[place] = None
        self._count += 1

    def hand_over(self, place: Place, client: RoomClient) -> None:
        """Move a place to another client, perhaps to another tenant."""
        was_opening = place in self._opening
        self.remove(place)
        place.client, place.tenant = client, client.tenant
        if was_opening:
            self._opening[place] = None
        self.add(place)

    def used(self, place: Place) -> None:
        """Make a place the most recently used place of its tenant."""
        line = self._places[place.tenant]
        del line[place]
        line[place] = None
        place.used_at = self.clock()

    def remove(self, place: Place) -> None:
        """Stop counting a place."""
        line = self._places[place.tenant]
        del line[place]
        if not line:
            del self._places[place.tenant]
        self._count -= 1
        self._opening.pop(place, None)
