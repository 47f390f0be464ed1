"""One client connection's protocol, without sockets: bytes in, bytes out (sans-IO).

``client_data`` and ``broker_data`` take what arrived and fill ``to_broker`` and ``to_client``;
the connection writes those out after each call. Requests go to the broker in order and their
responses come back in order, so a queue of exchanges matches them; an answer of the gateway's
own waits in the same queue for its turn.

A request that needs something read anew first (``waiting``) stops the reading of further
requests until ``resume``; responses go on. Any ProtocolError ends the connection.
"""

from __future__ import annotations

from collections import deque
from struct import Struct
from time import monotonic
from typing import Final

from gateway.apis import produce, unsupported
from gateway.apis.generic import TrailingBytes
from gateway.apis.table import PLANS, any_plan, plan_of
from gateway.exchange import Answer, Exchange, Forward, Outcome, Refresh
from gateway.fetch_stream import FetchStream
from gateway.framing import ALL, SIZE, Buffer, Held, slice_of, write_frame
from gateway.meter import count_exchanges
from gateway.plans import Plan
from gateway.state import ConnectionState
from protocol.errors import ProtocolError, TruncatedError
from protocol.headers import read_request_header, response_body_pos, response_header
from protocol.primitives import legacy_string
from protocol.splice import splice

_REQUEST_HEAD: Final = Struct(">ihhi")
_RESPONSE_HEAD: Final = Struct(">ii")

MIN_REQUEST: Final = 10
"""Bytes: API key, version, correlation id and the client id's length."""

HEADER_SIZE: Final = 12
"""Bytes before the client id in a request frame: size, API key, version, correlation id."""

MIN_RESPONSE: Final = 4
"""Bytes: a correlation id."""

MAX_RESPONSE: Final = 1 << 30
"""Bytes: a response that claims to be longer is not believed."""

HEAD_LIMIT: Final = 64 * 1024
"""Bytes of a Produce request that are looked at for its head before it is collected."""

MAX_IN_FLIGHT: Final = 1_000
"""Requests sent and not answered at which no more are read from the client."""


class Session:
    """The state of one client connection and its broker connection."""

    __slots__ = (
        "_broker_held",
        "_client_held",
        "_client_id",
        "_done",
        "_fresh",
        "_in_flight",
        "_refreshed",
        "_stream_left",
        "state",
        "to_broker",
        "to_client",
        "waiting",
    )

    def __init__(self, state: ConnectionState) -> None:
        self.state = state
        self.to_broker: list[Buffer] = []
        self.to_client: list[Buffer] = []
        self.waiting: Refresh | None = None
        self._in_flight: deque[Exchange] | None = None  # made at first use: idle ones are many
        self._client_held = Held()
        self._client_id = b"\xff"  # what no client id begins with: int16 length and bytes
        self._broker_held = Held()
        self._stream_left = 0
        self._refreshed = False
        self._fresh: list[Exchange] = []
        self._done: list[Exchange] = []

    @property
    def saturated(self) -> bool:
        """Whether so many requests wait that reading from the client should stop."""
        return self._in_flight is not None and len(self._in_flight) >= MAX_IN_FLIGHT

    @property
    def quiet(self) -> bool:
        """Whether nothing is under way, so that a drain may close the connection."""
        return not self._in_flight and not self._stream_left and self.waiting is None

    @property
    def mid_request(self) -> bool:
        """Whether a request has begun to arrive and the rest of it has not."""
        return self.waiting is None and bool(self._stream_left or len(self._client_held))

    # -- client to broker ---------------------------------------------------------------------

    def client_data(self, data: bytes) -> None:
        """Take bytes from the client. Raises ProtocolError for what no client may send."""
        if self._stream_left:
            passed = min(len(data), self._stream_left)
            self._stream_left -= passed
            self.to_broker.append(slice_of(data, 0, passed))
            if passed == len(data):
                return
            data = data[passed:]
        joined = self._client_held.join(data)
        if joined is not None:
            self._read_requests(joined)

    def resume(self) -> None:
        """Go on after what ``waiting`` asked for has been read anew."""
        self.waiting = None
        self._refreshed = True
        self._read_requests(self._client_held.take())

    def _read_requests(self, buf: bytes) -> None:
        position, limit = 0, len(buf)
        most = self.state.worker.max_request_bytes
        arrived = monotonic()
        wanted = 4
        while limit - position >= 4:
            size: int = SIZE.unpack_from(buf, position)[0]
            if not MIN_REQUEST <= size <= most:
                raise ProtocolError(_bad_size("request", size, MIN_REQUEST, most))
            end = position + 4 + size
            if end > limit:
                wanted = self._stream_produce(buf, position, end, arrived)
                if not wanted:
                    position = limit
                break
            if not self._request(buf, position, end, arrived):
                wanted = ALL
                break
            position = end
        if position < limit:
            self._client_held.keep(buf[position:], wanted)
        self._sent()

    def _request(self, buf: bytes, position: int, end: int, arrived: float) -> bool:
        """Decide one whole request; False when it has to wait."""
        size, api_key, version, correlation_id = _REQUEST_HEAD.unpack_from(buf, position)
        plan = PLANS.get(api_key << 16 | version) or plan_of(api_key, version)
        if plan is None:
            self._answer_undecided(buf, position, end, arrived)
            return True
        exchange = Exchange(plan, correlation_id, arrived, size + 4)
        if self._refreshed:
            exchange.refreshed = True
        start = self._body_of_request(plan, buf, position, end)
        try:
            outcome = plan.on_request(self.state, exchange, buf, start, end)
        except TrailingBytes as more:
            whole = SIZE.pack(more.stop - position - 4) + buf[position + 4 : more.stop]
            return self._request(whole, 0, len(whole), arrived)
        if type(outcome) is list:
            self._refreshed = False
            write_frame(self.to_broker, buf, position, end, end, outcome)
            self._expect(exchange)
            return True
        return self._special(exchange, buf, position, start, outcome)

    def _special(
        self, exchange: Exchange, buf: bytes, position: int, start: int, outcome: Outcome
    ) -> bool:
        """Do what a handler decided beyond edits; False when the request has to wait."""
        if isinstance(outcome, Refresh):
            self.waiting = outcome
            return False
        self._refreshed = False
        if isinstance(outcome, Answer):
            self._answer(exchange, _response_payload(exchange, exchange.finish(outcome.body)))
            return True
        assert isinstance(outcome, Forward)
        exchange.plan = outcome.plan
        self._forward(buf, position, start, outcome)
        self._expect(exchange)
        return True

    def _stream_produce(self, buf: bytes, position: int, end: int, arrived: float) -> int:
        """Send on a Produce request whose records have not all arrived, if its head is enough.

        Returns 0 if it was sent, else how many bytes of it make another look worthwhile.
        """
        limit = len(buf)
        if limit - position < 4 + MIN_REQUEST:
            return 4 + MIN_REQUEST
        size, api_key, version, correlation_id = _REQUEST_HEAD.unpack_from(buf, position)
        plan = plan_of(api_key, version)
        if plan is None or plan.request_segments is None:
            return end - position
        exchange = Exchange(plan, correlation_id, arrived, size + 4)
        try:
            start = self._body_of_request(plan, buf, position, limit)
            head = produce.head(self.state, exchange, buf, start, limit)
        except TruncatedError:
            return limit - position + 1 if limit - position < HEAD_LIMIT else end - position
        if head is None:
            return end - position
        edits, records_end = head
        if records_end > end:
            raise ProtocolError(produce.RECORDS_TOO_LONG)
        write_frame(self.to_broker, buf, position, limit, end, edits)
        self._stream_left = end - limit
        self._expect(exchange)
        return 0

    def _body_of_request(self, plan: Plan, buf: bytes, position: int, end: int) -> int:
        """Where the body begins; notes a client id that is new on this connection."""
        start = position + HEADER_SIZE + len(self._client_id)
        if buf.startswith(self._client_id, position + HEADER_SIZE) and start < end:
            # The client id of the request before, as it nearly always is.
            if not plan.request_header_flexible:
                return start
            if not buf[start]:
                return start + 1
        _, _, _, client_id, start = read_request_header(buf, position + 4, end)
        self._client_id = legacy_string(client_id)
        self.state.note_client_id(client_id)
        return start

    def _forward(self, buf: bytes, position: int, start: int, forward: Forward) -> None:
        """Write the request's own header, at the plan's version, and another body."""
        header = bytearray(buf[position + 4 : start])
        header[2:4] = forward.plan.version.to_bytes(2, "big")
        self.to_broker.append(SIZE.pack(len(header) + len(forward.body)))
        self.to_broker.append(bytes(header))
        self.to_broker.append(forward.body)

    def _expect(self, exchange: Exchange) -> None:
        self._fresh.append(exchange)
        if exchange.silent:
            self._done.append(exchange)
            return
        if self._in_flight is None:
            self._in_flight = deque()
        self._in_flight.append(exchange)

    def _sent(self) -> None:
        """Note when this round's requests left: from here on it is the broker's time."""
        if self._fresh:
            now = monotonic()
            for exchange in self._fresh:
                exchange.sent = exchange.answered = now
            self._fresh.clear()
        if self._done:
            self._count()

    # -- broker to client ---------------------------------------------------------------------

    def broker_data(self, data: bytes) -> None:
        """Take bytes from the broker. Raises ProtocolError for what no broker may send."""
        joined = self._broker_held.join(data)
        if joined is not None:
            self._read_responses(joined)
            if self._done:
                self._count()

    def _read_responses(self, buf: bytes) -> None:
        position, limit = 0, len(buf)
        arrived = monotonic()
        wanted = 0
        queue = self._in_flight
        while position < limit:
            if not queue:
                raise ProtocolError("the broker answered a request that was not sent")
            exchange = queue[0]
            step, wanted = self._read_response(exchange, buf, position)
            stream = exchange.stream
            whole = step > position if stream is None else stream.done
            position = step
            if not whole:
                break
            exchange.answered = arrived
            self._done.append(queue.popleft())
            while queue and queue[0].answer is not None:
                self._write_answer(queue.popleft())
        if position < limit:
            self._broker_held.keep(buf[position:], wanted)

    def _read_response(self, exchange: Exchange, buf: bytes, position: int) -> tuple[int, int]:
        """Pass on one response, or what there is of a Fetch.

        Returns where to go on, and how many bytes from there make another look worthwhile.
        """
        limit = len(buf)
        if exchange.stream is not None:
            at = exchange.stream.feed(buf, position, self.to_client)
            return at, limit - at + 1
        if limit - position < 4 + MIN_RESPONSE:
            return position, 4 + MIN_RESPONSE
        size, correlation_id = _RESPONSE_HEAD.unpack_from(buf, position)
        if not MIN_RESPONSE <= size <= MAX_RESPONSE:
            raise ProtocolError(_bad_size("response", size, MIN_RESPONSE, MAX_RESPONSE))
        if correlation_id != exchange.correlation_id:
            expected = exchange.correlation_id
            raise ProtocolError(f"the broker answered {correlation_id}, not {expected}")
        exchange.response_size = size + 4
        end = position + 4 + size
        if exchange.streams and (end > limit or exchange.extra is not None):
            stream = FetchStream(self.state, exchange)
            at = stream.start(buf, position, size, self.to_client)
            if stream.started:
                exchange.stream = stream
            return at, limit - at + 1
        if end > limit:
            return position, end - position
        self._response(exchange, buf, position, end)
        return end, 0

    def _response(self, exchange: Exchange, buf: bytes, position: int, end: int) -> None:
        plan = exchange.plan
        start = response_body_pos(buf, position + 4, end, plan.response_header_version)
        result = plan.on_response(self.state, exchange, buf, start, end)
        if isinstance(result, list):
            if not exchange.has_finish:
                write_frame(self.to_client, buf, position, end, end, result)
                return
            result = splice(buf, start, end, result)
        payload = _response_payload(exchange, exchange.finish(result))
        exchange.response_size = len(payload) + 4
        self.to_client.append(SIZE.pack(len(payload)) + payload)

    # -- answers of the gateway's own, and counting -------------------------------------------

    def _answer(self, exchange: Exchange, payload: bytes) -> None:
        """Answer in turn: at once, or behind the responses that are still to come."""
        exchange.answer = SIZE.pack(len(payload)) + payload
        if self._in_flight:
            self._in_flight.append(exchange)
        else:
            self._write_answer(exchange)

    def _answer_undecided(self, buf: bytes, position: int, end: int, arrived: float) -> None:
        payload = unsupported.answer(self.state, buf, position + 4, end)
        if payload:
            # The plan of an exchange that is answered here is never looked at again.
            exchange = Exchange(any_plan(), 0, arrived, end - position)
            self._answer(exchange, payload)

    def _write_answer(self, exchange: Exchange) -> None:
        assert exchange.answer is not None
        self.to_client.append(exchange.answer)
        exchange.response_size = len(exchange.answer)
        exchange.sent = exchange.answered
        self._done.append(exchange)

    def _count(self) -> None:
        count_exchanges(self._done, monotonic())
        self._done.clear()


def _response_payload(exchange: Exchange, body: bytes) -> bytes:
    version = exchange.client_plan.response_header_version
    return response_header(exchange.correlation_id, version) + body


def _bad_size(what: str, size: int, least: int, most: int) -> str:
    return f"a {what} of {size} bytes is not between {least} and {most} bytes"
