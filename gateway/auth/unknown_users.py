"""Made-up credentials for unknown users of SCRAM: like the credentials of known users, and always
the same, so clients cannot find out users by trying.

An unknown user resembles a known user: the next on a ring of hashes. So every gateway shows the
same, and a change of one credential changes the made-up credentials of only a few unknown users.
The ring follows the catalog's credentials in steps of milliseconds, because there may be 50,000 of
them.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
import time
from bisect import bisect
from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from gateway.catalog.entities import ScramCredential

Credentials: TypeAlias = Mapping[tuple[str, str], ScramCredential]
"""The catalog's credentials, by mechanism and user."""

DEFAULT_ITERATIONS: Final = 4_096

STEP_SECONDS: Final = 0.002
"""Seconds for which one step follows the credentials, on the event loop."""

_WORD: Final = b"0123456789abcdefghijklmnopqrstuvwxyz"
_KEY_SIZES: Final = {"SCRAM-SHA-256": 32, "SCRAM-SHA-512": 64}
_SALT_SIZE: Final = 26
_ARCS: Final = 256
_BETWEEN_LOOKS: Final = 64
"""Credentials that are placed before the clock is read again."""

_Arc: TypeAlias = list[tuple[bytes, ScramCredential]]


class UnknownUsers:
    """Makes up credentials for unknown users that look like the catalog's credentials."""

    def __init__(self) -> None:
        self._ring: _Ring | None = None
        self._next: _Ring | None = None
        self._secret = secrets.token_bytes(32)

    def credential(self, known: Credentials, mechanism: str, user: str) -> ScramCredential:
        """The credential of a user that is not among the ``known``; no proof fits its keys."""
        size = _KEY_SIZES[mechanism]
        place = _place(mechanism, user)
        like = self._followed(known).after(mechanism, place)
        if like is None:  # there is no credential to look like
            key, iterations, length, alphabet = self._secret, DEFAULT_ITERATIONS, _SALT_SIZE, _WORD
        else:
            key, iterations, length = like.server_key, like.iterations, len(like.salt)
            alphabet = _WORD if like.salt.isalnum() else b""
        salt = hashlib.shake_256(hmac.digest(key, place, "sha256")).digest(length)
        if alphabet:
            salt = bytes(alphabet[byte % len(alphabet)] for byte in salt)
        return ScramCredential(
            user, mechanism, iterations, salt, secrets.token_bytes(size), secrets.token_bytes(size)
        )

    def follow(self, known: Credentials, seconds: float = STEP_SECONDS) -> None:
        """Place more credentials on the ring of the ``known`` credentials, for so many seconds."""
        if self._next is None:
            if self._ring is not None and self._ring.credentials is known:
                return
            self._next = _Ring(known)
        # A ring that was begun is finished even if the credentials have changed again. Otherwise
        # frequent changes would keep any ring from being finished.
        if self._next.place_more(seconds):
            self._ring, self._next = self._next, None

    def catch_up(self, known: Credentials) -> None:
        """Complete the ring of the ``known`` credentials at once, while no client waits."""
        while self._ring is None or self._ring.credentials is not known:
            self.follow(known, math.inf)

    def _followed(self, known: Credentials) -> _Ring:
        """The ring of the ``known`` credentials; until it is complete, the former ring. Only the
        first ring is waited for."""
        self.follow(known)
        while self._ring is None:
            self.follow(known)
        return self._ring


class _Ring:
    """Credentials in the order of their places, in arcs that are sorted when they are needed."""

    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials
        self._left: Iterator[tuple[tuple[str, str], ScramCredential]] = iter(credentials.items())
        self._arcs: dict[str, list[_Arc]] = {}
        self._sorted: set[tuple[str, int]] = set()

    def place_more(self, seconds: float) -> bool:
        """Place credentials for so many seconds; True once all are placed."""
        until = time.perf_counter() + seconds
        while True:
            for _ in range(_BETWEEN_LOOKS):
                entry = next(self._left, None)
                if entry is None:
                    return True
                (mechanism, user), credential = entry
                arcs = self._arcs.get(mechanism)
                if arcs is None:
                    arcs = self._arcs[mechanism] = [[] for _ in range(_ARCS)]
                place = _place(mechanism, user)
                arcs[place[0]].append((place, credential))
            if time.perf_counter() >= until:
                return False

    def after(self, mechanism: str, place: bytes) -> ScramCredential | None:
        """The credential that follows a place, or None if the mechanism has none."""
        arcs = self._arcs.get(mechanism)
        if arcs is None:
            return None
        first = place[0]
        arc = self._arc(mechanism, first)
        at = bisect(arc, place, key=_place_of)
        if at < len(arc):
            return arc[at][1]
        following = (number % _ARCS for number in range(first + 1, first + 1 + _ARCS))
        return self._arc(mechanism, next(number for number in following if arcs[number]))[0][1]

    def _arc(self, mechanism: str, number: int) -> _Arc:
        arc = self._arcs[mechanism][number]
        if (mechanism, number) not in self._sorted:
            arc.sort(key=_place_of)
            self._sorted.add((mechanism, number))
        return arc


def _place_of(entry: tuple[bytes, ScramCredential]) -> bytes:
    return entry[0]


def _place(mechanism: str, user: str) -> bytes:
    return hashlib.sha256(f"{mechanism}/{user}".encode(errors="replace")).digest()
