"""What junk in the catalog's topic may have replaced: compaction keeps the newest record of a key,
also where no gateway wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from gateway.catalog.entities import Change, Key, Removal, key_of
from gateway.catalog.records import entity_key
from gateway.catalog.snapshot import Snapshot

MAX_ABSENT: Final = 1_000
"""Keys of junk that stand for nothing that there is, so many are kept at most."""


class Skipped(NamedTuple):
    """A record that is not believed: where it stands, its key, and why. ``decision`` is the one
    that it says it belongs to; empty where it does not say so."""

    offset: int
    key: bytes | None
    reason: str
    text: str
    decision: str


class Damage:
    """Keys whose newest record is junk, as far as the log was read."""

    def __init__(self, before: Damage | None = None, read_to: float = float("inf")) -> None:
        """``before`` is of an earlier reading of the log, which has come to offset ``read_to``
        and has missed nothing since it first came to the end."""
        # Whether the state of the entity was known when the junk came.
        self._keys: dict[Key, bool] = {}
        self._before = {} if before is None else before._keys
        self._read_to = read_to

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: Key) -> bool:
        return key in self._keys

    def add(self, key: bytes | None, offset: int, *, known: bool) -> None:
        """Junk has this key; ``known``: all that was written before it has been read."""
        entity = entity_key(key)
        if entity is None:
            return
        known = known or offset >= self._read_to or self._before.get(entity, False)
        self._keys[entity] = known and self._keys.get(entity, True)

    def heal(self, change: Change) -> None:
        """A gateway has written the entity after the junk."""
        if self._keys:
            self._keys.pop(key_of(change), None)

    def bound(self, snapshot: Snapshot) -> None:
        """Forget of those that stand for nothing what is too much: it loses nothing."""
        if len(self._keys) > MAX_ABSENT:
            absent = [key for key in self._keys if snapshot.entity(key) is None]
            for key in absent[: len(absent) - MAX_ABSENT]:
                del self._keys[key]

    def changes(self, snapshot: Snapshot, *, everything: bool = False) -> Iterator[Change]:
        """What to write so that ``snapshot`` is what later readers find.

        An entity that it does not hold is removed only if it is known that there was none, or if
        ``everything`` is to be mended: else another gateway may still have it.
        """
        for key, known in list(self._keys.items()):
            entity = snapshot.entity(key)
            if entity is not None:
                yield entity
            elif known or everything:
                yield Removal(key)

    def unknown(self, snapshot: Snapshot) -> list[Key]:
        """The keys of which this reader cannot say what junk has replaced, if anything."""
        return [
            key for key, known in self._keys.items() if not known and snapshot.entity(key) is None
        ]
