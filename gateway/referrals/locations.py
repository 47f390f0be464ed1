"""Locations: the owners of paths that were looked up, remembered for some seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NamedTuple


class Location(NamedTuple):
    """The owner of a path: its mount, the mount's number, and the peer to query."""

    mount: str
    number: int
    peer: str


NOBODY: Final = Location("", 0, "")
"""The location of a path without an owner. A mount's number is 1 at least."""

_Entries = dict[str, tuple[float, Location]]
"""Path -> (time of expiry, location), the oldest first."""


class Locations:
    """The locations of paths, and the paths without an owner.

    There are at most ``limit`` of each; then the oldest is forgotten. The two are kept apart, so
    that clients that try many names of no mount do not make the gateway forget the mounts.
    """

    def __init__(
        self,
        *,
        expiry_seconds: float,
        unknown_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        limit: int = 10_000,
    ) -> None:
        """``expiry_seconds``: how long a location is remembered; ``unknown_seconds``: how long a
        path without an owner is remembered. ``limit`` is 1 or more."""
        self._expiry_seconds = expiry_seconds
        self._unknown_seconds = unknown_seconds
        self._clock = clock
        self._limit = limit
        self._known: _Entries = {}
        self._unknown: _Entries = {}

    def __len__(self) -> int:
        return len(self._known) + len(self._unknown)

    def find(self, path: str) -> Location | None:
        """The location of a path, :data:`NOBODY` for a path without an owner; None if the location
        is not known, or has expired."""
        entry = self._known.get(path) or self._unknown.get(path)
        if entry is None:
            return None
        if self._clock() < entry[0]:
            return entry[1]
        self.forget(path)
        return None

    def note(self, path: str, location: Location) -> None:
        """Remember the location of a path from now on."""
        self.forget(path)
        self._put(self._known, path, location, self._expiry_seconds)

    def note_nobody(self, path: str) -> None:
        """Remember from now on that a path has no owner."""
        self.forget(path)
        self._put(self._unknown, path, NOBODY, self._unknown_seconds)

    def forget(self, path: str) -> None:
        """Forget a path; does nothing if it is not known."""
        self._known.pop(path, None)
        self._unknown.pop(path, None)

    def _put(self, entries: _Entries, path: str, location: Location, seconds: float) -> None:
        if len(entries) >= self._limit:
            del entries[next(iter(entries))]
        entries[path] = (self._clock() + seconds, location)
