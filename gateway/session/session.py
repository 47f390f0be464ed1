"""One client connection's protocol, without sockets: bytes in, bytes out (sans-IO).

``client_data`` and ``broker_data`` take what arrived and fill ``to_broker`` and ``to_client``;
the connection writes those out after each call. Requests go to the broker in order and their
responses come back in order, so a queue of exchanges matches them; an answer of the gateway's
own waits in the same queue for its turn.

A request that needs something read anew, or done, first (``waiting``) stops the reading of
further requests until ``resume``; responses go on. Any ProtocolError ends the connection.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gateway.exchanges.exchange import Exchange
from gateway.exchanges.framing import Buffer
from gateway.exchanges.state import ConnectionState
from gateway.flows import Flow
from gateway.session.deciding import Deciding, Restoring
from gateway.session.in_flight import MAX_IN_FLIGHT, InFlight
from gateway.session.naming import answered_at_once, leaves_behind
from gateway.session.rechecking import may_be_written, may_go_on
from gateway.session.requests import Requests
from gateway.session.responses import Responses
from gateway.session.silent import Silent
from gateway.slices import Budget
from gateway.views.access import Access
from protocol.pausing import FEW, pause_point


class Session(Requests):
    """The state of one client connection and its broker connection. ``reading_client``: an error
    raised by :meth:`broker_data` or :meth:`restored` is the client's, whose held bytes were read.
    """

    __slots__ = ("_responses", "reading_client", "to_client")

    def __init__(self, state: ConnectionState) -> None:
        in_flight = InFlight()
        super().__init__(state, in_flight)
        self._responses = Responses(state, in_flight)
        self.to_client: list[Buffer] = in_flight.to_client
        self.reading_client = False

    @property
    def restoring(self) -> Restoring | None:
        """A long response that is to be restored before :meth:`restored`, or None if there is
        none."""
        return self._responses.restoring

    @property
    def saturated(self) -> bool:
        """Whether so many requests wait that reading from the client should stop."""
        queue = self._in_flight.queue
        return queue is not None and (len(queue) >= MAX_IN_FLIGHT or self.holds_enough)

    @property
    def quiet(self) -> bool:
        """Whether nothing is under way, so that a drain may close the connection."""
        if self._stream_left or self.waiting is not None:
            return False
        queue = self._in_flight.queue
        return not queue or (not self._waits and all(map(_may_be_held_back, queue)))

    @property
    def idle(self) -> bool:
        """Whether nothing is under way or has arrived in part, so that the end of the connection
        costs the client no more than another connection."""
        return not (
            self._stream_left
            or self.waiting is not None
            or self._in_flight.queue
            or self._in_flight.silent is not None
            or len(self._held)
            or self.state.reauth is not None
        )

    @property
    def awaits_answer(self) -> bool:
        """Whether a broker has a request that it need not wait for anything to answer."""
        first = self.first
        return first is not None and answered_at_once(first)

    @property
    def owing(self) -> bool:
        """Whether the broker still owes a response to a request that was forwarded whole and may
        change something, or one is still being decided, or is held behind its responses: when there
        is nothing of that, nothing of it is under way any more."""
        waiting = self.waiting
        if self.behind or (waiting is not None and len(self._held)):
            return True
        if isinstance(waiting, Deciding) and leaves_behind(waiting.exchange):
            return True
        return any(map(leaves_behind, self.under_way))

    @property
    def unsettled(self) -> bool:
        """Whether a broker may still change something for what was forwarded whole."""
        return self._in_flight.silent is not None or any(map(leaves_behind, self.under_way))

    @property
    def under_way(self) -> Sequence[Exchange]:
        """The requests that were forwarded whole and are not answered."""
        streamed = self._streamed if self._stream_left else None
        return [one for one in self._in_flight.queue or () if one is not streamed]

    def has_under_way(self, exchange: Exchange) -> bool:
        """Whether a request, or the rest of it, is under way."""
        return exchange is self.streamed or exchange in (self._in_flight.queue or ())

    @property
    def first(self) -> Exchange | None:
        """The request that the broker handles, if it was forwarded whole, or None if there is
        none."""
        queue = self._in_flight.queue
        return None if not queue or queue[0] is self.streamed else queue[0]

    @property
    def streamed(self) -> Exchange | None:
        """The request that is being forwarded while the rest of it is still to come."""
        return self._streamed if self._stream_left else None

    @property
    def silent(self) -> Silent | None:
        """The requests without a response that the broker may not have carried out yet."""
        return self._in_flight.silent

    def take_flows(self) -> Collection[Flow]:
        """The counts since the last call; see ``ConnectionState.take_flows``."""
        under_way = self.waiting.exchange if isinstance(self.waiting, Deciding) else self._working
        held = [] if under_way is None else under_way.flows()
        return self.state.take_flows((*self._in_flight.flows(), *held))

    def broker_data(self, data: bytes) -> None:
        """Take bytes from the broker. Raises ProtocolError for what no broker may send."""
        self._responses.data(data)
        if self.behind:
            self._go_on()

    def _go_on(self) -> None:
        # Behind a request that streams nothing waits, but for the end of an expired session.
        if self.first is None and self.waiting is None:
            self.reading_client = True
            self.go_on()
            self.reading_client = False

    def restored(self) -> None:
        """Go on after ``restoring`` is done. Raises ProtocolError."""
        self._responses.resume()
        if self.behind:
            self._go_on()

    def abandon(self) -> None:
        """Drop what is being decided or restored: the connection has ended."""
        self.forget_held()
        if self._responses.restoring is not None:
            self._responses.restoring.slices.abandon()

    def break_off(self) -> None:
        """Wait for nothing more, after an Unanswerable: what was decided before it is written."""
        self.waiting = None
        self._in_flight.sent()

    def see(self, access: Access, budget: Budget | None = None) -> bool:
        """Go on with another access: the catalog has changed.

        A Fetch in flight that asks for what the client may not reach any more, or not by that name,
        is answered as one of a session that is gone. False: something else that is in flight, or
        whose end has still to arrive, is not allowed any more, so the connection to the broker has
        to be reset. Long requests are ``doubted``, and so is what the ``budget`` has no time
        for.
        """
        self.state.see(access)
        silent, under_way = self._in_flight.silent, [*(self._in_flight.queue or ())]
        if self.state.view.closed:
            # What was decided while the catalog was known may be done for a while, but not what is
            # not all there, nor what waits for records, whosever those are then.
            streamed = self.streamed
            silent = None
            under_way = [one for one in under_way if one is streamed or one.plan.waits_for_records]
        budget = budget or Budget()
        # Others that were doubted before are in flight still, and so are looked at again.
        self.doubted = [one for one in self.doubted or () if _is_silent(one)] or None
        if silent is not None:
            if silent.has_many or budget.is_spent():
                self.doubt(silent)
            elif not may_be_written(self.state, silent):
                return False
        for at, exchange in enumerate(under_way):
            if budget.is_spent():
                self.doubted = [*(self.doubted or ()), *under_way[at:]]
                break
            if exchange.long or _has_many(exchange):
                self.doubt(exchange)
            elif not may_go_on(self.state, exchange):
                return False
        return True

    def check_doubted(self) -> bool:
        """Check the requests again that are doubted and still in flight; False as of :meth:`see`.
        May take several slices."""
        in_flight = self._in_flight
        while self.doubted:
            pause_point()
            doubted = self.doubted.pop()
            if isinstance(doubted, Silent):
                if in_flight.silent is doubted and not may_be_written(self.state, doubted):
                    return False
                continue
            silent = doubted.silent and in_flight.silent is not None
            if (silent or doubted in (in_flight.queue or ())) and not may_go_on(
                self.state, doubted
            ):
                return False
        return True


def _has_many(exchange: Exchange) -> bool:
    """Whether a request is about many names, which a short Fetch of a long session is, too."""
    return exchange.spelled is not None and len(exchange.spelled) > FEW


def _is_silent(doubted: Exchange | Silent) -> bool:
    return isinstance(doubted, Silent) or doubted.silent


def _may_be_held_back(exchange: Exchange) -> bool:
    """Whether a broker may wait before it responds, and nothing of the response is there yet. The
    request changes nothing that its client cannot ask for again."""
    return exchange.plan.waits and exchange.stream is None
