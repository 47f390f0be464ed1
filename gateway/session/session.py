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

from gateway.apis.records import fetch
from gateway.exchanges.exchange import Exchange, Interlude, Refresh, Work
from gateway.exchanges.framing import Buffer
from gateway.exchanges.state import ConnectionState
from gateway.flows import Flow
from gateway.session.deciding import Deciding, Restoring
from gateway.session.in_flight import InFlight
from gateway.session.requests import Requests
from gateway.session.responses import Responses
from gateway.views.access import Access


class Session:
    """The state of one client connection and its broker connection."""

    __slots__ = ("_in_flight", "_requests", "_responses", "state", "to_broker", "to_client")

    def __init__(self, state: ConnectionState) -> None:
        self.state = state
        self._in_flight = InFlight()
        self._requests = Requests(state, self._in_flight)
        self._responses = Responses(state, self._in_flight)
        self.to_broker: list[Buffer] = self._requests.to_broker
        self.to_client: list[Buffer] = self._in_flight.to_client

    @property
    def waiting(self) -> Refresh | Work | Interlude | Deciding | None:
        """What must be done before :meth:`resume`; None while nothing must."""
        return self._requests.waiting

    @property
    def restoring(self) -> Restoring | None:
        """A long response that is to be restored before :meth:`restored`; None: there is none."""
        return self._responses.restoring

    @property
    def working(self) -> str:
        """Kafka's name of the API whose work is done now; empty: none is."""
        return self._requests.working

    @property
    def saturated(self) -> bool:
        """Whether so many requests wait that reading from the client should stop."""
        return self._in_flight.saturated

    @property
    def quiet(self) -> bool:
        """Whether nothing is under way, so that a drain may close the connection."""
        requests = self._requests
        return not self._in_flight.queue and not requests.streaming and requests.waiting is None

    @property
    def streaming(self) -> bool:
        """Whether the rest of a request that was sent on is still to come."""
        return self._requests.streaming

    @property
    def owing(self) -> bool:
        """Whether the broker is still to answer what a client wants no answer to (acks=0), of what
        was sent whole."""
        streamed = self._requests.streamed
        queue = self._in_flight.queue or ()
        return any(exchange.swallowed and exchange is not streamed for exchange in queue)

    @property
    def mid_request(self) -> bool:
        """Whether a request has begun to arrive and the rest of it has not."""
        return self._requests.incomplete

    def client_data(self, data: bytes) -> None:
        """Take bytes from the client. Raises ProtocolError for what no client may send."""
        self._requests.data(data)

    def broker_data(self, data: bytes) -> None:
        """Take bytes from the broker. Raises ProtocolError for what no broker may send."""
        self._responses.data(data)

    def resume(self, body: bytes | None = None) -> None:
        """Go on after what ``waiting`` asked for has been done; ``body`` is what work gave."""
        self._requests.resume(body)

    def restored(self) -> None:
        """Go on after ``restoring`` is done. Raises ProtocolError."""
        self._responses.resume()

    def interject(self, interlude: Interlude) -> None:
        """Let ``waiting`` be this between two of the client's requests, as soon as may be."""
        self._requests.interject(interlude)

    def ask(self, exchange: Exchange, request: bytes) -> None:
        """Send a request frame of the gateway's own, during an interlude.

        Its plan's ``on_response`` gets the answer in its turn, and gives None.
        """
        self.to_broker.append(request)
        self._in_flight.expect(exchange)
        self._in_flight.sent()

    def take_flows(self) -> Collection[Flow]:
        """What has been counted since the last call; see ``ConnectionState.take_flows``."""
        return self.state.take_flows((*self._in_flight.flows(), *self._requests.flows()))

    def finish(self) -> None:
        """Begin no more requests; what the client sends from here on is dropped, but for the rest
        of a request that streams."""
        self._requests.finish()

    def abandon(self) -> None:
        """Let go of what is being decided or restored: the connection has ended."""
        waiting, restoring = self._requests.waiting, self._responses.restoring
        if isinstance(waiting, Deciding):
            waiting.slices.abandon()
        if restoring is not None:
            restoring.slices.abandon()

    def break_off(self) -> None:
        """Wait for nothing more, after an Unanswerable: what was decided before it may leave."""
        self._requests.waiting = None
        self._in_flight.sent()

    def see(self, access: Access) -> None:
        """Go on with another access: the catalog has changed.

        What is in flight is checked again: a Fetch that asks for what the client may not reach
        any more, or not by that name, is answered as one of a session that is gone.
        """
        self.state.see(access)
        for exchange in self._in_flight.queue or ():
            fetch.recheck(self.state, exchange)
