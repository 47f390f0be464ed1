"""Answers of peers that are not believed: each is counted, and some are logged."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from gateway.counts import Counts
from gateway.foreign_text import one_line
from gateway.referrals.believing import Lie
from gateway.referrals.questions import Answer

log = logging.getLogger(__name__)

LOOKUPS: Final = "tree_lookups"
"""The family that counts the outcomes of lookups, by peer and outcome."""

CONFLICTS: Final = "tree_number_conflicts"
"""The family that counts answers for a mount whose number another mount has, by number and
mounts."""

LIED: Final = "lied"
CONFLICT: Final = "number_conflict"

LOG_SECONDS: Final = 60.0
"""Seconds for which a peer's disbelieved answers with the same reason are a single line."""

MAX_LOGGED: Final = 1_000
"""Peers and reasons whose latest log line is remembered."""


class Lies:
    """The answers that a worker has not believed. ``counts`` None: nothing is counted."""

    def __init__(self, counts: Counts | None, clock: Callable[[], float] = time.monotonic) -> None:
        """``clock`` returns seconds from any fixed point."""
        self._counts = counts
        self._clock = clock
        self._log_at: dict[tuple[str, str | None], float] = {}

    def note(self, peer: str, answer: Answer, lie: Lie) -> None:
        """Count an answer that is not believed, and log it unless a similar answer was just
        logged."""
        self._count(peer, answer, lie)
        now, kind = self._clock(), (peer, lie.holder)
        if now < self._log_at.get(kind, now):
            return
        if len(self._log_at) >= MAX_LOGGED:
            self._log_at.clear()
        self._log_at[kind] = now + LOG_SECONDS
        log.warning("not believed: %s", one_line(lie.text))

    def _count(self, peer: str, answer: Answer, lie: Lie) -> None:
        if self._counts is None:
            return
        outcome = LIED if lie.holder is None else CONFLICT
        self._counts.add(LOOKUPS, (peer, outcome), 1)
        if lie.holder is not None:
            mounts = f":{answer.mount}", f":{lie.holder}"
            self._counts.add(CONFLICTS, (str(answer.number), *mounts), 1)
