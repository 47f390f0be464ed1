"""What a client has sent and the gateway has yet to decide: requests behind others (sans-IO)."""

from __future__ import annotations

from typing import Final

from gateway.exchanges.exchange import Exchange, Interlude, Plan, Prepare, Refresh, Turn, Work
from gateway.exchanges.framing import ALL, Buffer, Held, Watcher
from gateway.session.deciding import Deciding
from gateway.session.in_flight import InFlight
from gateway.session.own_requests import proof

MAX_BEHIND: Final = 64 * 1024
"""Bytes held behind responses at which no more are read: one request of most kinds, and as many
small ones as clients send ahead. Until then the client's end is noticed."""


class Holding:
    """The base of :class:`gateway.session.requests.Requests`.

    ``waiting`` is what must be done before the next request is decided; None while nothing must.
    ``behind``: a request waits, undecided, until the responses before it have arrived. A broker
    handles one request of a connection at a time, so it would wait there, and its decision would
    grow old: behind a Fetch for as long as the client likes.
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
        self.waiting: Refresh | Prepare | Work | Interlude | Turn | Deciding | None = None
        self.behind = False
        self._interlude: Interlude | None = None  # that could not begin yet
        self._working: Exchange | None = None
        self._held = Held()
        self._stream_left = 0

    @property
    def working(self) -> str:
        """Kafka's name of the API whose :class:`Work` is under way, or empty if none is."""
        return "" if self._working is None else self._working.client_plan.name

    @property
    def streaming(self) -> bool:
        """Whether the rest of a request that is being forwarded is still to come."""
        return bool(self._stream_left)

    @property
    def mid_request(self) -> bool:
        """Whether a request has begun to arrive and the rest of it has not."""
        if self.waiting is not None or self.behind:
            return False
        return bool(self._stream_left or len(self._held))

    @property
    def holds_enough(self) -> bool:
        """Whether so much is held behind responses that no more should be read."""
        return self.behind and len(self._held) >= MAX_BEHIND

    def watch_held(self, watcher: Watcher | None) -> None:
        """Tell this one of the bytes that are held more, or less, of an incomplete request."""
        self._held.watcher = watcher

    def forget_held(self) -> None:
        """Drop what is being decided, and what is held: the client's connection has failed."""
        waiting, self.waiting, self._working = self.waiting, None, None
        if isinstance(waiting, Deciding):
            waiting.slices.abandon()
        if self.behind or waiting is not None:
            self._held.take()
            self.behind = False

    def interject(self, interlude: Interlude) -> None:
        """Let ``waiting`` be this interlude, now or behind the request that streams or waits."""
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
        """Hold what has arrived, and all that arrives, until ``waiting`` is done."""
        self._held.keep(rest, ALL)
        self._held.wanted = ALL  # also where nothing is held yet
        self._in_flight.sent()

    def _must_wait(self, plan: Plan | None) -> bool:
        """Whether a request waits for the responses of those in flight: all but the next one of a
        pipelined API. The gateway asks for one where those have none."""
        queue, silent = self._in_flight.queue, self._in_flight.silent
        if silent is None and queue and queue[0].plan is plan and plan.pipelined:
            return False  # as the rest would find: it is another Produce, or Fetch
        if plan is not None and plan.pipelined and (silent is None or not silent.full):
            first = queue[0].plan.api_key if queue else -1 if silent is None else silent.api_key
            if first == plan.api_key:
                return False
        if not queue:
            self.prove()
        self.behind = True
        return True

    def prove(self) -> bool:
        """Ask the broker for a response behind the requests that have none: once it is there, they
        were carried out. False: there is nothing to prove, or it cannot be asked for yet."""
        silent = self._in_flight.silent
        if silent is None or silent.asked or self._stream_left:
            return False
        if isinstance(self.waiting, Interlude):  # a login at the broker: nothing may come between
            return False
        self.ask(*proof())
        silent.asked = True
        return True

    def ask(self, exchange: Exchange, request: bytes) -> None:
        """Send a request frame of the gateway's own, during an interlude.

        Its plan's ``on_response`` gets the response in its turn, and gives None.
        """
        self.to_broker.append(request)
        self._in_flight.expect(exchange)
        self._in_flight.sent()
