"""The memory that members of groups take, in bytes. An object that several members have, as equal
subscriptions are, counts once.

Sizes are those of CPython's objects. They leave out what everybody has (the scope of a key), and
count the names of a subscription and the names that reach its topics, which mostly are the same
strings, twice: too much rather than too little.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from sys import getsizeof
from typing import Final

from protocol.pausing import paced

OWN_BYTES: Final = 500
"""Bytes of a member besides its ids and its subscription: itself, its key, and its place in the
tables of its scope."""

Part = tuple[object, int]
"""An object, and its bytes."""


class KeptParts:
    """The objects that the members of a scope have. ``total``: their bytes."""

    __slots__ = ("_parts", "total")

    def __init__(self) -> None:
        # Object's identity -> its holders, and its bytes. Holders keep what is counted for them, so
        # no other object has this identity meanwhile.
        self._parts: dict[int, tuple[int, int]] = {}
        self.total = 0

    def __len__(self) -> int:
        return len(self._parts)

    def add(self, parts: Iterable[Part]) -> None:
        """Count objects for a holder."""
        for part, size in parts:
            holders, known = self._parts.get(id(part), (0, size))
            self._parts[id(part)] = (holders + 1, known)
            if not holders:
                self.total += known

    def remove(self, parts: Iterable[object]) -> None:
        """Count objects for a holder no more."""
        for part in parts:
            holders, size = self._parts.pop(id(part))
            if holders > 1:
                self._parts[id(part)] = (holders - 1, size)
            else:
                self.total -= size


def bytes_of_ids(group_id: str, member_id: str) -> int:
    """The bytes of a member without a subscription: equal ids give as many, whatever CPython has
    cached of them."""
    ids = group_id + member_id
    return OWN_BYTES + (1 if ids.isascii() else 4) * len(ids)


def bytes_of_names(names: tuple[str, ...]) -> int:
    """The bytes of names."""
    return getsizeof(names) + sum(getsizeof(name) for name in paced(names))


def bytes_of_reached(reached: Mapping[bytes, str]) -> int:
    """The bytes of topics, and of the names that reach them."""
    entries = paced(reached.items())
    return getsizeof(reached) + sum(getsizeof(flat) + getsizeof(name) for flat, name in entries)
