"""The audit log of a process: gives each event an id and a time, and passes it to the sinks.

The methods that take events neither wait nor raise, so that any code on the event loop can call
them. If the queue of a sink is full, the event is dropped there, and counted.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import count
from typing import Final

from gateway.audit.catalog_changes import changes_of
from gateway.audit.event import KIND_OF, AuditEvent, AuthenticationFailure, Happening, Revocation
from gateway.audit.fields import TYPES
from gateway.catalog.source import Committed
from gateway.counts import Row
from gateway.flows import Denial, FlowSource
from gateway.identity import ANONYMOUS
from gateway.places import NO_PLACE, Place
from gateway.sinks.record_writer import RecordSink
from protocol.pausing import pause_point

MAX_FAILURES: Final = 200
"""Failed logins that are kept between two calls of :meth:`Audit.take_failures`."""

STOP_SECONDS: Final = 2.0
"""Seconds to write the queued events at the end: a worker is killed 5 s after its drain."""


class Audit:
    """Writes the events of a process to ``sinks``; without sinks it counts nothing, and only keeps
    the latest failed logins. ``clock`` gives seconds since 1970."""

    def __init__(
        self,
        sinks: Sequence[RecordSink[AuditEvent]] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._sinks = sinks
        self._clock = clock
        # Ids have to be unique for a source, even after a restart.
        self._run = secrets.token_hex(8)
        self._numbers = count(1)
        self._events = dict.fromkeys(TYPES, 0)
        self._failures: deque[AuthenticationFailure] = deque(maxlen=MAX_FAILURES)

    async def start(self) -> None:
        """Begin to write. Raises SinkError, and OSError if the cluster does not respond."""
        for sink in self._sinks:
            await sink.start()

    async def stop(self) -> None:
        """Write the events so far, within a few seconds; events that come later are dropped."""
        await asyncio.gather(*(sink.stop(STOP_SECONDS) for sink in self._sinks))

    def denied(self, denial: Denial) -> None:
        """Note that a rule rejected an item of a request."""
        self._put(denial)

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
        """Note that a client at ``address`` (``host:port``) did not prove its identity.

        - ``mechanism``: the mechanism by which it tried, or empty.
        - ``user``: the name that it claimed, as far as that is known.
        - ``reason``: a sentence for operators, without secrets.
        - ``principal``: the connection's principal until now, if the client re-authenticates.
        """
        failure = AuthenticationFailure(listener, address, mechanism, user, reason, principal)
        self._failures.append(failure)
        self._put(failure)

    def take_failures(self) -> Sequence[AuthenticationFailure]:
        """The failed logins since the last call, the latest :data:`MAX_FAILURES`."""
        taken = list(self._failures)
        self._failures.clear()
        return taken

    def connection_revoked(self, source: FlowSource, reason: str) -> None:
        """Note that an admitted client's connection is closed: its right to stay has ended."""
        self._put(Revocation(source, reason))

    def catalog_changed(self, changes: Sequence[Committed], place: Place = NO_PLACE) -> None:
        """Note changes of the catalog of the cluster at ``place`` that this process has
        committed."""
        if self._sinks:
            for change in changes:
                pause_point()  # a change may list 5,000 ACLs
                for part in changes_of(change, place):
                    self._put(part)

    def take_rows(self) -> Sequence[Row]:
        """The counts since the last call, for the metrics."""
        if not self._sinks:
            return ()
        rows: list[Row] = [
            ("audit_events", (TYPES[kind],), number) for kind, number in self._events.items()
        ]
        self._events = dict.fromkeys(TYPES, 0)
        for sink in self._sinks:
            rows += sink.take_rows("audit_written", "audit_dropped")
        return rows

    @property
    def queued(self) -> int:
        """Events that wait to be written, in all sinks together."""
        return sum(sink.queued for sink in self._sinks)

    def _put(self, what: Happening) -> None:
        if not self._sinks:
            return
        event = AuditEvent(f"{self._run}-{next(self._numbers)}", self._clock(), what)
        self._events[KIND_OF[type(what)]] += 1
        for sink in self._sinks:
            sink.put(event)


NO_AUDIT: Final = Audit()
"""The audit log without a directory or a topic."""
