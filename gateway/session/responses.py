"""Responses: from the broker's bytes to the client's; the other side of a session (sans-IO)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from struct import Struct
from time import monotonic
from typing import Final

from gateway.apis.walking import ManyItems
from gateway.exchanges.exchange import Exchange, Stream
from gateway.exchanges.fetch_stream import FetchStream
from gateway.exchanges.framing import (
    ALL,
    SIZE,
    Buffer,
    Held,
    bad_size,
    rest_of,
    write_frame,
)
from gateway.exchanges.numbered_stream import NumberedStream
from gateway.exchanges.state import ConnectionState
from gateway.session.deciding import Restoring
from gateway.session.in_flight import UNCOUNTED, Collector, InFlight
from gateway.slices import Slices
from protocol.errors import ProtocolError
from protocol.headers import response_body_pos, response_header
from protocol.pausing import FEW, joined
from protocol.splice import splice

_monotonic: Final = monotonic
"""When compiled, a Final constant is read without a lookup in the module's names."""

_RESPONSE_HEAD: Final = Struct(">ii")

MIN_RESPONSE: Final = 4
"""Bytes of the shortest response: a correlation id."""

MAX_RESPONSE: Final = 1 << 30
"""The most bytes of a response; a larger size ends the connection."""


class Responses:
    """The broker's side of a session. ``restoring`` is a long response that has to be restored; the
    responses behind it are held until :meth:`resume`."""

    __slots__ = ("_held", "_in_flight", "_state", "restoring")

    def __init__(self, state: ConnectionState, in_flight: InFlight) -> None:
        self._state = state
        self._in_flight = in_flight
        self._held = Held()
        self.restoring: Restoring | None = None

    def watch(self, collector: Collector | None) -> None:
        """Ask ``collector`` for room for long responses; None: the connection has ended."""
        self._in_flight.collector = collector
        self._held.watcher = None

    def data(self, data: bytes) -> None:
        """Take bytes from the broker. Raises ProtocolError for bytes that no broker may send."""
        joined = self._held.join(data)
        if joined is not None:
            self._read(joined)
            self._in_flight.count()

    def _read(self, buf: bytes) -> None:
        position, limit = 0, len(buf)
        arrived = _monotonic()
        validity = self._state.worker.validity
        if arrived > validity.until:  # before the response to a Fetch that waited for long
            validity.end()
        wanted = 0
        queue = self._in_flight.queue
        while position < limit:
            if not queue:
                raise ProtocolError("the broker answered a request that was not sent")
            exchange = queue[0]
            step, wanted = self._read_response(exchange, buf, position, arrived)
            stream = exchange.stream
            whole = step > position if stream is None else stream.done
            position = step
            if not whole:
                break
            self._in_flight.answered(queue, arrived)
        if position < limit:
            self._held.keep(rest_of(buf, position), wanted)
        if self.restoring is not None:
            self._held.wanted = ALL  # even if nothing is held yet

    def _read_response(
        self, exchange: Exchange, buf: bytes, position: int, arrived: float
    ) -> tuple[int, int]:
        """Forward a response, or the part of a Fetch response that has arrived.

        Returns the position to go on from, and how many bytes from there make another try
        worthwhile.
        """
        limit = len(buf)
        if exchange.stream is not None:
            at = exchange.stream.feed(buf, position, self._in_flight.to_client)
            if exchange.stream.has_more:
                at = self._feed_rest(exchange.stream, buf, at, arrived)
            return at, limit - at + 1
        if limit - position < 4 + MIN_RESPONSE:
            return position, 4 + MIN_RESPONSE
        size, correlation_id = _RESPONSE_HEAD.unpack_from(buf, position)
        if not MIN_RESPONSE <= size <= MAX_RESPONSE:
            raise ProtocolError(bad_size("response", size, MIN_RESPONSE, MAX_RESPONSE))
        if correlation_id != exchange.correlation_id:
            expected = exchange.correlation_id
            raise ProtocolError(f"the broker answered {correlation_id}, not {expected}")
        exchange.response_size = size + 4
        end = position + 4 + size
        if exchange.streams and (end > limit or exchange.extra is not None):
            numbered = self._state.worker.number
            stream = (NumberedStream if numbered else FetchStream)(self._state, exchange)
            at = stream.start(buf, position, size, self._in_flight.to_client)
            if stream.started:
                exchange.stream = stream
            if stream.has_more:
                at = self._feed_rest(stream, buf, at, arrived)
            return at, limit - at + 1
        if end > limit:
            return position, self._collect(end - position)
        if size <= exchange.plan.small_response and not exchange.long:
            try:
                return self._response(exchange, buf, position, end, self._in_flight.to_client), 0
            except ManyItems:
                pass  # it is short, but has many topics
        pieces: list[Buffer] = []
        work = partial(self._response, exchange, buf, position, end, pieces)
        return self._in_slices(work, position, pieces, arrived), ALL

    def _collect(self, size: int) -> int:
        """Hold an incomplete frame of ``size`` bytes; a long one asks for room. Returns the size,
        at which another try is worthwhile."""
        collector = self._in_flight.collector
        if size > UNCOUNTED and collector is not None:
            self._held.watcher = collector.collects(size)
        return size

    def _feed_rest(self, stream: Stream, buf: bytes, at: int, arrived: float) -> int:
        """Forward the rest of a Fetch response that has arrived, from ``at`` on, in slices: it may
        have 100,000 topics. Returns the position to go on from."""
        stream.has_more = False
        pieces: list[Buffer] = []
        return self._in_slices(partial(_fed, stream, buf, at, pieces), at, pieces, arrived)

    def _in_slices(
        self, work: Callable[[], int], position: int, pieces: list[Buffer], arrived: float
    ) -> int:
        """Run ``work`` on the response at ``position``; it fills ``pieces`` and returns the
        position to go on from. Returns that, or ``position`` if the work is not done in its first
        slice."""
        slices = Slices(work)
        if not slices.first():
            self.restoring = Restoring(slices, position, pieces, arrived)
            return position
        self._in_flight.to_client += pieces
        self._answered()
        return slices.result()

    def _answered(self) -> None:
        collector = self._in_flight.collector
        if collector is not None:
            collector.answered()

    def resume(self) -> None:
        """Go on after a long response has been restored. Raises ProtocolError."""
        done, self.restoring = self.restoring, None
        assert done is not None
        passed = done.slices.result() - done.position
        self._in_flight.to_client += done.pieces
        queue = self._in_flight.queue
        assert queue
        stream = queue[0].stream
        if stream is None or stream.done:
            self._in_flight.answered(queue, done.arrived)
        self._answered()
        self._read(rest_of(self._held.take(), passed))
        self._in_flight.count()

    def _response(
        self, exchange: Exchange, buf: bytes, position: int, end: int, to_client: list[Buffer]
    ) -> int:
        """Forward a whole response, and return its end. Raises ManyItems if it has to be restored
        in slices."""
        plan = exchange.plan
        start = response_body_pos(buf, position + 4, end, plan.response_header_version)
        result = plan.on_response(self._state, exchange, buf, start, end)
        if isinstance(result, list):
            if not exchange.has_finish:
                exchange.response_size += write_frame(to_client, buf, position, end, end, result)
                return end
            result = splice(buf, start, end, result)
        elif result is None:
            return end
        payload = response_payload(exchange, result)
        # Added: a handler may have counted some of it already.
        exchange.response_size += len(payload) + 4 - (end - position)
        to_client.append(SIZE.pack(len(payload)) + payload)
        return end


def _fed(stream: Stream, buf: bytes, at: int, pieces: list[Buffer]) -> int:
    """Feed a stream, in slices, and return the position to go on from. Many pieces are joined: TLS
    makes a record of each."""
    at = stream.feed(buf, at, pieces)
    if len(pieces) > FEW:
        whole = joined(pieces)
        pieces[:] = (whole,)
    return at


def response_payload(exchange: Exchange, body: bytes) -> bytes:
    """The header and finished body for the client, in its version's form, with the kept errors
    merged."""
    version = exchange.client_plan.response_header_version
    return response_header(exchange.correlation_id, version) + exchange.finish(body)
