"""The audit log of one process: takes what happened, gives it an id and a time, passes it on.

Each place that events go to has a queue of its own, so that one that is slow or broken holds up
neither the other nor any client. What a queue has no room for is dropped there, and counted.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Final, Protocol

from gateway.audit.catalog_changes import told
from gateway.audit.event import AuditEvent, AuthenticationFailure, Happening, Revocation, kind_of
from gateway.audit.fields import TYPES
from gateway.audit.interface import Audit
from gateway.catalog.source import Committed
from gateway.counts import Row
from gateway.flows import Denial, FlowSource
from gateway.identity import ANONYMOUS

STOP_SECONDS: Final = 2.0
"""For what still waits at the end: a worker is killed 5 s after its drain."""


class EventSink(Protocol):
    """A place that events go to. ``name`` is its label in metrics."""

    name: str

    async def start(self) -> None:
        """Begin to write. Raises AuditError, and OSError when the cluster does not answer."""
        ...

    def put(self, event: AuditEvent) -> None:
        """Queue an event, or drop and count it. Does not wait."""
        ...

    async def stop(self, seconds: float) -> None:
        """Write what waits, for at most so long; the rest is dropped and counted."""
        ...

    @property
    def queued(self) -> int:
        """Events that wait."""
        ...

    def take_counts(self) -> tuple[int, Mapping[str, int]]:
        """How many were written since the last call, and how many dropped, by reason."""
        ...


class AuditHub(Audit):
    """See :class:`gateway.audit.interface.Audit`. ``clock`` tells seconds since 1970."""

    def __init__(self, sinks: Sequence[EventSink], clock: Callable[[], float] = time.time) -> None:
        self._sinks = sinks
        self._clock = clock
        # Ids have to be unique for a source, also after a restart.
        self._run = secrets.token_hex(8)
        self._numbers = count(1)
        self._events = dict.fromkeys(TYPES, 0)

    async def start(self) -> None:
        """See :class:`gateway.audit.interface.Audit`."""
        for sink in self._sinks:
            await sink.start()

    async def stop(self) -> None:
        """See :class:`gateway.audit.interface.Audit`."""
        await asyncio.gather(*(sink.stop(STOP_SECONDS) for sink in self._sinks))

    def denied(self, denial: Denial) -> None:
        """See :class:`gateway.audit.interface.Audit`."""
        self._happened(denial)

    def authentication_failed(
        self,
        listener: str,
        address: str,
        mechanism: str,
        user: str | None,
        reason: str,
        *,
        principal: str = ANONYMOUS.principal,
    ) -> None:
        """See :class:`gateway.audit.interface.Audit`."""
        self._happened(AuthenticationFailure(listener, address, mechanism, user, reason, principal))

    def connection_revoked(self, source: FlowSource, reason: str) -> None:
        """See :class:`gateway.audit.interface.Audit`."""
        self._happened(Revocation(source, reason))

    def catalog_changed(self, changes: Sequence[Committed]) -> None:
        """See :class:`gateway.audit.interface.Audit`."""
        for change in changes:
            for part in told(change):
                self._happened(part)

    def take_rows(self) -> Sequence[Row]:
        """See :class:`gateway.audit.interface.Audit`."""
        rows: list[Row] = [
            ("audit_events", (TYPES[kind],), number) for kind, number in self._events.items()
        ]
        self._events = dict.fromkeys(TYPES, 0)
        for sink in self._sinks:
            written, dropped = sink.take_counts()
            rows.append(("audit_written", (sink.name,), written))
            rows += [
                ("audit_dropped", (sink.name, reason), number) for reason, number in dropped.items()
            ]
        return rows

    @property
    def queued(self) -> int:
        """See :class:`gateway.audit.interface.Audit`."""
        return sum(sink.queued for sink in self._sinks)

    def _happened(self, what: Happening) -> None:
        event = AuditEvent(f"{self._run}-{next(self._numbers)}", self._clock(), what)
        self._events[kind_of(event)] += 1
        for sink in self._sinks:
            sink.put(event)
