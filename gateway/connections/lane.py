"""One request of a client in another volume of a tree, from its decision to its answer."""

from __future__ import annotations

import logging
from collections.abc import Callable

from gateway.brokers.connection import BrokerConnection
from gateway.session.session import Session
from gateway.slices import Budget, Slices, Turns, in_slices
from gateway.views.access import Access

log = logging.getLogger(__name__)


class Outdated(Exception):
    """What was decided is not allowed any more: the request has to be decided again."""


class Lane:
    """A request that is decided by one state of the catalog and done by a broker a little later:
    there has to be a connection first, and brokers may be slow. So it is checked again before it
    is sent, and at each change of the catalog until it is answered.

    ``look_up`` gives the access of now. ``changes``: the broker changes something for it.
    ``sent``: a broker may have it. ``outdated``: it is not allowed any more.
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
        """As of the client's own connection."""
        return self.session.state.source.client_address

    async def check(self, connection: BrokerConnection, turns: Turns) -> None:
        """Check what was decided once more before ``connection`` sends it, which it does at once
        then. Long requests take several turns. Raises Outdated."""
        while True:
            self.see()
            await self.check_doubted(turns)
            if self.outdated:
                raise Outdated
            if self.session.state.access is self._look_up():
                self._connection, self.sent = connection, True
                return

    def answered(self) -> None:
        """The broker has answered, or never will: other requests may be on the connection now."""
        self._connection = None

    def see(self, budget: Budget | None = None) -> None:
        """Go on with the access of now. What is not allowed any more is kept from being done, as
        far as the broker has not begun; an answer that only tells something is not given. What the
        ``budget`` has no time for is doubted."""
        access = self._look_up()
        if access is not self.session.state.access and not self.session.see(access, budget):
            self.end()

    async def check_doubted(self, turns: Turns) -> None:
        """The same for long requests: see ``Session.check_doubted``."""
        session = self.session
        if session.doubted and not await in_slices(turns, Slices(session.check_doubted)):
            self.end()

    def end(self) -> None:
        """The request is not allowed any more."""
        if not self.outdated and self.changes and self._connection is not None:
            self._connection.reset()
        self.outdated = True

    def fail(self, error: Exception) -> None:
        """To look at it again has failed."""
        log.error("a request for another volume was not checked again", exc_info=error)
        self.end()
