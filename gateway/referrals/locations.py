"""Locations: whose the paths are that were looked for, remembered for some seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, NamedTuple


class Location(NamedTuple):
    """Where a path is: the mount that has it, that mount's number, and the peer to ask."""

    mount: str
    number: int
    peer: str


NOBODY: Final = Location("", 0, "")
"""Nobody has the path. A mount has a number, 1 at least."""

_Entries = dict[str, tuple[float, Location]]
"""Path -> (when it expires, location), the oldest first."""


class Locations:
    """The locations of paths, and the paths that nobody has.

    Of each there are at most ``limit``; then the oldest is forgotten. They are apart, so that
    clients that try many names of no mount do not make the gateway forget where the mounts are.
    """

    def __init__(
        self,
        *,
        expiry_seconds: float,
        unknown_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        limit: int = 10_000,
    ) -> None:
        """``expiry_seconds``: how long a location is remembered, ``unknown_seconds``: how long that
        nobody has a path. ``limit`` is 1 or more."""
        self._expiry_seconds = expiry_seconds
        self._unknown_seconds = unknown_seconds
        self._clock = clock
        self._limit = limit
        self._known: _Entries = {}
        self._unknown: _Entries = {}

    def __len__(self) -> int:
        return len(self._known) + len(self._unknown)

    def find(self, path: str) -> Location | None:
        """The location of a path, :data:`NOBODY` if nobody has it, or None if not known, or
        expired."""
        entry = self._known.get(path) or self._unknown.get(path)
        if entry is None:
            return None
        if self._clock() < entry[0]:
            return entry[1]
        self.forget(path)
        return None

    def note(self, path: str, location: Location) -> None:
        """Remember where a path is, from now on."""
        self.forget(path)
        self._put(self._known, path, location, self._expiry_seconds)

    def note_nobody(self, path: str) -> None:
        """Remember that nobody has a path, from now on."""
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
