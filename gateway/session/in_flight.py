"""The requests that were sent and have no response yet, with the gateway's own responses in turn.

A broker responds in the order of the requests, so a queue suffices to match the two. A response
that the gateway makes itself takes its place in the queue and leaves in its turn.
"""

from __future__ import annotations

from collections import deque
from time import monotonic
from typing import Final, Protocol

from gateway.exchanges.exchange import Exchange
from gateway.exchanges.framing import SIZE, Buffer, Watcher
from gateway.exchanges.meter import count_exchanges
from gateway.flows import Flow
from gateway.session.silent import Silent

_monotonic: Final = monotonic
"""When compiled, a Final constant is read without a lookup in the module's names."""

MAX_IN_FLIGHT: Final = 1_000
"""Requests without a response yet, above which no more are read from the client."""

UNCOUNTED: Final = 256 * 1024
"""Bytes of a response that need no room of their own: as many may wait for a slow client anyway."""


class Collector(Protocol):
    """Gives responses room in memory: ``connections.connection.Connection``, in a layer above this
    one. Tests fill it in, because sessions are tested without connections."""

    def collects(self, size: int) -> Watcher:
        """Give room to a response of ``size`` bytes that is not streamed, or stop reading from the
        broker until there is. The result hears of the bytes that are held, and taken out."""
        ...

    def answered(self) -> None:
        """Hear that a long response, or the response to a long request, has been restored."""
        ...


class InFlight:
    """The exchanges of a connection that are under way; responses leave by ``to_client``."""

    __slots__ = ("_done", "_fresh", "collector", "queue", "silent", "to_client")

    def __init__(self) -> None:
        self.to_client: list[Buffer] = []
        # Made at first use, because most connections of a busy gateway are idle.
        self.queue: deque[Exchange] | None = None
        # Requests without a response that the broker may not have carried out yet.
        self.silent: Silent | None = None
        self.collector: Collector | None = None
        self._fresh: list[Exchange] = []
        self._done: list[Exchange] = []

    def flows(self) -> list[Flow]:
        """The flows on which exchanges under way may still count."""
        under_way = (*(self.queue or ()), *self._done)
        return [flow for exchange in under_way for flow in exchange.flows()]

    def expect(self, exchange: Exchange) -> None:
        """Track a request that was written to the broker; a silent request gets no response."""
        self._fresh.append(exchange)
        if exchange.silent:
            self._done.append(exchange)
            if exchange.spelled or exchange.spelled_ids:
                if self.silent is None:
                    self.silent = Silent(exchange.plan.api_key)
                self.silent.add(exchange, self.queue[-1] if self.queue else None)
            return
        if self.queue is None:
            self.queue = deque()
        self.queue.append(exchange)

    def answer(self, exchange: Exchange, payload: bytes) -> None:
        """Respond to a request in its turn: at once, or behind responses that are still to come."""
        exchange.answer = SIZE.pack(len(payload)) + payload
        if self.queue:
            # Its wait from here on is neither the gateway's time nor a broker's.
            exchange.arrived -= _monotonic()
            self.queue.append(exchange)
        else:
            self._write(exchange)

    def done(self, exchange: Exchange) -> None:
        """Note a request that has no response and is not forwarded."""
        self._done.append(exchange)

    def answered(self, queue: deque[Exchange], arrived: float) -> None:
        """Note that the broker has answered the first of ``queue``; the gateway's own responses
        behind it follow."""
        exchange = queue.popleft()
        exchange.answered = arrived
        self._done.append(exchange)
        if self.silent is not None and self.silent.left(exchange):
            self.silent = None
        while queue and queue[0].answer is not None:
            own = queue.popleft()
            own.arrived += _monotonic()  # later by as much as it waited
            self._write(own)
            if self.silent is not None:
                self.silent.left(own)

    def sent(self) -> None:
        """Note that this round's requests have been written, so that the broker's time begins."""
        if self._fresh:
            now = _monotonic()
            for exchange in self._fresh:
                exchange.sent = exchange.answered = now
            self._fresh.clear()
        if self._done:
            self.count()

    def count(self) -> None:
        """Count the exchanges that were answered since the last call."""
        if self._done:
            count_exchanges(self._done, _monotonic())
            self._done.clear()

    def _write(self, exchange: Exchange) -> None:
        assert exchange.answer is not None
        self.to_client.append(exchange.answer)
        size = exchange.response_size = len(exchange.answer)
        if size > UNCOUNTED and self.collector is not None:
            self.collector.collects(size).holds_more(-size)  # it is whole
        self._done.append(exchange)
