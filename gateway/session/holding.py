"""Requests that a client has sent and the gateway has yet to decide, behind others (sans-IO)."""

from __future__ import annotations

from typing import Final

from gateway.exchanges.exchange import Exchange, Interlude, Plan, Prepare, Refresh, Turn, Work
from gateway.exchanges.framing import ALL, SMALL, Buffer, Held, Watcher
from gateway.session.deciding import Deciding
from gateway.session.in_flight import InFlight
from gateway.session.own_requests import proof

MAX_BEHIND: Final = 64 * 1024
"""Bytes held behind responses, above which no more are read: a request of most kinds, or as many
small requests as clients send ahead. Below that the client's end is noticed."""


class Holding:
    """The base of :class:`gateway.session.requests.Requests`.

    A request that the gateway has not decided is held ``behind`` the responses of earlier requests.
    A broker handles one request of a connection at a time, so the request would wait there after
    its decision, and the decision would grow old: behind a Fetch, for as long as the client likes.
    """

    __slots__ = (
        "_held",
        "_in_flight",
        "_interlude",
        "_stream_left",
        "_working",
        "behind",
        "to_broker",
        "waiting",
    )

    def __init__(self, in_flight: InFlight) -> None:
        self._in_flight = in_flight
        self.to_broker: list[Buffer] = []
        # The work to do before the next request is decided, or None.
        self.waiting: Refresh | Prepare | Work | Interlude | Turn | Deciding | None = None
        # Whether a request waits, undecided, for the responses of earlier requests.
        self.behind = False
        self._interlude: Interlude | None = None  # it could not begin yet
        self._working: Exchange | None = None
        self._held = Held()
        self._stream_left = 0

    @property
    def working(self) -> str:
        """Kafka's name of the API whose :class:`Work` is under way, or empty."""
        return "" if self._working is None else self._working.client_plan.name

    @property
    def streaming(self) -> bool:
        """Whether the rest of a request that is being forwarded is still to come."""
        return bool(self._stream_left)

    @property
    def mid_request(self) -> bool:
        """Whether a request has arrived in part."""
        if self.waiting is not None or self.behind:
            return False
        return bool(self._stream_left or len(self._held))

    @property
    def holds_enough(self) -> bool:
        """Whether so many bytes are held behind responses that no more should be read."""
        return self.behind and len(self._held) >= MAX_BEHIND

    @property
    def working_on(self) -> Exchange | None:
        """The request that is being decided, or carried out by the gateway itself."""
        return self.waiting.exchange if isinstance(self.waiting, Deciding) else self._working

    def watch_held(self, watcher: Watcher | None) -> None:
        """Report to ``watcher`` how many more, or fewer, bytes of an incomplete request are
        held."""
        self._held.watcher = watcher

    def forget_held(self) -> None:
        """Drop the request that is being decided, and the bytes that are held, after the client's
        connection has failed."""
        waiting, self.waiting, self._working = self.waiting, None, None
        if isinstance(waiting, Deciding):
            waiting.slices.abandon()
            self._decided_bytes(waiting)
        if self.behind or waiting is not None:
            self._held.take()
            self.behind = False

    def _deciding_bytes(self, deciding: Deciding) -> None:
        """Count the bytes of a long request that is being decided, which are not held any more."""
        watcher = self._held.watcher
        if watcher is not None and deciding.size > SMALL:
            deciding.counted = deciding.size
            watcher.holds_more(deciding.counted)

    def _decided_bytes(self, deciding: Deciding) -> None:
        """Count them no more."""
        counted, deciding.counted = deciding.counted, 0
        if counted and self._held.watcher is not None:
            self._held.watcher.holds_more(-counted)

    def interject(self, interlude: Interlude) -> None:
        """Make this interlude ``waiting``, now or behind the request that streams or waits."""
        if self.waiting is None and not self._stream_left:
            self._begin(interlude, self._held.take())
        else:
            self._interlude = interlude

    def _begin(self, interlude: Interlude, rest: bytes) -> None:
        self._interlude = None
        self.behind = False
        self.waiting = interlude
        self._hold(rest)

    def _hold(self, rest: bytes) -> None:
        """Hold the bytes that have arrived, and all later bytes, until ``waiting`` is done."""
        self._held.keep(rest, ALL)
        self._held.wanted = ALL  # even if nothing is held yet
        self._in_flight.sent()

    def _must_wait(self, plan: Plan | None) -> bool:
        """Whether a request waits for the responses of requests in flight, as all do but the next
        request of a pipelined API. If the requests in flight have no response, the gateway sends a
        request of its own that has."""
        queue, silent = self._in_flight.queue, self._in_flight.silent
        if silent is None and queue and queue[0].plan is plan and plan.pipelined:
            return False  # as the rest would find: it is another Produce, or another Fetch
        if plan is not None and plan.pipelined and (silent is None or not silent.full):
            first = queue[0].plan.api_key if queue else -1 if silent is None else silent.api_key
            if first == plan.api_key:
                return False
        if not queue:
            self.prove()
        self.behind = True
        return True

    def prove(self) -> bool:
        """Send a request of the gateway's own behind the requests without a response: its response
        shows that they were carried out. Returns False if there is nothing to show, or it cannot be
        sent yet."""
        silent = self._in_flight.silent
        if silent is None or silent.asked or self._stream_left:
            return False
        # A login at the broker is under way, and no request may come between its own.
        if isinstance(self.waiting, Interlude):
            return False
        self.ask(*proof())
        silent.asked = True
        return True

    def ask(self, exchange: Exchange, request: bytes) -> None:
        """Send a request frame of the gateway's own, during an interlude.

        The ``on_response`` of its plan gets the response in its turn, and returns None.
        """
        self.to_broker.append(request)
        self._in_flight.expect(exchange)
        self._in_flight.sent()
