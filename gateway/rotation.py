"""Turns and places of long work: tenants take turns, and so do the addresses that they come from.

If all waited in a single line, a tenant with 30 connections would delay each request of another by
30 slices for each of its own. So everybody waits in a line of one tenant at one address, and who is
next is decided twice, in turns: by tenant, whatever the number of its addresses, and by address,
whatever the number of its tenants. Neither many logins nor many addresses give a client more than
half of the turns.

Places limit the work that is under way together, and so its memory. A tenant never takes so many
that others find none left. What the gateway does for itself has places of its own, and turns: a
right that is revoked does not wait for those who use it.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Final, Generic, NamedTuple, TypeVar

T = TypeVar("T")

TENANTS_AT_ONCE: Final = 4
BESIDE_AT_ONCE: Final = 1
OWN_AT_ONCE: Final = 2
REVOKED_AT_ONCE: Final = 1
"""Pieces of long work of a worker that are under way together at the sides of its rota, some 100 MB
each at worst; the others wait after their first slice."""


class Line(NamedTuple):
    """Those who wait one after the other: the clients of a tenant at an address, or work of the
    gateway's own that has one purpose."""

    tenant: Hashable
    address: Hashable


class Rotation(Generic[T]):
    """Items that wait in lines. Every other item is that of the next tenant, and every other that
    of the next address. A line that was served goes behind all others. Empty lines are
    forgotten."""

    def __init__(self) -> None:
        self._lines: dict[Line, OrderedDict[T, None]] = {}
        # Tenants with their lines, and addresses with theirs. The next of each comes first.
        self._orders: tuple[OrderedDict[Hashable, OrderedDict[Line, None]], ...] = (
            OrderedDict(),
            OrderedDict(),
        )
        self._by = 0

    def __len__(self) -> int:
        """The number of lines in which anything waits."""
        return len(self._lines)

    def add(self, line: Line, item: T) -> None:
        """Put an item at the end of a line."""
        waiting = self._lines.get(line)
        if waiting is None:
            waiting = self._lines[line] = OrderedDict()
            for order, key in zip(self._orders, line, strict=True):
                order.setdefault(key, OrderedDict())[line] = None
        waiting[item] = None

    def number_in(self, line: Line) -> int:
        """The number of items that wait in a line."""
        return len(self._lines.get(line, ()))

    def discard(self, line: Line, item: T) -> None:
        """Take an item out of a line; does nothing if it is not there."""
        waiting = self._lines.get(line)
        if waiting is not None and item in waiting:
            del waiting[item]
            if not waiting:
                self._forget(line)

    def take(self, may: Callable[[Line], bool] | None = None) -> tuple[Line, T] | None:
        """Take the next item out of its line. Lines that ``may`` not be served keep their turn.
        Returns None if there is no other."""
        for lines in self._orders[self._by].values():
            for line in lines:
                if may is None or may(line):
                    self._by = 1 - self._by
                    return line, self._taken(line)
        return None

    def _taken(self, line: Line) -> T:
        waiting = self._lines[line]
        item, _ = waiting.popitem(last=False)
        for order, key in zip(self._orders, line, strict=True):
            order.move_to_end(key)
            order[key].move_to_end(line)
        if not waiting:
            self._forget(line)
        return item

    def _forget(self, line: Line) -> None:
        del self._lines[line]
        for order, key in zip(self._orders, line, strict=True):
            lines = order[key]
            del lines[line]
            if not lines:
                del order[key]


class Places:
    """A number of places, and who has them. A tenant takes no place unless it leaves as many free
    as it has before, and an address leaves one to the others."""

    def __init__(self, number: int) -> None:
        self.free = number
        self._most_at_address = max(1, number - 1)
        self._held: tuple[dict[Hashable, int], ...] = ({}, {})

    def may_take(self, line: Line) -> bool:
        """Whether a place is free for a line."""
        by_tenant, by_address = self._held
        return (
            by_tenant.get(line.tenant, 0) < self.free
            and by_address.get(line.address, 0) < self._most_at_address
        )

    def take(self, line: Line) -> None:
        """Take a place, which :meth:`may_take` has allowed."""
        self.free -= 1
        for held, key in zip(self._held, line, strict=True):
            held[key] = held.get(key, 0) + 1

    def give_back(self, line: Line) -> None:
        """Give back a place."""
        self.free += 1
        for held, key in zip(self._held, line, strict=True):
            held[key] -= 1
            if not held[key]:
                del held[key]


class Side:
    """A side of the rota: who waits for a turn, and who has a place or waits for one."""

    def __init__(self, places: int) -> None:
        self.turns: Rotation[asyncio.Future[None]] = Rotation()
        self.places = Places(places)
        self.waiting: Rotation[asyncio.Future[None]] = Rotation()

    async def take_place(self, line: Line) -> None:
        """Wait for a place. If the caller is cancelled, it has none."""
        if self.places.may_take(line):  # those who wait may not, or they would have it
            self.places.take(line)
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.add(line, place)
        try:
            await place
        except BaseException:
            if place.done() and not place.cancelled():
                self.give_place_back(line)
            else:
                self.waiting.discard(line, place)
            raise

    def give_place_back(self, line: Line) -> None:
        """Give a place back, and all that are free to those who wait."""
        self.places.give_back(line)
        while (found := self.waiting.take(self.places.may_take)) is not None:
            its_line, place = found
            if not place.done():  # else it was cancelled just now
                self.places.take(its_line)
                place.set_result(None)

    def next_turn(self) -> bool:
        """Give the next turn; returns False if nobody waits for it."""
        while (found := self.turns.take()) is not None:
            _, turn = found
            if not turn.done():
                turn.set_result(None)
                return True
        return False


class Rota:
    """The turns of an event loop, one in each of its rounds, and the places of its long work. The
    sides at which anything waits take turns.

    - ``tenants``: requests and responses of clients.
    - ``beside``: what is done for a tenant beside them, such as a look at its rights.
    - ``own``: the gateway's own work, such as a cluster's listing.
    - ``revoked``: requests in flight that are checked again, because a right has ended.
    """

    def __init__(self) -> None:
        self.tenants = Side(TENANTS_AT_ONCE)
        self.beside = Side(BESIDE_AT_ONCE)
        self.own = Side(OWN_AT_ONCE)
        self.revoked = Side(REVOKED_AT_ONCE)
        self._sides = deque((self.revoked, self.own, self.beside, self.tenants))
        self._ticking = False

    async def turn(self, side: Side, line: Line) -> None:
        """Wait for a turn."""
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        side.turns.add(line, turn)
        if not self._ticking:
            self._ticking = True
            loop.call_soon(self._tick, loop)
        try:
            await turn
        finally:
            side.turns.discard(line, turn)  # it is still there if the caller was cancelled

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        for side in [*self._sides]:
            self._sides.rotate(-1)
            if side.next_turn():
                break
        self._ticking = any(side.turns for side in self._sides)
        if self._ticking:
            loop.call_soon(self._tick, loop)
