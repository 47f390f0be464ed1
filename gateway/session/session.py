"""One client connection's protocol, without sockets: bytes in, bytes out (sans-IO).

``client_data`` and ``broker_data`` take what arrived and fill ``to_broker`` and ``to_client``;
the connection writes those out after each call. Requests go to the broker in order and their
responses come back in order, so a queue of exchanges matches them; an answer of the gateway's
own waits in the same queue for its turn.

A request that needs something read anew, or done, first (``waiting``) stops the reading of
further requests until ``resume``; responses go on. Any ProtocolError ends the connection.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from gateway.apis.records import fetch
from gateway.exchanges.exchange import Exchange
from gateway.exchanges.framing import Buffer
from gateway.exchanges.state import ConnectionState
from gateway.flows import Flow
from gateway.session.deciding import Deciding, Restoring
from gateway.session.in_flight import MAX_IN_FLIGHT, InFlight
from gateway.session.requests import Requests
from gateway.session.responses import Responses
from gateway.views.access import Access

HELD_BACK: Final = frozenset({"Fetch", "JoinGroup", "SyncGroup"})
"""APIs whose responses brokers hold back: until there are records, or until a group is complete."""


class Session(Requests):
    """The state of one client connection and its broker connection."""

    __slots__ = ("_responses", "to_client")

    def __init__(self, state: ConnectionState) -> None:
        in_flight = InFlight()
        super().__init__(state, in_flight)
        self._responses = Responses(state, in_flight)
        self.to_client: list[Buffer] = in_flight.to_client

    @property
    def restoring(self) -> Restoring | None:
        """A long response that is to be restored before :meth:`restored`; None: there is none."""
        return self._responses.restoring

    @property
    def saturated(self) -> bool:
        """Whether so many requests wait that reading from the client should stop."""
        queue = self._in_flight.queue
        return queue is not None and len(queue) >= MAX_IN_FLIGHT

    @property
    def quiet(self) -> bool:
        """Whether nothing is under way, so that a drain may close the connection."""
        if self._stream_left or self.waiting is not None:
            return False
        queue = self._in_flight.queue
        return not queue or (not self._waits and all(map(_may_be_held_back, queue)))

    @property
    def owing(self) -> bool:
        """Whether the broker still owes a response to a request that was forwarded whole and whose
        client wants none (acks=0)."""
        streamed = self._streamed if self._stream_left else None
        queue = self._in_flight.queue or ()
        return any(exchange.swallowed and exchange is not streamed for exchange in queue)

    def take_flows(self) -> Collection[Flow]:
        """The counts since the last call; see ``ConnectionState.take_flows``."""
        under_way = self.waiting.exchange if isinstance(self.waiting, Deciding) else self._working
        held = [] if under_way is None else under_way.flows()
        return self.state.take_flows((*self._in_flight.flows(), *held))

    def broker_data(self, data: bytes) -> None:
        """Take bytes from the broker. Raises ProtocolError for what no broker may send."""
        self._responses.data(data)

    def restored(self) -> None:
        """Go on after ``restoring`` is done. Raises ProtocolError."""
        self._responses.resume()

    def ask(self, exchange: Exchange, request: bytes) -> None:
        """Send a request frame of the gateway's own, during an interlude.

        Its plan's ``on_response`` gets the response in its turn, and gives None.
        """
        self.to_broker.append(request)
        self._in_flight.expect(exchange)
        self._in_flight.sent()

    def abandon(self) -> None:
        """Drop what is being decided or restored: the connection has ended."""
        if isinstance(self.waiting, Deciding):
            self.waiting.slices.abandon()
        if self._responses.restoring is not None:
            self._responses.restoring.slices.abandon()

    def break_off(self) -> None:
        """Wait for nothing more, after an Unanswerable: what was decided before it is written."""
        self.waiting = None
        self._in_flight.sent()

    def see(self, access: Access) -> None:
        """Go on with another access: the catalog has changed.

        A Fetch in flight that asks for what the client may not reach any more, or not by that name,
        is answered as one of a session that is gone.
        """
        self.state.see(access)
        for exchange in self._in_flight.queue or ():
            fetch.recheck(self.state, exchange)


def _may_be_held_back(exchange: Exchange) -> bool:
    """Whether a broker may wait before it responds, and nothing of the response is there yet. The
    request changes nothing that its client cannot ask for again."""
    return exchange.plan.name in HELD_BACK and exchange.stream is None
