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
"""Seconds without a further line after a line about skipped records."""

_MAX_SHOWN: Final = 5
_MAX_KEY: Final = 100
_MAX_TEXT: Final = 200


class SkipLog:
    """The count of records that a reader has skipped. ``clock`` returns seconds.

    If a log is read once more, the same records are skipped again; they count once.
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
        """Entities that the log had, and that were missing when it was last read."""

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
        """Log the entities that are missing after a read of the log from its beginning to its
        end."""
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
        """The log is another log: its offsets begin anew."""
        self._counted_to = -1

    def take_rows(self) -> list[Row]:
        """Counts of skipped records since the last call, by reason, for the metrics."""
        counts, self._counts = self._counts, Counter()
        return [("catalog_skipped_records", (reason,), count) for reason, count in counts.items()]


def _shown(text: str) -> str:
    """A text that a foreign writer may have a part in: on one line, and not too long."""
    return text.encode("unicode_escape").decode()[:_MAX_TEXT]


MAX_ABSENT: Final = 1_000
"""Keys of junk records without an entity that are kept at most."""


class Skipped(NamedTuple):
    """A record that is not believed: its offset, its key, and why. ``decision`` is the decision
    that its headers name; empty without such a header."""

    offset: int
    key: bytes | None
    reason: str
    text: str
    decision: str


class Damage:
    """Keys whose newest record is junk, as far as the log was read."""

    def __init__(self, before: Damage | None = None, read_to: float = float("inf")) -> None:
        """``before`` is of an earlier reading of the log, which has come to offset ``read_to`` and
        has missed nothing since it first came to the end."""
        # Whether the state of the entity was known when the junk was read.
        self._keys: dict[Key, bool] = {}
        self._before = {} if before is None else before._keys
        self._read_to = read_to

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, key: Key) -> bool:
        return key in self._keys

    def add(self, key: bytes | None, offset: int, *, known: bool) -> None:
        """Add the key of a junk record; ``known``: every record before it has been read."""
        entity = entity_key(key)
        if entity is None:
            return
        known = known or offset >= self._read_to or self._before.get(entity, False)
        self._keys[entity] = known and self._keys.get(entity, True)

    def heal(self, change: Change) -> None:
        """Remove the key of a change: a gateway has written the entity after the junk."""
        if self._keys:
            self._keys.pop(key_of(change), None)

    def bound(self, snapshot: Snapshot) -> None:
        """Forget keys without an entity beyond :data:`MAX_ABSENT`; no entity is lost by that."""
        if len(self._keys) > MAX_ABSENT:
            absent = [key for key in self._keys if snapshot.entity(key) is None]
            for key in absent[: len(absent) - MAX_ABSENT]:
                del self._keys[key]

    def changes(self, snapshot: Snapshot, *, everything: bool = False) -> Iterator[Change]:
        """The changes to write so that later readers find the entities of ``snapshot``.

        Another gateway may have an entity that is not in the snapshot. So it is removed only if it
        is known that it did not exist, or if ``everything`` is to be mended.
        """
        for key, known in list(self._keys.items()):
            entity = snapshot.entity(key)
            if entity is not None:
                yield entity
            elif known or everything:
                yield Removal(key)

    def unknown(self, snapshot: Snapshot) -> list[Key]:
        """The keys of which this reader does not know whether junk has replaced an entity."""
        return [
            key for key, known in self._keys.items() if not known and snapshot.entity(key) is None
        ]
