"""Requests: from the client's bytes to the broker's; one side of a session (sans-IO)."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Final

from gateway.apis.table import PLANS, any_plan, plan_of, unsupported
from gateway.apis.walking import ManyItems, TrailingBytes
from gateway.exchanges.exchange import (
    TURN,
    Answer,
    Exchange,
    Forward,
    Outcome,
    Prepare,
    Refresh,
    Work,
)
from gateway.exchanges.framing import ALL, SIZE, bad_size, rest_of, slice_of, write_frame
from gateway.exchanges.state import ConnectionState
from gateway.session.deciding import Deciding, readable_frame
from gateway.session.expiry import SessionExpired, end_of, prolongs
from gateway.session.in_flight import InFlight
from gateway.session.rechecking import may_go_on
from gateway.session.responses import response_payload
from gateway.session.silent import Silent
from gateway.session.streamed import MIN_REQUEST, REQUEST_HEAD, StreamedRequests
from protocol.errors import NotUtf8, ProtocolError
from protocol.pausing import size_of

_monotonic: Final = monotonic
"""When compiled, a Final constant is read without a lookup in the module's names."""

KEY_END: Final = 6
"""Bytes of a request frame up to the end of its API key."""

NO_TAGS: Final = b"\x00"
"""The tagged fields of a flexible header without tagged fields."""

REFRESHED: Final = 1
LEAVING: Final = 2
"""Bits of ``_unusual``. REFRESHED: the next request is decided again after a refresh. LEAVING: the
client is directed to another gateway."""


class Requests(StreamedRequests):
    """The client's side of a session."""

    __slots__ = (
        "_finishing",
        "_unusual",
        "_waits",
        "doubted",
        "left",
    )

    def __init__(self, state: ConnectionState, in_flight: InFlight) -> None:
        super().__init__(state, in_flight)
        self._unusual = 0  # a single number, so that each request costs a single check
        self._finishing = False
        # When the client was first directed to another gateway (monotonic seconds), or None.
        self.left: float | None = None
        self._waits = True
        # The requests in flight that have to be checked again, in slices.
        self.doubted: list[Exchange | Silent] | None = None

    def client_data(self, data: bytes) -> None:
        """Take bytes from the client. Raises ProtocolError for bytes that no client may send."""
        if self._stream_left:
            now = _monotonic()
            self._is_known(now)
            if now >= self.ends:
                self._end_stream()
                return
            passed = min(len(data), self._stream_left)
            self._stream_left -= passed
            if self._stream_left < self._stream_tail:
                self._check_tail(data, passed)
            self.to_broker.append(slice_of(data, 0, passed))
            if self._interlude is not None and not self._stream_left:
                self._begin(self._interlude, data[passed:])
            elif passed < len(data) and not self._finishing:
                self._read(data, passed)  # no bytes are held while a request streams
            return
        if self._finishing:
            return
        joined = self._held.join(data)
        if joined is not None:
            self._read(joined, 0)

    def resume(self, body: bytes | None = None, renewed: Callable[[], bool] = lambda: True) -> None:
        """Go on after ``waiting`` has been done; ``body`` is the response that :class:`Work`
        returned. ``renewed`` applies a re-authentication that has succeeded, before the requests
        behind it are read, and returns whether the connection goes on."""
        done, self.waiting = self.waiting, None
        held = self._held.take()
        position = 0
        exchange, self._working = self._working, None
        if isinstance(done, Deciding):
            self._decided_bytes(done)
            if self._finishing:  # no request behind it is begun
                held = b""
            if not self._is_known(_monotonic()):
                held = done.before(held)  # it was decided by a state that is too old by now
            elif not self._decided(done, done.slices.result()):
                self._hold(done.before(held))
                return
        elif exchange is not None:
            assert body is not None
            exchange.answered = _monotonic()
            self._in_flight.answer(exchange, response_payload(exchange, body))
            position = 4 + SIZE.unpack_from(held)[0]
            reauth = self.state.reauth
            if reauth is not None and reauth.failed is not None:
                self._in_flight.count()
                # The connection ends with this response: no request behind it is carried out.
                return
            if reauth is not None and reauth.identity is not None:
                self.ends = end_of(reauth.identity)
                if not renewed():
                    return
        elif isinstance(done, (Refresh, Prepare)):
            self._unusual |= REFRESHED
        # The waiting request goes on, and no request behind it is begun.
        if self._finishing and held:
            held = held[: 4 + SIZE.unpack_from(held)[0] if self._unusual & REFRESHED else position]
        if self._interlude is not None:
            self._begin(self._interlude, held[position:])
        else:
            self._read(held, position)

    @property
    def leaving(self) -> bool:
        """Whether the client is directed to another gateway with its requests for partitions."""
        return bool(self._unusual & LEAVING)

    def leave(self) -> None:
        """Direct the client to another gateway from here on, where the brokers are now."""
        self._unusual |= LEAVING

    def finish(self, *, waits: bool = True) -> None:
        """Begin no more requests. A request that is not under way has reached no broker, so its
        client can send it again elsewhere; a request that streams is still forwarded to its end.
        Unless the session ``waits``, it does not wait for responses that a broker may hold back."""
        self._finishing = True
        self._waits = waits
        if self.waiting is None:
            self._held.take()
            self.behind = False

    def go_on(self) -> None:
        """Decide the requests that were held behind responses, which have all arrived. Raises
        ProtocolError for bytes that no client may send."""
        self.behind = False
        if self._stream_left:
            raise SessionExpired
        self._read(self._held.take(), 0)

    def _read(self, buf: bytes, position: int) -> None:
        limit = len(buf)
        worker = self.state.worker
        most = worker.max_request_bytes
        arrived = _monotonic()
        self._is_known(arrived)
        expired = arrived >= self.ends
        turn_ends = arrived + worker.turn_seconds
        wanted = 4
        while limit - position >= 4:
            size: int = SIZE.unpack_from(buf, position)[0]
            if not MIN_REQUEST <= size <= most:
                raise ProtocolError(bad_size("request", size, MIN_REQUEST, most))
            if expired and limit - position >= KEY_END and not self._prolongs(buf, position):
                wanted = ALL
                break
            end = position + 4 + size
            if end > limit:
                wanted = self._stream_produce(buf, position, end, arrived)
                if not wanted:
                    position = limit
                break
            if not self._request(buf, position, end, arrived):
                if isinstance(self.waiting, Deciding):
                    self._deciding_bytes(self.waiting)
                    self._hold(buf[end:])
                    return
                wanted = ALL
                break
            position = end
            if position < limit and _monotonic() > turn_ends:
                self.waiting = TURN
                wanted = ALL
                break
        if position < limit:
            self._held.keep(rest_of(buf, position), wanted)
        self._in_flight.sent()

    def _is_known(self, now: float) -> bool:
        """Whether the catalog is still fresh enough. If it is not, all sessions use a closed view
        from here on."""
        validity = self.state.worker.validity
        if now <= validity.until:
            return True
        validity.end()
        return False

    def _prolongs(self, buf: bytes, position: int) -> bool:
        """Whether a request that came after the end of the login is served: it belongs to a
        re-authentication, or came before the end and is decided again.

        Returns False if other requests are under way: the request waits for them, because brokers
        read one request after the other. If it is not served, raises SessionExpired.
        """
        in_flight = self._in_flight
        if self._unusual & REFRESHED:
            return True
        if in_flight.queue or in_flight.silent is not None:
            if not in_flight.queue:
                self.prove()
            self.behind = True
            return False
        if not prolongs(self.state, int.from_bytes(buf[position + 4 : position + KEY_END], "big")):
            raise SessionExpired
        return True

    def _request(
        self, buf: bytes, position: int, end: int, arrived: float, cut_off: int = 0
    ) -> bool:
        """Decide a whole request, of which ``cut_off`` bytes were cut off. Returns False if it has
        to wait."""
        size, api_key, version, correlation_id = REQUEST_HEAD.unpack_from(buf, position)
        plan = PLANS.get(api_key << 16 | version) or plan_of(api_key, version)
        in_flight = self._in_flight
        if (in_flight.queue or in_flight.silent is not None) and self._must_wait(plan):
            return False
        if plan is None:
            self._answer_undecided(buf, position, end, arrived)
            return True
        exchange = Exchange(plan, correlation_id, arrived, size + 4 + cut_off)
        start = self._body_of_request(plan, buf, position, end)
        try:
            if size > plan.small_request or self._unusual:
                exchange.refreshed = bool(self._unusual & REFRESHED)
                return self._in_slices(exchange, buf, position, start, end)
            outcome = plan.on_request(self.state, exchange, buf, start, end)
        except TrailingBytes as more:
            whole = SIZE.pack(more.stop - position - 4) + buf[position + 4 : more.stop]
            return self._request(whole, 0, len(whole), arrived, end - more.stop)
        except NotUtf8:
            whole, _ = readable_frame(plan, buf, position, start, end)
            return self._request(whole, 0, len(whole), arrived, end - position - len(whole))
        except ManyItems:
            return self._in_slices(exchange, buf, position, start, end)
        if plan.on_change is None:
            exchange.frame, exchange.outcome = (buf, start, end), outcome
        if type(outcome) is list:
            self._unusual &= ~REFRESHED
            write_frame(self.to_broker, buf, position, end, end, outcome)
            self._in_flight.expect(exchange)
            return True
        return self._special(exchange, buf, position, start, outcome)

    def _in_slices(
        self, exchange: Exchange, buf: bytes, position: int, start: int, end: int
    ) -> bool:
        """Decide a request in slices. Returns False if it is not decided in the first slice."""
        deciding = Deciding(self.state, exchange, buf, position, start, end)
        deciding.leaving = bool(self._unusual & LEAVING)
        if not deciding.slices.first():
            self.waiting = deciding
            return False
        return self._decided(deciding, deciding.slices.result())

    def _decided(self, done: Deciding, outcome: Outcome) -> bool:
        """Carry out a decision that was made in slices. Returns False if the request has to wait
        again."""
        exchange, buf, position = done.exchange, done.buf, done.position
        if done.sent_on:
            self.left = self.left or exchange.arrived
        if isinstance(outcome, list):
            self._unusual &= ~REFRESHED
            write_frame(self.to_broker, buf, position, done.end, done.end, outcome)
            self._in_flight.expect(exchange)
            over = True
        else:
            over = self._special(exchange, buf, position, done.start, outcome)
        long = exchange.frame is not None
        if done.stale and over and (long or not may_go_on(self.state, exchange)):
            self.doubt(exchange)
        return over

    def doubt(self, exchange: Exchange | Silent) -> None:
        """Note that a long request in flight, or the requests without a response, have to be
        checked again."""
        if self.doubted is None:  # made at first use: most connections need none
            self.doubted = []
        self.doubted.append(exchange)

    def _special(
        self, exchange: Exchange, buf: bytes, position: int, start: int, outcome: Outcome
    ) -> bool:
        """Carry out an outcome other than edits. Returns False if the request has to wait."""
        if isinstance(outcome, (Refresh, Prepare)):
            self.waiting = outcome
            return False
        self._unusual &= ~REFRESHED
        if isinstance(outcome, Work):
            self.waiting = outcome
            self._working = exchange
            exchange.sent = _monotonic()
            return False
        if isinstance(outcome, Answer):
            self._in_flight.answer(exchange, response_payload(exchange, outcome.body))
            return True
        assert isinstance(outcome, Forward)
        exchange.plan = outcome.plan
        self._forward(exchange, buf, position, start, outcome)
        self._in_flight.expect(exchange)
        return True

    def _forward(
        self, exchange: Exchange, buf: bytes, position: int, start: int, forward: Forward
    ) -> None:
        """Write the request's own header, at the plan's version, and another body."""
        header = bytearray(buf[position + 4 : start])
        header[2:4] = forward.plan.version.to_bytes(2, "big")
        if forward.plan.request_header_flexible > exchange.client_plan.request_header_flexible:
            header += NO_TAGS
        self.to_broker.append(SIZE.pack(len(header) + size_of(forward.pieces)))
        self.to_broker.append(bytes(header))
        self.to_broker += forward.pieces

    def _answer_undecided(self, buf: bytes, position: int, end: int, arrived: float) -> None:
        # The plan of an exchange that is answered here is not used again.
        exchange = Exchange(any_plan(), 0, arrived, end - position)
        payload = unsupported(self.state, exchange, buf, position + 4, end)
        if payload:
            self._in_flight.answer(exchange, payload)
        else:
            self._in_flight.done(exchange)
