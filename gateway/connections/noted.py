"""Requests that a client has under way when a freeze is read, and whether they are over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Final

from gateway.connections.closing import UNREAD, UNSENT
from gateway.connections.connection import Connection
from gateway.connections.lane import Lane
from gateway.exchanges.exchange import Exchange
from gateway.session.naming import Concerns, count_names, leaves_behind, may_concern
from gateway.session.silent import Silent
from protocol.pausing import FEW, paced

TO_READ: Final = 2.0
"""Seconds for a client to read the responses to its requests, so that the gateway reads on from the
broker."""

TO_SEND: Final = 5.0
"""Seconds for a client to send the rest of a request. The broker does nothing of it before that."""


class Held:
    """A request of a client that a change of the catalog waits for, and the ``connection`` or lane
    that it is on. ``leaves``: brokers may go on with it after the connection has ended."""

    def __init__(self, connection: Connection | Lane, *, leaves: bool) -> None:
        self.connection = connection
        self.leaves = leaves

    def is_over(self) -> bool:
        """Whether the request is done, although the connection is still open."""
        raise NotImplementedError

    def has_left(self) -> bool:
        """Whether brokers may still be at work on the request, although the connection has
        ended."""
        raise NotImplementedError


class _OfLane(Held):
    """The request of a lane; it is over when the lane ends."""

    connection: Lane

    def __init__(self, lane: Lane, request: Exchange, *, leaves: bool) -> None:
        super().__init__(lane, leaves=leaves)
        self._request = request

    def is_over(self) -> bool:
        return False

    def has_left(self) -> bool:
        lane = self.connection
        return self.leaves and lane.sent and lane.session.has_under_way(self._request)


class _OfConnection(Held):
    """A request on a client's own connection."""

    connection: Connection

    def __init__(self, connection: Connection, *, leaves: bool) -> None:
        super().__init__(connection, leaves=leaves)
        self._unread_at: float | None = None

    def is_over(self) -> bool:
        """See :meth:`Held.is_over`. A client that does not read is closed, or it would delay the
        change for ever: the response may have arrived already."""
        if self._is_done():
            return True
        if self._unread_at is None and self.connection.read_slowly:
            self._unread_at = monotonic()
        elif self._unread_at is not None and monotonic() - self._unread_at >= TO_READ:
            self.connection.drop_client(UNREAD)
        return False

    def has_left(self) -> bool:
        return self.leaves and not self._is_done()

    def _is_done(self) -> bool:
        raise NotImplementedError


class _Request(_OfConnection):
    """The last of the noted requests that a connection's broker has not answered, because the
    earlier requests are answered before it; or the request that the client has not wholly sent."""

    def __init__(self, connection: Connection, request: Exchange, *, leaves: bool) -> None:
        super().__init__(connection, leaves=leaves)
        self._request = request
        self._since = monotonic()

    def is_over(self) -> bool:
        if self._request is self.connection.session.streamed and (
            monotonic() - self._since >= TO_SEND
        ):
            self.connection.reset(UNSENT)
        return super().is_over()

    def has_left(self) -> bool:
        # A broker does nothing with part of a request. If the rest came, it is not streamed any
        # more.
        return self._request is not self.connection.session.streamed and super().has_left()

    def _is_done(self) -> bool:
        return not self.connection.session.has_under_way(self._request)


class _Silent(_OfConnection):
    """Requests without a response (acks=0), behind which the gateway sends a request of its own."""

    def __init__(self, connection: Connection, silent: Silent) -> None:
        super().__init__(connection, leaves=True)
        self._silent = silent

    def is_over(self) -> bool:
        if not self._is_done():
            self.connection.prove()
        return super().is_over()

    def _is_done(self) -> bool:
        return self.connection.session.silent is not self._silent


@dataclass(frozen=True, slots=True)
class Noted:
    """The requests that a session has under way, whose names were not read yet."""

    owner: Connection | Lane
    # The requests that were forwarded whole.
    requests: Sequence[Exchange]
    # The request whose rest is still to be forwarded.
    streamed: Exchange | None
    # The requests without a response.
    silent: Silent | None

    @classmethod
    def of(cls, owner: Connection | Lane) -> Noted | None:
        """Note the requests that a client's connection, or a lane, has under way; None if it has
        none."""
        session = owner.session
        requests, streamed, silent = session.under_way, session.streamed, session.silent
        if not requests and streamed is None and silent is None:
            return None
        return cls(owner, requests, streamed, silent)

    def concerning(self, concerns: Concerns) -> Iterator[Held]:
        """The noted requests that may name these topics. May take several slices."""
        owner, streamed, silent = self.owner, self.streamed, self.silent
        concerning = [one for one in paced(self.requests) if may_concern(one, concerns)]
        leaves = any(map(leaves_behind, concerning))
        if isinstance(owner, Lane):
            if concerning:
                yield _OfLane(owner, concerning[-1], leaves=leaves)
            return
        if concerning:
            yield _Request(owner, concerning[-1], leaves=leaves)
        if streamed is not None and may_concern(streamed, concerns):
            yield _Request(owner, streamed, leaves=leaves_behind(streamed))
        if silent is not None and any(map(concerns, silent.topics())):
            yield _Silent(owner, silent)


def are_few(noted: Iterable[Noted], most: int = FEW) -> bool:
    """Whether so few requests are under way, with at most so many names, that their names are read
    at once."""
    left = most
    for one in noted:
        left -= 1 + len(one.requests) + (0 if one.silent is None else one.silent.size)
        for exchange in (*one.requests, one.streamed) if left > 0 else ():
            left -= 0 if exchange is None else count_names(exchange)
        if left <= 0:
            return False
    return True
