"""Long requests that are decided, and long responses that are restored, slice by slice."""

from __future__ import annotations

from functools import partial
from typing import Final

from gateway.apis.generic import TrailingBytes
from gateway.exchanges.exchange import Answer, Exchange, Forward, Outcome, Unanswerable, Work
from gateway.exchanges.framing import LONG, Buffer, pieces_of
from gateway.exchanges.state import ConnectionState
from gateway.slices import Slices
from protocol.splice import splice

MAX_TRIES: Final = 3
"""The number of times that a request is decided if the catalog changes meanwhile. Then the last
decision counts, as if made just before the change: where something changes every second, no listing
would ever be answered."""

FEW_EDITS: Final = 100
"""The most edits of a request that are written to the broker one by one."""


class Deciding:
    """A request that is being decided: ``buf[position:end]``, whose body begins at ``start``."""

    __slots__ = ("buf", "end", "exchange", "outcome", "position", "slices", "start", "state")

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
        self.slices: Slices[Outcome] = Slices(self._decide)

    @property
    def frame(self) -> bytes:
        """The whole request, size and all."""
        return self.buf[self.position : self.end]

    def _decide(self) -> Outcome:
        """Decide by one state of the catalog; if it has changed meanwhile, decide again."""
        for left in reversed(range(MAX_TRIES)):
            access, exchange = self.state.access, self.exchange
            end, outcome = self._once(exchange)
            if self.state.access is access or not (left or self.state.view.closed):
                return self._written(exchange, end, outcome)
            self.exchange = Exchange(
                exchange.client_plan, exchange.correlation_id, exchange.arrived, exchange.size
            )
            self.exchange.refreshed = exchange.refreshed
        raise Unanswerable("the catalog went out of date while a request was decided")

    def _once(self, exchange: Exchange) -> tuple[int, Outcome]:
        decide = exchange.plan.on_request
        try:
            return self.end, decide(self.state, exchange, self.buf, self.start, self.end)
        except TrailingBytes as more:
            return more.stop, decide(self.state, exchange, self.buf, self.start, more.stop)

    def _written(self, exchange: Exchange, end: int, outcome: Outcome) -> Outcome:
        exchange.long = True
        if isinstance(outcome, Answer):
            return Answer(exchange.finish_early(outcome.body))
        if isinstance(outcome, Work):
            return Work(partial(_finished, exchange, outcome))
        if isinstance(outcome, list) and (len(outcome) > FEW_EDITS or end < self.end):
            if end - self.start > LONG:
                return Forward(exchange.plan, b"", pieces_of(self.buf, self.start, end, outcome))
            return Forward(exchange.plan, splice(self.buf, self.start, end, outcome))
        return outcome


async def _finished(exchange: Exchange, work: Work) -> bytes:
    """The response of work, finished with it, and so in slices too."""
    return exchange.finish_early(await work.run())


class Restoring:
    """A response that is being restored to the ``pieces`` that its client gets; it ``arrived`` then
    (monotonic seconds)."""

    __slots__ = ("arrived", "pieces", "slices")

    def __init__(self, slices: Slices[None], pieces: list[Buffer], arrived: float) -> None:
        self.slices = slices
        self.pieces = pieces
        self.arrived = arrived
