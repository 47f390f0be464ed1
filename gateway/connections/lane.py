"""A client's request for another volume of a tree, from its decision to its response."""

from __future__ import annotations

import logging
from collections.abc import Callable

from gateway.brokers.connection import BrokerConnection
from gateway.session.session import Session
from gateway.slices import Budget, Slices, Turns, in_slices
from gateway.views.access import Access

log = logging.getLogger(__name__)


class Outdated(Exception):
    """A request was decided, and is not allowed any more: it has to be decided again."""


class Lane:
    """A request for another volume, from its decision until a broker has answered it.

    It is decided by a state of the catalog and sent a little later, because there has to be a
    connection first, and brokers may be slow. So it is checked again before it is sent, and at each
    change of the catalog until it is answered.

    ``look_up`` returns the current access. ``changes``: the request changes something at the
    broker. ``sent``: a broker may have it. ``outdated``: it is not allowed any more.
    """

    __slots__ = ("_connection", "_look_up", "changes", "listener", "outdated", "sent", "session")

    def __init__(
        self, session: Session, look_up: Callable[[], Access], listener: str, *, changes: bool
    ) -> None:
        self.session = session
        self.listener = listener
        self.changes = changes
        self.sent = self.outdated = False
        self._look_up = look_up
        self._connection: BrokerConnection | None = None

    @property
    def client_address(self) -> str:
        """The ``host:port`` of the client's own connection."""
        return self.session.state.source.client_address

    async def check(self, connection: BrokerConnection, turns: Turns) -> None:
        """Check the decision again before ``connection`` sends the request, which it does
        immediately afterwards. Long requests take several turns. Raises Outdated."""
        while True:
            self.see()
            await self.check_doubted(turns)
            if self.outdated:
                raise Outdated
            if self.session.state.access is self._look_up():
                self._connection, self.sent = connection, True
                return

    def answered(self) -> None:
        """Note that the broker has answered, or never will, so other requests may use the
        connection."""
        self._connection = None

    def see(self, budget: Budget | None = None) -> None:
        """Use the current access. If the request is not allowed any more, it ends: a change is
        stopped unless the broker has begun with it, and the response to any other request is
        dropped. If the ``budget`` is spent, the request is doubted."""
        access = self._look_up()
        if access is not self.session.state.access and not self.session.see(access, budget):
            self.end()

    async def check_doubted(self, turns: Turns) -> None:
        """Check a long request with the current access: see ``Session.check_doubted``."""
        session = self.session
        if session.doubted and not await in_slices(turns, Slices(session.check_doubted)):
            self.end()

    def end(self) -> None:
        """Mark the request as not allowed any more; if it is a change, reset its broker
        connection."""
        if not self.outdated and self.changes and self._connection is not None:
            self._connection.reset()
        self.outdated = True

    def fail(self, error: Exception) -> None:
        """End the request after checking it again has failed."""
        log.error("a request for another volume was not checked again", exc_info=error)
        self.end()
