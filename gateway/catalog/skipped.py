"""Account of what the catalog's reader skips: counted, and said in the log now and then."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from gateway.catalog.damage import Skipped
from gateway.catalog.entities import Key
from gateway.catalog.records import record_key
from gateway.counts import Row

log = logging.getLogger(__name__)

LOG_SECONDS: Final = 60.0
"""After a line about skipped records none follows for so long."""

_MAX_SHOWN: Final = 5
_MAX_KEY: Final = 100
_MAX_TEXT: Final = 200


class SkipLog:
    """What one reader has skipped. ``clock`` tells seconds.

    A log that is read once more tells of the same records again; they count once.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._counted_to = -1
        self._counts: Counter[str] = Counter()
        self._not_told = 0
        self._told_at = float("-inf")
        self.total = 0
        """Records skipped so far."""
        self.lost = 0
        """Entities that were missing when the log was last read from its beginning."""

    def note(self, skipped: Sequence[Skipped]) -> None:
        """Count these records, and log them unless others were logged just now."""
        new = [one for one in skipped if one.offset > self._counted_to or one.offset < 0]
        if not new:
            return
        self._counted_to = max(self._counted_to, new[-1].offset)
        self._counts.update(one.reason for one in new)
        self.total += len(new)
        self._not_told += len(new)
        if self._clock() - self._told_at < LOG_SECONDS:
            return
        one, self._told_at = new[0], self._clock()
        log.error(
            "the catalog's topic holds what no gateway wrote: %d records are skipped, such as the"
            " one at offset %d (key %r, %s: %s); find out who else may write to it",
            self._not_told,
            one.offset,
            (one.key or b"")[:_MAX_KEY],
            one.reason,
            _shown(one.text),
        )
        self._not_told = 0

    def note_lost(self, missing: int, unknown: Sequence[Key]) -> None:
        """A log was read to its end: say what it lacks."""
        self.lost = missing
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
        """What was skipped since the last call, for the metrics."""
        counts, self._counts = self._counts, Counter()
        return [("catalog_skipped_records", (reason,), count) for reason, count in counts.items()]


def _shown(text: str) -> str:
    """A text that somebody else may have a part in: on one line, and not too long."""
    return text.encode("unicode_escape").decode()[:_MAX_TEXT]
