"""Skipped records of the catalog's topic: their count, and the entities they may have replaced.

Compaction keeps the newest record of a key, also where no gateway wrote it.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from gateway.catalog.entities import Change, Key, Removal, key_of
from gateway.catalog.log.records import entity_key, record_key
from gateway.catalog.snapshot import Snapshot
from gateway.counts import Row

log = logging.getLogger(__name__)

LOG_SECONDS: Final = 60.0
"""After a line about skipped records none follows for so long."""

_MAX_SHOWN: Final = 5
_MAX_KEY: Final = 100
_MAX_TEXT: Final = 200


class SkipLog:
    """The count of records that one reader has skipped. ``clock`` returns seconds.

    A log that is read once more tells of the same records again; they count once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counted_to = -1
        self._counts: Counter[str] = Counter()
        self._not_logged = 0
        self._logged_at = float("-inf")
        self.total = 0
        """Records skipped so far."""
        self.lost = 0
        """Entities that the log had, and that were not found in it when it was last read."""

    def note(self, skipped: Sequence[Skipped]) -> None:
        """Count these records, and log them unless others were logged just now."""
        new = [one for one in skipped if one.offset > self._counted_to or one.offset < 0]
        if not new:
            return
        self._counted_to = max(self._counted_to, new[-1].offset)
        self._counts.update(one.reason for one in new)
        self.total += len(new)
        self._not_logged += len(new)
        if self._clock() - self._logged_at < LOG_SECONDS:
            return
        one, self._logged_at = new[0], self._clock()
        log.error(
            "the catalog's topic holds what no gateway wrote: %d records are skipped, such as the"
            " one at offset %d (key %r, %s: %s); find out who else may write to it",
            self._not_logged,
            one.offset,
            (one.key or b"")[:_MAX_KEY],
            one.reason,
            _shown(one.text),
        )
        self._not_logged = 0

    def note_lost(self, missing: int, unknown: Sequence[Key]) -> None:
        """Log what a log lacks that was read from its beginning to its end."""
        if not missing:
            return
        names = [record_key(key).decode() for key in unknown[:_MAX_SHOWN]]
        log.error(
            "the catalog lacks %d entities that it had (%s): let a gateway that still has them"
            " write them again, or import an export",
            missing,
            f"junk stands at {', '.join(names)}" if names else "it is not known which",
        )

    def forget(self) -> None:
        """The log is another one: its offsets begin anew."""
        self._counted_to = -1

    def take_rows(self) -> list[Row]:
        """Counts of skipped records since the last call, by reason, for the metrics."""
        counts, self._counts = self._counts, Counter()
        return [("catalog_skipped_records", (reason,), count) for reason, count in counts.items()]


def _shown(text: str) -> str:
    """A text that somebody else may have a part in: on one line, and not too long."""
    return text.encode("unicode_escape").decode()[:_MAX_TEXT]


MAX_ABSENT: Final = 1_000
"""Keys of junk that stand for nothing that there is, so many are kept at most."""


class Skipped(NamedTuple):
    """A record that is not believed: where it stands, its key, and why. ``decision`` is the one
    that it says it belongs to; empty if it does not say so."""

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
        """The changes to write so that later readers find what is in ``snapshot``.

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
