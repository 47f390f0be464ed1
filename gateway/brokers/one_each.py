"""One entry of a broker's response for each thing that the gateway's own request asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from protocol.pausing import paced

Key = TypeVar("Key")
Entry = TypeVar("Entry")


class NotAnswered(ConnectionError):
    """A broker has responded, but not about what the gateway asked for. Like a broker that does not
    respond, it leaves open what was done."""


def one_each(
    asked: Iterable[Key], entries: Iterable[Entry], key_of: Callable[[Entry], object]
) -> dict[Key, Entry | None]:
    """The entry for each thing ``asked`` for, in that order; ``key_of`` returns the thing that an
    entry is about.

    The value is None for a thing that the response leaves out, and for a thing that it has twice,
    because the entries may contradict each other. What nobody asked for is dropped. So a caller
    decides what no answer means, and cannot mistake it for a success.
    """
    found: dict[Key, Entry | None] = dict.fromkeys(asked)
    by_key: dict[object, Key] = {key: key for key in paced(found)}
    seen: set[object] = set()
    for entry in paced(entries):
        key = key_of(entry)
        if key in by_key:
            found[by_key[key]] = None if key in seen else entry
            seen.add(key)
    return found


def only_one(asked: Key, entries: Iterable[Entry], key_of: Callable[[Entry], object]) -> Entry:
    """The entry for the one thing ``asked`` for. Raises :class:`NotAnswered` where
    :func:`one_each` has None."""
    entry = one_each((asked,), entries, key_of)[asked]
    if entry is None:
        raise NotAnswered(f"the broker's response has no single result for {asked!r}")
    return entry
