"""Why client connections end: counted, and logged as far as that helps."""

from __future__ import annotations

import logging
from typing import Final

from gateway.connections.acceptor import TOO_MANY_OF_ONE
from gateway.connections.admission import TOO_LATE
from gateway.connections.guarding import INTERNAL
from gateway.connections.lingering import TOO_MANY
from gateway.tls.handshake import FAILED, FULL

log = logging.getLogger(__name__)

LOGGED_FEW_TIMES: Final = frozenset(
    {
        "a change failed",
        "no broker connection",
        "authentication failed",
        TOO_LATE,
        FAILED,
        FULL,
        TOO_MANY,
        TOO_MANY_OF_ONE,
        INTERNAL,
    }
)
"""Kinds of ends that clients can bring about as often as they like."""

LOGGED_A_SECOND: Final = 5
"""Ends of each of those kinds that are logged between two collections, a second apart."""


class ConnectionEnds:
    """One worker's."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def note(
        self,
        listener: str,
        address: str,
        reason: str,
        *,
        quietly: bool,
        error: Exception | None = None,
    ) -> None:
        """A connection ended; the kind of its ``reason`` is what stands before the colon.

        ``error`` is a defect of the gateway that was the cause; its traceback is logged.
        """
        kind = reason.partition(":")[0]
        count = self._counts[kind] = self._counts.get(kind, 0) + 1
        quietly = quietly or (kind in LOGGED_FEW_TIMES and count > LOGGED_A_SECOND)
        failed = logging.WARNING if error is None else logging.ERROR
        level = logging.DEBUG if quietly else failed
        log.log(level, "%s on %s: %s", address, listener, reason, exc_info=error)

    def take(self) -> dict[str, int]:
        """How many there were of each kind since the last call."""
        counts, self._counts = self._counts, {}
        return counts
