"""The memory for a listener's responses that are collected before their clients get them.

Most responses are short, and records pass as they arrive. A response whose edits depend on what
stands at its end is collected: ShareFetch (broker addresses stand behind the records), a Fetch
whose names change by different lengths, long listings. Its size is in its first bytes, so its
connection asks for room for all of it then. There is a budget for all connections of the listener,
and a budget for each address. If there is no room, the gateway stops reading from that broker until
others have given theirs back, which costs the client time and nothing else.

No connection waits with part of what it needs, so none waits for another that waits: a response has
all of its room before more of it is read, and then its broker and its client alone decide when it
ends. Addresses take turns, and the connections of an address come in order; none overtakes a
response that waits for the listener's budget, so the longest comes, too. A connection that has had
room for MOST_SECONDS while others wait for it is closed: its client does not read, or its broker
has stopped in the middle of a response.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Final, Protocol

from gateway.config.security import CollectedResponses
from gateway.connections.closing import UNTAKEN, Guarded, guard
from gateway.peers import network_of

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


class CollectedBytes:
    """The rooms at one listener of a worker. ``total`` is the number of bytes that are given.

    ``waited`` is called for each response that has to wait, with the setting for want of which it
    does: ``max_bytes_per_ip`` if its address has its share, else ``max_bytes``.
    """

    def __init__(
        self,
        limits: CollectedResponses,
        clock: Callable[[], float] = monotonic,
        waited: Callable[[str], object] = lambda setting: None,
    ) -> None:
        self._waited = waited
        self._most = limits.max_bytes
        self._per_ip = limits.max_bytes_per_ip
        self._clock = clock
        self._rooms: dict[Collecting, list[Room]] = {}
        self._given: dict[Room, None] = {}
        self._by_network: dict[str, int] = {}
        # What waits, by address. An address is either in ``_turns``, or has its share and is in
        # ``_full``.
        self._lines: dict[str, dict[Room, None]] = {}
        self._turns: deque[str] = deque()
        self._full: set[str] = set()
        self.total = 0

    def enter(self, connection: Collecting, size: int) -> Room:
        """Give a response room, or let its connection wait for it."""
        room = Room(self, connection, size)
        connection.pace(True)
        self._rooms.setdefault(connection, []).append(room)
        if room.network not in self._lines:
            self._lines[room.network] = {}
            self._turns.append(room.network)
        self._lines[room.network][room] = None
        self._give()
        if room.since is None:
            self._waited("max_bytes_per_ip" if room.network in self._full else "max_bytes")
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
                and (self._turns or room.network in self._full)
            ):
                guard(room.connection, partial(self._close, room))

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
                if room.since is None:  # all of it was on its way when reading stopped
                    connection.await_room(False)
        self._give()

    def _give(self) -> None:
        """Give room to those whose turn it is, as far as there is."""
        while self._turns:
            network = self._turns[0]
            line = self._lines[network]
            if not line:
                self._turns.popleft()
                del self._lines[network]
                continue
            room = next(iter(line))
            held = self._by_network.get(network, 0)
            if held and held + room.size > self._per_ip:
                self._turns.popleft()
                self._full.add(network)
                continue
            if self.total and self.total + room.size > self._most:
                return
            self._turns.rotate(-1)
            del line[room]
            room.since = self._clock()
            self._given[room] = None
            self._by_network[network] = held + room.size
            self.total += room.size
            guard(room.connection, partial(room.connection.await_room, False))

    def _leave(self, room: Room) -> None:
        """Take back the room of a response, or its place in the line."""
        network = room.network
        if room.since is None:
            self._lines[network].pop(room, None)
        elif room in self._given:
            del self._given[room]
            self.total -= room.size
            left = self._by_network[network] - room.size
            if left:
                self._by_network[network] = left
            else:
                del self._by_network[network]
        if network in self._full:
            self._full.discard(network)
            self._turns.append(network)

    def _close(self, room: Room) -> None:
        reason = f"{UNTAKEN}: {room.size} bytes"
        if room.whole:
            room.connection.drop_client(reason)
        else:
            room.connection.reset(reason)
