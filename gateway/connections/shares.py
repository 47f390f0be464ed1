"""A budget of bytes that addresses, or tenants, share: who has room of it, and who waits.

Each address may have a share, which is half of the budget at most. Addresses take turns, those who
wait at one address come in order, and none overtakes one that waits for the budget, so the longest
comes, too. What an address has leaves as much as any other may need, so one address alone never
delays others, whatever it does with its room.

What is longer than a share takes nothing of the budget. There is a single place for it: they come
one after the other, addresses in turns, and all others pass them by.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar


class Wanting(Protocol):
    """Whatever needs room: ``size`` bytes of the share of ``sharer``, a client's address or its
    tenant."""

    @property
    def sharer(self) -> Hashable: ...
    @property
    def size(self) -> int: ...


Entry = TypeVar("Entry", bound=Wanting)


class Lines(Generic[Entry]):
    """Those who wait: of an address in order, addresses in turns. Addresses whose next has to wait
    for another of their own are set aside, and have no turns."""

    def __init__(self) -> None:
        # Ordered, because a dict would look through all that has left its front to find the first.
        self._turns: OrderedDict[Hashable, OrderedDict[Entry, None]] = OrderedDict()
        self._aside: dict[Hashable, OrderedDict[Entry, None]] = {}

    def __bool__(self) -> bool:
        return bool(self._turns or self._aside)

    def __contains__(self, sharer: Hashable) -> bool:
        return sharer in self._turns or sharer in self._aside

    @property
    def has_turns(self) -> bool:
        """Whether an address waits for others."""
        return bool(self._turns)

    def is_aside(self, sharer: Hashable) -> bool:
        """Whether an address waits for its own."""
        return sharer in self._aside

    def add(self, entry: Entry) -> None:
        line = self._aside.get(entry.sharer)
        if line is None:
            line = self._turns.setdefault(entry.sharer, OrderedDict())
        line[entry] = None

    def first(self) -> Entry | None:
        """The one whose turn it is."""
        return next(iter(next(iter(self._turns.values())))) if self._turns else None

    def take(self, entry: Entry) -> None:
        """Take out the one whose turn it was; its address has its next turn after others."""
        line = self._turns[entry.sharer]
        del line[entry]
        if line:
            self._turns.move_to_end(entry.sharer)
        else:
            del self._turns[entry.sharer]

    def set_aside(self, sharer: Hashable) -> None:
        self._aside[sharer] = self._turns.pop(sharer)

    def take_back(self, sharer: Hashable) -> None:
        """Let an address that was set aside have turns again."""
        line = self._aside.pop(sharer, None)
        if line is not None:
            self._turns[sharer] = line

    def postpone(self, sharer: Hashable) -> None:
        """Let an address have its next turn after all others that wait now."""
        if sharer in self._turns:
            self._turns.move_to_end(sharer)

    def drop(self, entry: Entry) -> None:
        """Drop one that does not wait any more, if it did."""
        self.take_back(entry.sharer)
        line = self._turns.get(entry.sharer)
        if line is not None and entry in line:
            del line[entry]
            if not line:
                del self._turns[entry.sharer]


class Shares(Generic[Entry]):
    """The budget of ``most`` bytes. ``per_address`` are the bytes that an address may have, half of
    the budget at most. ``give`` is called for each entry that gets its room.

    ``given``: those that have room. ``total``: the bytes of the budget that they have. ``long``:
    the one in the place of those that are longer than a share.
    """

    def __init__(self, most: int, per_address: int, give: Callable[[Entry], object]) -> None:
        self._most = most
        # Half at most: with more, one address could leave too little for the longest of another.
        self.share = min(per_address, most // 2)
        self._give = give
        self._short, self._long = Lines[Entry](), Lines[Entry]()
        self._by_sharer: dict[Hashable, int] = {}
        self.given: dict[Entry, None] = {}
        self.total = 0
        self.long: Entry | None = None

    def __bool__(self) -> bool:
        """Whether anything has room, or waits for it."""
        return bool(self.given or self._by_sharer or self._short or self._long)

    def enter(self, entry: Entry) -> None:
        """Give an entry room, or let it wait."""
        (self._long if entry.size > self.share else self._short).add(entry)
        self.go_on()

    def leave(self, entry: Entry) -> None:
        """Take the room of an entry back, or its place in the line. Others get it by
        :meth:`go_on`."""
        sharer = entry.sharer
        if entry not in self.given:
            self._long.drop(entry)
            self._short.drop(entry)
            return
        del self.given[entry]
        if entry is self.long:
            self.long = None
            self._long.postpone(sharer)  # others may have come since it had its turn
            return
        self.total -= entry.size
        left = self._by_sharer[sharer] - entry.size
        if left:
            self._by_sharer[sharer] = left
        else:
            del self._by_sharer[sharer]
        self._short.take_back(sharer)

    def go_on(self) -> None:
        """Give room to those whose turn it is, as far as there is."""
        while (entry := self._short.first()) is not None:
            held = self._by_sharer.get(entry.sharer, 0)
            if held + entry.size > self.share:
                self._short.set_aside(entry.sharer)
                continue
            if self.total + entry.size > self._most:
                break
            self._by_sharer[entry.sharer] = held + entry.size
            self.total += entry.size
            self._give_to(entry, self._short)
        if self.long is None and (entry := self._long.first()) is not None:
            self.long = entry
            self._give_to(entry, self._long)

    def _give_to(self, entry: Entry, line: Lines[Entry]) -> None:
        line.take(entry)
        self.given[entry] = None
        self._give(entry)

    def delays(self, entry: Entry) -> bool:
        """Whether others wait for the room that an entry has."""
        if entry is self.long:
            return bool(self._long)
        return self._short.has_turns or self._short.is_aside(entry.sharer)

    def lacks_share(self, entry: Entry) -> bool:
        """Whether an entry that waits would not if addresses might have more."""
        return entry.size > self.share or self._short.is_aside(entry.sharer)

    def has_waiting(self, sharer: Hashable) -> bool:
        """Whether anything of an address waits for room."""
        return sharer in self._short or sharer in self._long
