"""The memory for a listener's responses that are collected before their clients get them.

Most responses are short, and records pass as they arrive. A response whose edits depend on what
stands at its end is collected: ShareFetch (broker addresses stand behind the records), a Fetch
whose names change by different lengths, long listings. Its size is in its first bytes, so its
connection asks for room for all of it then. There is a budget for all connections of the listener,
of which each address has a share (``shares``). If there is no room, the gateway stops
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
from collections.abc import Callable
from functools import partial
from time import monotonic
from typing import Final, Protocol

from gateway.config.security import CollectedResponses
from gateway.connections.closing import UNTAKEN, Guarded, guard
from gateway.connections.shares import Shares
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

    __slots__ = ("_rooms", "connection", "sharer", "since", "size", "whole")

    def __init__(self, rooms: CollectedBytes, connection: Collecting, size: int) -> None:
        self._rooms = rooms
        self.connection = connection
        self.sharer = network_of(connection.host)
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
    """The rooms at one listener of a worker.

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
        self._clock = clock
        self._rooms: dict[Collecting, list[Room]] = {}
        self._shares = Shares[Room](limits.max_bytes, limits.max_bytes_per_ip, self._give)
        is_half = self._shares.share < limits.max_bytes_per_ip
        self._share_setting = "max_bytes" if is_half else "max_bytes_per_ip"
        self._behind: dict[str, list[asyncio.Future[None]]] = {}

    @property
    def total(self) -> int:
        """The bytes of the budget that are given."""
        return self._shares.total

    @property
    def long(self) -> Room | None:
        """The response in the place of those that are longer than a share."""
        return self._shares.long

    def enter(self, connection: Collecting, size: int) -> Room:
        """Give a response room, or let its connection wait for it."""
        room = Room(self, connection, size)
        connection.pace(True)
        self._rooms.setdefault(connection, []).append(room)
        self._shares.enter(room)
        if room.since is None:
            lacks_share = self._shares.lacks_share(room)
            self._waited(self._share_setting if lacks_share else "max_bytes")
            connection.await_room(True)
        return room

    async def caught_up(self, host: str) -> None:
        """Wait until no response for an address waits for room: before, no other is made for it."""
        network = network_of(host)
        while self._shares.has_waiting(network):
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._behind.setdefault(network, []).append(turn)
            await turn

    def _go_on(self) -> None:
        self._shares.go_on()
        for network in [*self._behind]:
            if not self._shares.has_waiting(network):
                for turn in self._behind.pop(network):
                    if not turn.done():  # its connection may have ended
                        turn.set_result(None)

    def look(self, connection: Collecting) -> None:
        """Take the rooms back of responses that the client of a connection has taken."""
        if connection in self._rooms:
            guard(connection, partial(self._look, connection))

    def forget(self, connection: Collecting) -> None:
        """Take the rooms of a connection back, which is gone."""
        for room in self._rooms.pop(connection, ()):
            self._shares.leave(room)
        self._go_on()

    def sweep(self) -> None:
        """Look after all rooms, and close whoever has had one for too long while others wait.
        Called once a second."""
        for room in [*self._shares.given]:
            self.look(room.connection)
            since = room.since
            if (
                room in self._shares.given
                and since is not None
                and self._clock() - since >= MOST_SECONDS
                and self._shares.delays(room)
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
                self._shares.leave(room)
        self._let_read(connection)  # what waited may have come whole, when reading stopped
        self._go_on()

    def _let_read(self, connection: Collecting) -> None:
        """Read from the broker of a connection, unless the rest of a response waits for room."""
        rooms = self._rooms.get(connection, ())
        waits = any(room.since is None and not room.whole for room in rooms)
        connection.await_room(waits)

    def _give(self, room: Room) -> None:
        room.since = self._clock()
        guard(room.connection, partial(self._let_read, room.connection))

    def _close(self, room: Room) -> None:
        reason = f"{UNTAKEN}: {room.size} bytes"
        if room.whole:
            room.connection.drop_client(reason)
        else:
            room.connection.reset(reason)
