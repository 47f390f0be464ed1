"""A client connection's protocol, without sockets: bytes in, bytes out (sans-IO).

``client_data`` and ``broker_data`` take bytes that have arrived and fill ``to_broker`` and
``to_client``, which the connection writes after each call. Requests go to the broker in order and
its responses come back in order, so a queue of exchanges matches them; a response of the gateway's
own waits in the same queue for its turn.

If a request needs something to be read anew, or done, first (``waiting``), the session reads no
further requests until ``resume``; responses go on. Any ProtocolError ends the connection.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gateway.exchanges.exchange import Exchange
from gateway.exchanges.framing import Buffer
from gateway.exchanges.state import ConnectionState
from gateway.flows import Flow
from gateway.session.deciding import Deciding, Restoring
from gateway.session.in_flight import MAX_IN_FLIGHT, Collector, InFlight
from gateway.session.naming import answered_at_once, leaves_behind
from gateway.session.rechecking import may_be_written, may_go_on
from gateway.session.requests import Requests
from gateway.session.responses import Responses
from gateway.session.silent import Silent
from gateway.slices import Budget
from gateway.views.access import Access
from protocol.pausing import FEW, pause_point


class Session(Requests):
    """The state of a client connection and its broker connection.

    ``reading_client``: an error raised by :meth:`broker_data` or :meth:`restored` is the client's,
    whose held requests were read.
    """

    __slots__ = ("_responses", "reading_client", "to_client")

    def __init__(self, state: ConnectionState) -> None:
        in_flight = InFlight()
        super().__init__(state, in_flight)
        self._responses = Responses(state, in_flight)
        self.to_client: list[Buffer] = in_flight.to_client
        self.reading_client = False

    def watch_collected(self, collector: Collector | None) -> None:
        """Ask ``collector`` for room for responses that are collected; None: the connection has
        ended."""
        self._responses.watch(collector)

    @property
    def restoring(self) -> Restoring | None:
        """A long response that has to be restored before :meth:`restored` is called, or None."""
        return self._responses.restoring

    @property
    def saturated(self) -> bool:
        """Whether so many requests wait that the connection should stop reading from the client."""
        queue = self._in_flight.queue
        return queue is not None and (len(queue) >= MAX_IN_FLIGHT or self.holds_enough)

    @property
    def quiet(self) -> bool:
        """Whether no request is under way for which a drain has to wait."""
        if self._stream_left or self.waiting is not None:
            return False
        queue = self._in_flight.queue
        return not queue or (not self._waits and all(map(_may_be_held_back, queue)))

    @property
    def idle(self) -> bool:
        """Whether no request is under way or has arrived in part, so that closing the connection
        costs the client only a new connection."""
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
        """Whether a broker handles a request that it can answer at once."""
        first = self.first
        return first is not None and answered_at_once(first)

    @property
    def owing(self) -> bool:
        """Whether a request is left that may change something: it was forwarded whole and not
        answered, is being decided, or is held behind responses. If there is none, the client has
        left nothing behind."""
        waiting = self.waiting
        if self.behind or (waiting is not None and len(self._held)):
            return True
        if isinstance(waiting, Deciding) and leaves_behind(waiting.exchange):
            return True
        return any(map(leaves_behind, self.under_way))

    @property
    def unsettled(self) -> bool:
        """Whether a broker may still change something for requests that were forwarded whole."""
        return self._in_flight.silent is not None or any(map(leaves_behind, self.under_way))

    @property
    def under_way(self) -> Sequence[Exchange]:
        """The requests that were forwarded whole and have no response yet."""
        streamed = self._streamed if self._stream_left else None
        return [one for one in self._in_flight.queue or () if one is not streamed]

    def has_under_way(self, exchange: Exchange) -> bool:
        """Whether a request, or the rest of it, is still under way."""
        return exchange is self.streamed or exchange in (self._in_flight.queue or ())

    @property
    def first(self) -> Exchange | None:
        """The request that the broker handles now, or None if there is no request, or it is not
        forwarded whole."""
        queue = self._in_flight.queue
        return None if not queue or queue[0] is self.streamed else queue[0]

    @property
    def streamed(self) -> Exchange | None:
        """The request that is forwarded while its rest is still to come, or None."""
        return self._streamed if self._stream_left else None

    @property
    def silent(self) -> Silent | None:
        """The requests without a response that the broker may not have carried out yet, or None."""
        return self._in_flight.silent

    def take_flows(self) -> Collection[Flow]:
        """The flows since the last call; see ``ConnectionState.take_flows``."""
        held = [] if self.working_on is None else self.working_on.flows()
        return self.state.take_flows((*self._in_flight.flows(), *held))

    def broker_data(self, data: bytes) -> None:
        """Take bytes from the broker. Raises ProtocolError for bytes that no broker may send."""
        self._responses.data(data)
        if self.behind:
            self._go_on()

    def _go_on(self) -> None:
        # Behind a request that streams, only the end of an expired session waits.
        if self.first is None and self.waiting is None:
            self.reading_client = True
            self.go_on()
            self.reading_client = False

    def restored(self) -> None:
        """Go on after ``restoring`` has been done. Raises ProtocolError."""
        self._responses.resume()
        if self.behind:
            self._go_on()

    def abandon(self) -> None:
        """Drop the request that is being decided and the response that is being restored, after the
        end of the connection."""
        self.forget_held()
        if self._responses.restoring is not None:
            self._responses.restoring.slices.abandon()

    def break_off(self) -> None:
        """Stop waiting, after an Unanswerable; requests that were decided before it are written."""
        self.waiting = None
        self._in_flight.sent()

    def see(self, access: Access, budget: Budget | None = None) -> bool:
        """Use another access after a change of the catalog.

        If a Fetch in flight names topics that the client may not reach any more, or not by that
        name, it gets FETCH_SESSION_ID_NOT_FOUND. Returns False if another request in flight, or one
        whose rest has still to arrive, is not allowed any more, so that the broker connection has
        to be reset. Long requests are ``doubted``, and so are requests for which the ``budget`` has
        no time.
        """
        self.state.see(access)
        silent, queue = self._in_flight.silent, self._in_flight.queue
        if silent is None and not queue:  # as most of 10,000 connections
            self.doubted = None
            return True
        under_way = [*(queue or ())]
        if self.state.view.closed:
            # Requests that were decided while the catalog was known may be carried out for a while,
            # but not a request whose rest is still to come, nor a request that waits for records,
            # because the records may belong to others by then.
            streamed = self.streamed
            silent = None
            under_way = [one for one in under_way if one is streamed or one.plan.waits_for_records]
        budget = budget or Budget()
        # Other doubted requests are still in flight, and are checked again below.
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
        """Check the ``doubted`` requests that are still in flight; returns False as :meth:`see`
        does. May take several slices."""
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
    """Whether a request names many topics, which may be true of a short Fetch of a long session,
    too."""
    return exchange.spelled is not None and len(exchange.spelled) > FEW


def _is_silent(doubted: Exchange | Silent) -> bool:
    return isinstance(doubted, Silent) or doubted.silent


def _may_be_held_back(exchange: Exchange) -> bool:
    """Whether a broker may hold back its response, and none of it has arrived. Such a request
    changes nothing that its client cannot request again."""
    return exchange.plan.waits and exchange.stream is None
