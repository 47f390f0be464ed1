"""Room for clients' connections at one broker, shared between tenants.

To a broker all clients of a gateway come from one address, so a limit of the broker for an address
(``max.connections.per.ip``, KIP-402) would let one client lock all others out. So no tenant has
more than a share of a limit that is known, and where the limit is reached the tenant with the most
connections gives one up that is idle, as a broker itself closes the least recently used connection
for one of its inter-broker listener. Clients connect again when they need to, as after the broker's
``connections.max.idle.ms``.

A limit is known from the configuration, or because the broker has just closed a new connection
without a byte while others stayed open.
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
"""How long a limit is taken for true after the broker refused a connection."""

AT_ONCE_SECONDS: Final = 0.25
"""A broker closes a connection beyond a number when it accepts it, one beyond an address's creation
rate only after a throttle time (KIP-612), which says nothing of how many it takes."""

NEW_SECONDS: Final = 5.0
"""A broker that closes a connection for a limit does so within its quota's window of a second."""

ROOM_SECONDS: Final = 0.1
"""For the broker to notice that a connection has been closed for another one."""

IDLE_SECONDS: Final = 2.0
"""How long a connection that gives way has been idle at least: a client sends a request sooner on
one that it has just used, and would lose it. A sweep notes once a second what is in use."""

LOOKED_AT: Final = 256
"""Connections of a tenant that are looked at for one that is idle."""

NONE_OF_MINE: Final = -1


class Limits(NamedTuple):
    """``most`` are the connections to a broker that a worker may have for its clients; None: as
    many as the broker takes. ``share`` is the part of them that one tenant may have."""

    most: int | None = None
    share: float = 0.5


class Place:
    """One broker connection of a client, from before it is opened until it is closed."""

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
        """Whether the broker may close it for a limit of its own, not for having been idle."""
        return self._room is not None and self._room.clock() < self.since + NEW_SECONDS

    def begins(self) -> None:
        """The opening begins only now."""
        if self._room is not None:
            self.since = self._room.clock()

    def heard(self) -> None:
        """The broker has sent something, so it has let the connection in."""
        if not self.answered:
            self.answered = True
            if self._room is not None:
                self._room.note_accepted(self)

    def refused(self) -> bool:
        """The broker has closed the connection without a byte. True: another one is closed for it,
        so that it is worth another try after :data:`ROOM_SECONDS`."""
        return self._room is not None and not self.answered and self._room.note_refused(self)

    def used(self) -> None:
        """The connection is in use: others are idle for longer."""
        if self._room is not None:
            self._room.used(self)

    def hand_over(self, client: RoomClient) -> None:
        """A login is over: from here on the client is known."""
        room = self._room
        if room is not None:
            room.hand_over(self, client)

    def ended(self) -> None:
        """The broker has ended the connection that it had let in."""
        if self.answered and self._room is not None:
            self._room.note_ended()

    def leave(self) -> None:
        """The connection is closed; does nothing if it has left before."""
        room, self._room = self._room, None
        if room is not None:
            room.remove(self)


class BrokerRoom:
    """The connections of one worker's clients to one broker. ``clock`` tells seconds.

    The counts only grow: of new connections that the broker has ``accepted`` and ``refused``, that
    were ``rejected`` here, and of connections that ``gave_way``.
    """

    def __init__(
        self,
        limits: Limits,
        clock: Callable[[], float] = monotonic,
        ask_others: Callable[[Tenant, int], None] = lambda tenant, mine: None,
    ) -> None:
        """``ask_others`` lets other workers make room for a tenant with so many connections."""
        self.clock = clock
        self._ask_others = ask_others
        self.accepted = self.refused = self.rejected = self.gave_way = 0
        self._limits = limits
        self._places: dict[Tenant, dict[Place, None]] = {}
        self._count = 0
        self._opening: dict[Place, None] = {}
        self._learned: int | None = None
        self._learned_until = 0.0
        self._contended = False  # others want in where one tenant has the most

    def __len__(self) -> int:
        return self._count

    @property
    def open(self) -> int:
        """The connections that the broker has let in."""
        return self._count - len(self._opening)

    @property
    def waits_since(self) -> float | None:
        """Since when the broker has not answered the oldest connection that it has not let in."""
        for place in islice(self._opening, LOOKED_AT):
            if place.client.awaits_answer:
                return place.since
        return None

    @property
    def limit(self) -> int | None:
        """The connections that there can be, or None if not known."""
        if self._learned is not None and self.clock() >= self._learned_until:
            self._forget()
        if self._learned is None or self._limits.most is None:
            return self._limits.most or self._learned
        return min(self._learned, self._limits.most)

    def enter(self, client: RoomClient) -> Place:
        """A place for a connection that is about to be opened. Raises NoRoom."""
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
        """Of a limit that was learned a share counts only while others want in: a tenant that is
        alone may try for itself what the broker takes."""
        if self._limits.most is not None and mine >= self._share_of(self._limits.most):
            return True
        return self._contended and mine >= self._share_of(limit)

    def _share_of(self, limit: int) -> int:
        return max(1, int(limit * self._limits.share))

    def make_room(self) -> bool:
        """Close an idle connection for one of the gateway's own."""
        return self._make_room(None, NONE_OF_MINE)

    def make_room_for(self, tenant: Tenant, elsewhere: int) -> bool:
        """Close an idle connection for a tenant at another worker, where it has some, too. The
        broker has refused it with so many open from here."""
        if self.open:
            self._learned, self._learned_until = self.open, self.clock() + LEARNED_SECONDS
        return self._make_room(tenant, elsewhere + len(self._places.get(tenant, ())))

    def _make_room(self, tenant: Tenant | None, mine: int) -> bool:
        """Close the longest idle connection of the tenant with the most, if it still has more then
        than one with ``mine`` has: it would be closed for the other in turn."""
        most = max(self._places, key=lambda each: len(self._places[each]), default=tenant)
        if most is None or most == tenant or len(self._places[most]) <= mine + 1:
            return False
        self._contended = True
        long_ago = self.clock() - IDLE_SECONDS
        for place in islice(self._places[most], LOOKED_AT):
            client = place.client
            if place.used_at > long_ago:
                return False  # the others have been used later
            if place.answered and client.idle:
                place.leave()
                guard(client, partial(client.give_way, GAVE_WAY))
                self.gave_way += 1
                return True
        return False

    # -- called by places --------------------------------------------------------------------------

    def note_accepted(self, place: Place) -> None:
        """The broker has let a connection in, so it takes as many as there are now."""
        del self._opening[place]
        self.accepted += 1
        self.used(place)
        if self._learned is not None and self.open > self._learned:
            self._forget()

    def note_refused(self, place: Place) -> bool:
        """The broker has closed a connection without a byte. True: another one is closed for it."""
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
        """The broker ends what it had let in, as it does with all of it when it stops: then what it
        refused just before is no limit."""
        self._forget()

    def _forget(self) -> None:
        self._learned = None
        self._contended = False

    def add(self, place: Place) -> None:
        """Count a place, as the one that was used last."""
        self._places.setdefault(place.tenant, {})[place] = None
        self._count += 1

    def hand_over(self, place: Place, client: RoomClient) -> None:
        """A place is another client's, perhaps another tenant's."""
        was_opening = place in self._opening
        self.remove(place)
        place.client, place.tenant = client, client.tenant
        if was_opening:
            self._opening[place] = None
        self.add(place)

    def used(self, place: Place) -> None:
        """Others of its tenant are idle for longer."""
        line = self._places[place.tenant]
        del line[place]
        line[place] = None
        place.used_at = self.clock()

    def remove(self, place: Place) -> None:
        """Count a place no more."""
        line = self._places[place.tenant]
        del line[place]
        if not line:
            del self._places[place.tenant]
        self._count -= 1
        self._opening.pop(place, None)
