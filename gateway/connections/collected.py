"""The memory for a listener's responses that are collected before their clients get them.

Most responses are short, and records pass as they arrive. A response whose edits depend on what
stands at its end is collected: ShareFetch (broker addresses stand behind the records), a Fetch
whose names change by different lengths, long listings. Its size is in its first bytes, so its
connection asks for room for all of it then. There is a budget for all connections of the listener,
of which each address has a share: half of it at most. If there is no room, the gateway stops
reading from that broker until others have given theirs back, which costs the client time and
nothing else.

No connection waits with part of what it needs, so none waits for another that waits: a response has
all of its room before more of it is read, and then its broker and its client alone decide when it
ends. Addresses take turns, and the connections of an address come in order; none overtakes a
response that waits for the listener's budget, so the longest comes, too. A connection that has had
room for MOST_SECONDS while others wait for it is closed: its client does not read, or its broker
has stopped in the middle of a response.

A response that is longer than a share takes nothing of the budget. A listener has a single place
for such responses: they come one after the other, addresses in turns, and all others pass them by.

So clients of one address that do not read delay responses of that address. Of other addresses they
delay only those that are longer than a share: by one turn of their address, which is MOST_SECONDS,
and up to a second because rooms are looked after once a second. They delay no others, because what
an address may hold of the budget leaves as much as any other response may need; it takes several
addresses to fill the budget for MOST_SECONDS.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Final, Protocol

from gateway.config.security import CollectedResponses
from gateway.connections.closing import UNTAKEN, Guarded, guard
from gateway.connections.waiting_clients import network_of

MOST_SECONDS: Final = 30.0
"""Seconds for which a response may have its room while others wait: clients give a request up after
as many (``request.timeout.ms``)."""


class Collecting(Guarded, Protocol):
    """A connection whose response is collected: ``connection.Connection``. Tests fill it in,
    because turns are tested without sessions."""

    @property
    def host(self) -> str: ...
    @property
    def holds_response(self) -> bool:
        """Whether a response that has arrived is not restored yet, or waits for its client to
        read."""
        ...

    def await_room(self, waits: bool) -> None:
        """Stop reading from the broker, or resume."""
        ...

    def pace(self, paced: bool) -> None:
        """Write to the client no more than it takes, or as much as there is."""
        ...

    def drop_client(self, reason: str) -> None: ...
    def reset(self, reason: str) -> None: ...


class Room:
    """The room of one response, from its first bytes until its client has taken it. ``since``: when
    it was given (seconds), None while it waits. ``whole``: the response has arrived."""

    __slots__ = ("_rooms", "connection", "network", "since", "size", "whole")

    def __init__(self, rooms: CollectedBytes, connection: Collecting, size: int) -> None:
        self._rooms = rooms
        self.connection = connection
        self.network = network_of(connection.host)
        self.size = size
        self.since: float | None = None
        self.whole = False

    def holds_more(self, change: int) -> None:
        """See ``framing.Watcher``: bytes are taken out when the response is whole."""
        if change < 0 and not self.whole:
            self.whole = True
            # Called later: it has still to be restored and written.
            asyncio.get_running_loop().call_soon(self._rooms.look, self.connection)


class Lines:
    """Responses that wait: those of an address in order, addresses in turns. Addresses whose next
    response has to wait for one of their own are set aside, and have no turns."""

    def __init__(self) -> None:
        # Ordered, because a dict would look through all that has left its front to find the first.
        self._turns: OrderedDict[str, OrderedDict[Room, None]] = OrderedDict()
        self._aside: dict[str, OrderedDict[Room, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._turns or self._aside)

    @property
    def has_turns(self) -> bool:
        """Whether an address waits for others."""
        return bool(self._turns)

    def is_aside(self, network: str) -> bool:
        """Whether an address waits for its own responses."""
        return network in self._aside

    def add(self, room: Room) -> None:
        line = self._aside.get(room.network)
        if line is None:
            line = self._turns.setdefault(room.network, OrderedDict())
        line[room] = None

    def first(self) -> Room | None:
        """The response whose turn it is."""
        return next(iter(next(iter(self._turns.values())))) if self._turns else None

    def take(self, room: Room) -> None:
        """Take out the response whose turn it was; its address has its next turn after others."""
        line = self._turns[room.network]
        del line[room]
        if line:
            self._turns.move_to_end(room.network)
        else:
            del self._turns[room.network]

    def set_aside(self, network: str) -> None:
        self._aside[network] = self._turns.pop(network)

    def take_back(self, network: str) -> None:
        """Let an address that was set aside have turns again."""
        line = self._aside.pop(network, None)
        if line is not None:
            self._turns[network] = line

    def postpone(self, network: str) -> None:
        """Let an address have its next turn after all others that wait now."""
        if network in self._turns:
            self._turns.move_to_end(network)

    def drop(self, room: Room) -> None:
        """Drop a response that does not wait any more, if it did."""
        self.take_back(room.network)
        line = self._turns.get(room.network)
        if line is not None and room in line:
            del line[room]
            if not line:
                del self._turns[room.network]


class CollectedBytes:
    """The rooms at one listener of a worker. ``total`` is the number of bytes that are given of the
    budget; ``long`` is the response in the place of those that are longer than a share.

    ``waited`` is called for each response that has to wait, with the setting for want of which it
    does: ``max_bytes_per_ip`` if its address has its share, or the response is longer than that,
    else ``max_bytes``.
    """

    def __init__(
        self,
        limits: CollectedResponses,
        clock: Callable[[], float] = monotonic,
        waited: Callable[[str], object] = lambda setting: None,
    ) -> None:
        self._waited = waited
        self._most = limits.max_bytes
        # Half at most: with more, one address could leave too little for the longest of another.
        self._share = min(limits.max_bytes_per_ip, limits.max_bytes // 2)
        is_half = self._share < limits.max_bytes_per_ip
        self._share_setting = "max_bytes" if is_half else "max_bytes_per_ip"
        self._clock = clock
        self._rooms: dict[Collecting, list[Room]] = {}
        self._given: dict[Room, None] = {}
        self._by_network: dict[str, int] = {}
        self._short, self._long = Lines(), Lines()
        self.total = 0
        self.long: Room | None = None

    def enter(self, connection: Collecting, size: int) -> Room:
        """Give a response room, or let its connection wait for it."""
        room = Room(self, connection, size)
        connection.pace(True)
        self._rooms.setdefault(connection, []).append(room)
        is_long = size > self._share
        (self._long if is_long else self._short).add(room)
        self._give()
        if room.since is None:
            of_share = is_long or self._short.is_aside(room.network)
            self._waited(self._share_setting if of_share else "max_bytes")
            connection.await_room(True)
        return room

    def look(self, connection: Collecting) -> None:
        """Take the rooms back of responses that the client of a connection has taken."""
        if connection in self._rooms:
            guard(connection, partial(self._look, connection))

    def forget(self, connection: Collecting) -> None:
        """Take the rooms of a connection back, which is gone."""
        for room in self._rooms.pop(connection, ()):
            self._leave(room)
        self._give()

    def sweep(self) -> None:
        """Look after all rooms, and close whoever has had one for too long while others wait.
        Called once a second."""
        for room in [*self._given]:
            self.look(room.connection)
            since = room.since
            if (
                room in self._given
                and since is not None
                and self._clock() - since >= MOST_SECONDS
                and self._holds_up(room)
            ):
                guard(room.connection, partial(self._close, room))

    def _holds_up(self, room: Room) -> bool:
        """Whether others wait for this room."""
        if room is self.long:
            return bool(self._long)
        return self._short.has_turns or self._short.is_aside(room.network)

    def _look(self, connection: Collecting) -> None:
        if connection.holds_response:
            return
        rooms = self._rooms[connection]
        left = [room for room in rooms if not room.whole]
        if len(left) == len(rooms):
            return
        if left:
            self._rooms[connection] = left
        else:
            del self._rooms[connection]
            connection.pace(False)
        for room in rooms:
            if room.whole:
                self._leave(room)
        self._let_read(connection)  # what waited may have come whole, when reading stopped
        self._give()

    def _let_read(self, connection: Collecting) -> None:
        """Read from the broker of a connection, unless the rest of a response waits for room."""
        rooms = self._rooms.get(connection, ())
        waits = any(room.since is None and not room.whole for room in rooms)
        connection.await_room(waits)

    def _give(self) -> None:
        """Give room to those whose turn it is, as far as there is."""
        while (room := self._short.first()) is not None:
            held = self._by_network.get(room.network, 0)
            if held + room.size > self._share:
                self._short.set_aside(room.network)
                continue
            if self.total + room.size > self._most:
                break
            self._by_network[room.network] = held + room.size
            self.total += room.size
            self._give_to(room, self._short)
        if self.long is None and (room := self._long.first()) is not None:
            self.long = room
            self._give_to(room, self._long)

    def _give_to(self, room: Room, line: Lines) -> None:
        line.take(room)
        room.since = self._clock()
        self._given[room] = None
        guard(room.connection, partial(self._let_read, room.connection))

    def _leave(self, room: Room) -> None:
        """Take back the room of a response, or its place in the line."""
        network = room.network
        if room.since is None:
            self._long.drop(room)
            self._short.drop(room)
        elif room is self.long:
            del self._given[room]
            self.long = None
            self._long.postpone(network)  # others may have come since it had its turn
        elif room in self._given:
            del self._given[room]
            self.total -= room.size
            left = self._by_network[network] - room.size
            if left:
                self._by_network[network] = left
            else:
                del self._by_network[network]
            self._short.take_back(network)

    def _close(self, room: Room) -> None:
        reason = f"{UNTAKEN}: {room.size} bytes"
        if room.whole:
            room.connection.drop_client(reason)
        else:
            room.connection.reset(reason)
