"""The interface of the audit log: what happens is handed over, at once and without waiting.

Nothing here waits or raises, so that it can be called from anywhere on the event loop. What keeps
the events is gateway/audit/hub.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gateway.catalog.source import Committed
from gateway.counts import Row
from gateway.flows import Denial, FlowSource
from gateway.identity import ANONYMOUS


class AuditError(Exception):
    """Events cannot be kept where the configuration says; the text says why, and what to do."""


class Audit:
    """Takes what happened in one process. This one keeps nothing: see :data:`NO_AUDIT`."""

    async def start(self) -> None:
        """Begin to keep. Raises AuditError, and OSError when the cluster does not answer."""

    async def stop(self) -> None:
        """Keep what has come so far, within a few seconds; what comes later is dropped."""

    def denied(self, denial: Denial) -> None:
        """A rule refused one item of a request."""

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
        """A client at ``address`` (``host:port``) did not prove who it is.

        ``user`` is the name it claimed (None: not known), ``mechanism`` how it tried to prove it
        (empty: not known), ``reason`` a sentence for operators, without secrets. ``principal`` is
        who the connection was before, where it authenticates again.
        """

    def connection_revoked(self, source: FlowSource, reason: str) -> None:
        """An admitted client's connection is closed: its right to be there has ended."""

    def catalog_changed(self, changes: Sequence[Committed]) -> None:
        """This process has committed changes of the catalog."""

    def take_rows(self) -> Sequence[Row]:
        """What was counted since the last call, for the metrics."""
        return ()

    @property
    def queued(self) -> int:
        """Events that wait to be written, in all places together."""
        return 0


NO_AUDIT: Final = Audit()
"""Where neither a directory nor a topic is configured."""
