"""Long requests that are decided, and long responses that are restored, slice by slice."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Final

from gateway.apis.counting import report_held_back
from gateway.apis.records.turned_away import turned_away
from gateway.apis.walking import TrailingBytes
from gateway.exchanges.exchange import (
    Answer,
    Exchange,
    Forward,
    Outcome,
    Plan,
    Prepare,
    Refresh,
    Unanswerable,
    Work,
)
from gateway.exchanges.framing import LONG, SIZE, Buffer, pieces_of
from gateway.exchanges.state import ConnectionState
from gateway.slices import Slices
from gateway.views.access import Access
from protocol.errors import NotUtf8
from protocol.pausing import joined, size_of
from protocol.splice import splice
from protocol.text import readable_pieces

MAX_TRIES: Final = 3
"""How often a request is decided if the catalog changes meanwhile. Then the last decision is
forwarded, and checked again while it is in flight: if something changed every second, no listing
would ever be answered."""

FEW_EDITS: Final = 100
"""Edits of a request up to which each is written to the broker by itself."""


class Deciding:
    """A request that is being decided: ``buf[position:end]``, whose body begins at ``start``.

    ``stale``: the catalog has changed during every decision, the last too. ``outdated``: the
    decision under way must not count, because a freeze does not wait for it. ``counted``: bytes of
    the request that are counted as held. ``leaving``: the client is to go on at another gateway,
    and it is ``sent_on`` if the API has a response that directs it there.
    """

    __slots__ = (
        "buf",
        "counted",
        "end",
        "exchange",
        "leaving",
        "outdated",
        "position",
        "sent_on",
        "slices",
        "stale",
        "start",
        "state",
    )

    def __init__(
        self,
        state: ConnectionState,
        exchange: Exchange,
        buf: bytes,
        position: int,
        start: int,
        end: int,
    ) -> None:
        self.state = state
        self.exchange = exchange
        self.buf = buf
        self.position = position
        self.start = start
        self.end = end
        self.counted = 0
        self.stale = self.outdated = self.leaving = self.sent_on = False
        self.slices: Slices[Outcome] = Slices(self._decide)

    @property
    def size(self) -> int:
        """The bytes of the frame."""
        return self.end - self.position

    def before(self, rest: bytes) -> bytes:
        """The whole frame of the request, followed by ``rest``. It is copied only if there is a
        rest: it may have 100 MiB."""
        frame = self.buf[self.position : self.end]
        return frame + rest if rest else frame

    def _decide(self) -> Outcome:
        """Decide by one state of the catalog; if that has changed meanwhile, decide again."""
        left = MAX_TRIES
        told: Counter[tuple[bytes, int]] = Counter()
        while left > 0 or self.outdated:
            left -= 1
            self.outdated = False
            access, exchange = self.state.access, self.exchange
            end, outcome = self._once(exchange)
            if not self._again(access, left):
                if isinstance(outcome, (Refresh, Prepare)):
                    exchange.undecided = None  # it will be decided again
                report_held_back(self.state, exchange, told)
                # Reporting takes turns, too, in which the catalog may change.
                if not self._again(access, left):
                    return self._written(exchange, end, outcome)
            self.exchange = Exchange(
                exchange.client_plan, exchange.correlation_id, exchange.arrived, exchange.size
            )
            self.exchange.refreshed = exchange.refreshed
        raise Unanswerable("the catalog went out of date while a request was decided")

    def _again(self, access: Access, left: int) -> bool:
        """Whether the decision by ``access`` does not count, with ``left`` tries left."""
        self.stale = self.state.access is not access
        return self.outdated or (self.stale and (left > 0 or self.state.view.closed))

    def _once(self, exchange: Exchange) -> tuple[int, Outcome]:
        decide = self._sent_on if self.leaving else exchange.plan.on_request
        exchange.undecided = []
        try:
            return self.end, decide(self.state, exchange, self.buf, self.start, self.end)
        except TrailingBytes as more:
            exchange.undecided = []
            return more.stop, decide(self.state, exchange, self.buf, self.start, more.stop)
        except NotUtf8:
            exchange.undecided = []
            self.buf, self.start = readable_frame(
                exchange.client_plan, self.buf, self.position, self.start, self.end
            )
            self.position, self.end = 0, len(self.buf)
            return self.end, decide(self.state, exchange, self.buf, self.start, self.end)

    def _sent_on(
        self, state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
    ) -> Outcome:
        """Direct the client to another gateway, or decide the request as usual."""
        sent_on = turned_away(state, exchange, buf, start, end)
        self.sent_on = sent_on is not None
        return sent_on or exchange.plan.on_request(state, exchange, buf, start, end)

    def _written(self, exchange: Exchange, end: int, outcome: Outcome) -> Outcome:
        exchange.long = True
        note_decision(exchange, self.buf, self.start, end, outcome)
        if isinstance(outcome, Answer):
            return Answer(exchange.finish_early(outcome.body))
        if isinstance(outcome, Work):
            return Work(partial(_finished, exchange, outcome))
        if isinstance(outcome, list) and (len(outcome) > FEW_EDITS or end < self.end):
            if end - self.start > LONG:
                return Forward(exchange.plan, b"", pieces_of(self.buf, self.start, end, outcome))
            return Forward(exchange.plan, splice(self.buf, self.start, end, outcome))
        return outcome


def readable_frame(
    plan: Plan, buf: bytes, position: int, start: int, end: int
) -> tuple[bytes, int]:
    """The request ``buf[position:end]`` with its text as a broker reads it (``protocol.text``), and
    the position of its body, which was ``start``. Raises ProtocolError."""
    body = readable_pieces(f"{plan.name}Request", plan.version, buf, start, end)
    header = buf[position + SIZE.size : start]
    body[:0] = (SIZE.pack(len(header) + size_of(body)), header)
    return joined(body), SIZE.size + len(header)


def note_decision(exchange: Exchange, buf: bytes, start: int, end: int, outcome: Outcome) -> None:
    """Keep a decision and the bytes that it is for, so that the request can be checked again when
    the catalog changes."""
    if exchange.client_plan.on_change is None:
        exchange.frame, exchange.outcome = (buf, start, end), outcome


async def _finished(exchange: Exchange, work: Work) -> bytes:
    """The response of work, finished in the same slices."""
    return exchange.finish_early(await work.run())


class Restoring:
    """A response, or the part of it that has arrived, that is restored to the ``pieces`` that its
    client gets. It begins at ``position``, its ``slices`` return where it ends, and ``arrived`` is
    when it did (monotonic seconds)."""

    __slots__ = ("arrived", "pieces", "position", "slices")

    def __init__(
        self, slices: Slices[int], position: int, pieces: list[Buffer], arrived: float
    ) -> None:
        self.slices = slices
        self.position = position
        self.pieces = pieces
        self.arrived = arrived
