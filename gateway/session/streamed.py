"""Produce requests that are forwarded while their records arrive; part of a session (sans-IO)."""

from __future__ import annotations

from struct import Struct
from typing import Final

from gateway.apis.records import produce
from gateway.apis.table import plan_of
from gateway.exchanges.exchange import Exchange, Plan
from gateway.exchanges.framing import ALL, bad_size, write_frame
from gateway.exchanges.state import ConnectionState
from gateway.session.expiry import NEVER, SessionExpired
from gateway.session.holding import Holding
from gateway.session.in_flight import InFlight
from protocol.errors import NotUtf8, ProtocolError, TruncatedError
from protocol.headers import read_request_header
from protocol.primitives import legacy_string

REQUEST_HEAD: Final = Struct(">ihhi")
"""Size, API key, version and correlation id."""

MIN_REQUEST: Final = 10
"""Bytes of the shortest request: API key, version, correlation id and the client id's length."""

HEADER_SIZE: Final = 12
"""Bytes before the client id in a request frame: size, API key, version, correlation id."""

OTHER_LIMIT: Final = 8 * 1024 * 1024
"""Bytes of the longest request of an API without records."""

HEAD_LIMIT: Final = 64 * 1024
"""Bytes of a Produce request that are searched for its head before the request is collected
whole."""

SHORT_HEAD: Final = 256
"""Bytes of a Produce request below which each further byte is worth another look."""


def _more(have: int, whole: int) -> int:
    """The bytes of a Produce request that make another look for its head worthwhile. Each look
    walks all bytes that have arrived, so for a long head there must be an eighth more, or a client
    could send it byte by byte."""
    if have >= HEAD_LIMIT:
        return whole
    return min(have + 1 + (have >> 3 if have > SHORT_HEAD else 0), whole)


class StreamedRequests(Holding):
    """The base of :class:`gateway.session.requests.Requests` that reads headers, and forwards a
    Produce request as soon as its head has arrived."""

    __slots__ = ("_client_id", "_stream_tail", "_streamed", "ends", "state")

    def __init__(self, state: ConnectionState, in_flight: InFlight) -> None:
        super().__init__(in_flight)
        self.state = state
        # As on the wire, with its length. It begins as the client id that ``state`` begins with,
        # and not as a sentinel: a header may have any bytes.
        self._client_id = legacy_string(None)
        # Bytes behind the records of the request that streams.
        self._stream_tail = 0
        # The request that streams, or streamed last.
        self._streamed: Exchange | None = None
        # When the client's login ends (monotonic seconds).
        self.ends: float = NEVER

    def _end_stream(self) -> None:
        """End a streamed request whose rest comes after the end of the login. A broker closes the
        connection when all of the request is there, so the rest is not forwarded, and nothing of
        the request is written. Raises SessionExpired once the requests before it are answered."""
        queue = self._in_flight.queue
        if not queue or queue[0] is self._streamed:
            raise SessionExpired
        self.behind = True

    def _stream_produce(self, buf: bytes, position: int, end: int, arrived: float) -> int:
        """Forward a Produce request whose records have not all arrived, if its head is complete.

        Returns 0 if it was forwarded, or else how many bytes of it make another try worthwhile.
        """
        limit = len(buf)
        if limit - position < 4 + MIN_REQUEST:
            return 4 + MIN_REQUEST
        size, api_key, version, correlation_id = REQUEST_HEAD.unpack_from(buf, position)
        plan = plan_of(api_key, version)
        if plan is None or plan.request_segments is None:
            if size > OTHER_LIMIT:
                raise ProtocolError(bad_size("request without records", size, 0, OTHER_LIMIT))
            return end - position
        in_flight = self._in_flight
        if (in_flight.queue or in_flight.silent is not None) and self._must_wait(plan):
            return ALL
        exchange = Exchange(plan, correlation_id, arrived, size + 4)
        try:
            start = self._body_of_request(plan, buf, position, limit)
            edits = produce.head(self.state, exchange, buf, start, limit, end)
        except NotUtf8:
            return end - position  # it is decided whole, as a broker reads it
        except TruncatedError:
            return _more(limit - position, end - position)
        if edits is None:
            return end - position
        self._stream_left = end - limit
        self._stream_tail = produce.tail_size(plan)
        if self._stream_left < self._stream_tail:
            self._check_tail(buf, limit)
        write_frame(self.to_broker, buf, position, limit, end, edits)
        self._streamed = exchange
        self._in_flight.expect(exchange)
        return 0

    def _check_tail(self, buf: bytes, stop: int) -> None:
        """Check that the bytes behind the records of a streamed request are 0, as far as ``buf``
        has them before ``stop``: with any other content the broker would read on."""
        here = self._stream_tail - self._stream_left
        if any(buf[max(stop - here, 0) : stop]):
            raise ProtocolError(produce.NOT_PLAIN)

    def _body_of_request(self, plan: Plan, buf: bytes, position: int, end: int) -> int:
        """The position of the body. Notes a client id that is new on this connection."""
        start = position + HEADER_SIZE + len(self._client_id)
        if buf.startswith(self._client_id, position + HEADER_SIZE) and start < end:
            # The client id of the previous request, as nearly always.
            if not plan.request_header_flexible:
                return start
            if not buf[start]:
                return start + 1
        _, _, _, client_id, start = read_request_header(buf, position + 4, end)
        self._client_id = legacy_string(client_id)
        self.state.note_client_id(client_id)
        return start
