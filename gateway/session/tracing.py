"""Traces requests for operators: the decision on each of their items, and what passed where.

While nobody traces, no request meets this module: every plan has its own handlers, and ``WATCH`` is
empty. A trace that begins puts a handler around those of all plans, and the last one that ends
takes it away again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from time import monotonic
from typing import Final, NamedTuple, TypeVar

from gateway.apis import generic, walking
from gateway.apis.table import APIS, PLANS
from gateway.apis.walking import ManyItems, TrailingBytes
from gateway.decision import Denied
from gateway.exchanges import exchange as exchanges
from gateway.exchanges.exchange import Exchange, Plan, RequestHandler, ResponseHandler
from gateway.exchanges.formats import WALKED_AT_ONCE
from gateway.exchanges.state import ConnectionState
from gateway.exchanges.watch import WATCH
from gateway.flows import FlowSource
from gateway.session.traced_items import TracedItems, errors_of
from gateway.traced import MOST_SENTENCE, Outcome, TracedRequest, Wanted, shortened
from protocol.errors import NotUtf8, ProtocolError
from protocol.pausing import let_go
from protocol.schema import API_NAMES
from protocol.splice import Edit

log = logging.getLogger(__name__)

MOST_TRACES: Final = 4
"""Traces that run in one worker at a time."""

MOST_AGAIN: Final = 1_000
"""Requests that are to be decided again whose earlier decisions are kept; of more the oldest are
forgotten."""

_TURNED_AWAY: Final = "gateway/apis/records/turned_away.py"

Emit = Callable[[TracedRequest], None]

_Noted = TypeVar("_Noted")


class TooManyTraces(Exception):
    """So many traces run in this worker that no other one begins."""


class Trace:
    """One operator's trace, which ``emit`` takes; ``left`` requests are still wanted, of those that
    arrived after it ``began`` (monotonic seconds): nobody has seen the decision of others. If it
    ends by itself, nothing is ``left``, and ``ended`` is called."""

    def __init__(self, wanted: Wanted, emit: Emit, ended: Callable[[], None]) -> None:
        self.wanted = wanted
        self.emit = emit
        self.ended = ended
        self.left = wanted.count
        self.began = monotonic()

    def takes(
        self, listener: str, principal: str, client_id: str, api: str, arrived: float
    ) -> bool:
        """Whether it wants a client's request of an API."""
        if self.left <= 0 or arrived < self.began:
            return False
        return self.wanted.takes(listener, principal, client_id, api)


class _Notes(NamedTuple):
    """What is noted of a request, on its exchange, which is freed if its connection ends. It
    arrived at a time that the exchange moves while its answer waits."""

    request: TracedRequest
    items: TracedItems
    arrived: float


class Tracing:
    """The traces of one worker. ``now`` is the time in seconds since 1970."""

    def __init__(self, worker_id: int, now: Callable[[], float] = time.time) -> None:
        self._worker_id = worker_id
        self._now = now
        self._traces: list[Trace] = []
        self._handlers: dict[int, tuple[Plan, RequestHandler, ResponseHandler]] = {}
        # To be decided again, as other exchanges: by connection and correlation id.
        self._again: dict[tuple[int, int], tuple[ConnectionState, TracedRequest]] = {}

    def begin(self, wanted: Wanted, emit: Emit, ended: Callable[[], None] = lambda: None) -> Trace:
        """Begin a trace. Raises TooManyTraces."""
        if len(self._traces) >= MOST_TRACES:
            raise TooManyTraces(f"{MOST_TRACES} traces run in it already")
        trace = Trace(wanted, emit, ended)
        self._traces.append(trace)
        if len(self._traces) == 1:
            WATCH.made, WATCH.denied, WATCH.done = self._surround, self._denied, self._done
            for plan in list(PLANS.values()):
                self._surround(plan)
        return trace

    def end(self, trace: Trace) -> None:
        """End a trace; does nothing if it has ended."""
        if trace not in self._traces:
            return
        self._traces.remove(trace)
        if not self._traces:
            WATCH.made = WATCH.denied = WATCH.done = None
            for plan, on_request, on_response in self._handlers.values():
                plan.on_request, plan.on_response = on_request, on_response
            self._handlers.clear()
            self._again.clear()

    def _noting(self, note: Callable[[], _Noted]) -> _Noted | None:
        """What is noted; None if it cannot be. A defect here ends all traces, and no client's
        request or connection."""
        try:
            return note()
        except Exception:
            log.exception("a request cannot be traced: all traces of this worker end")
            for trace in [*self._traces]:
                trace.left = 0
                self.end(trace)
                trace.ended()
            return None

    # -- around the handlers of a plan --------------------------------------------------------

    def _surround(self, plan: Plan) -> None:
        handlers = plan, plan.on_request, plan.on_response
        self._handlers[plan.key] = handlers
        plan.on_request = self._around_request(handlers[1])
        plan.on_response = self._around_response(handlers[2])

    def _around_request(self, handler: RequestHandler) -> RequestHandler:
        def on_request(
            state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
        ) -> exchanges.Outcome:
            if exchange.checked or exchange.traced is not None:
                # Decided while in flight, or a part of the decision that is under way.
                return handler(state, exchange, buf, start, end)
            notes = self._noting(lambda: self._noted(state, exchange))
            if notes is None:
                return handler(state, exchange, buf, start, end)
            request = notes.request
            try:
                outcome = handler(state, exchange, buf, start, end)
            except (ManyItems, NotUtf8, TrailingBytes):
                exchange.traced = None
                self._keep_for_again(state, exchange, request)  # the session decides it again
                raise
            except ProtocolError as error:
                request.outcomes.append(Outcome.CLOSE)
                request.reason = shortened(str(error), MOST_SENTENCE)
                self._noting(lambda: self._emit(request, exchange.arrived))
                raise
            self._noting(lambda: self._decided(state, exchange, notes, outcome, (buf, start, end)))
            return outcome

        return on_request

    def _around_response(self, handler: ResponseHandler) -> ResponseHandler:
        def on_response(
            state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
        ) -> list[Edit] | bytes | None:
            notes = exchange.traced
            if isinstance(notes, _Notes):
                notes.request.broker_bytes = end - start
                if end - start <= WALKED_AT_ONCE:
                    errors = self._noting(lambda: errors_of(exchange.plan, buf, start, end))
                    notes.request.errors = errors or {}
            return handler(state, exchange, buf, start, end)

        return on_response

    def _noted(self, state: ConnectionState, exchange: Exchange) -> _Notes | None:
        """The notes of a request that is about to be decided, which its exchange has from now on;
        None if no trace wants it."""
        plan, source = exchange.client_plan, state.source
        again = self._again.pop((id(state), exchange.correlation_id), None)
        if again is not None:
            request = again[1]
        elif self._is_wanted(source, plan.name, exchange.arrived):
            request = self._new(source, exchange, plan.name, plan.version)
        else:
            return None
        notes = exchange.traced = _Notes(request, TracedItems(request), exchange.arrived)
        return notes

    def _is_wanted(self, source: FlowSource, api: str, arrived: float) -> bool:
        asked = source.listener, source.principal, source.client_id, api, arrived
        return any(trace.takes(*asked) for trace in self._traces)

    def _keep_for_again(
        self, state: ConnectionState, exchange: Exchange, request: TracedRequest
    ) -> None:
        """Keep the record of a request that the session decides again. The oldest ones are
        forgotten, because connections end before that."""
        self._again[id(state), exchange.correlation_id] = state, request
        while len(self._again) > MOST_AGAIN:
            del self._again[next(iter(self._again))]

    def _new(self, source: FlowSource, exchange: Exchange, api: str, version: int) -> TracedRequest:
        return TracedRequest(
            time_ms=int(self._now() * 1000),
            worker=self._worker_id,
            listener=source.listener,
            principal=source.principal,
            client_id=source.client_id,
            client_address=source.client_address,
            api=api,
            version=version,
            correlation_id=exchange.correlation_id,
            request_bytes=exchange.size,
            handler=_file_of(exchange.client_plan),
        )

    def _decided(
        self,
        state: ConnectionState,
        exchange: Exchange,
        notes: _Notes,
        outcome: exchanges.Outcome,
        frame: tuple[bytes, int, int],
    ) -> None:
        """Note a handler's outcome, and the items that it was about."""
        plan, request = exchange.client_plan, notes.request
        edits: list[Edit] | None = None
        if isinstance(outcome, list):
            edits = outcome
            request.outcomes.append(Outcome.FORWARD)
            request.broker_version = plan.version
        elif isinstance(outcome, exchanges.Forward):
            request.outcomes.append(Outcome.REBUILD)
            request.broker_version = outcome.plan.version
        elif isinstance(outcome, exchanges.Answer):
            request.outcomes.append(Outcome.ANSWER)
        elif isinstance(outcome, exchanges.Work):
            request.outcomes.append(Outcome.WORK)
        else:
            request.outcomes.append(Outcome.REFRESH)
            self._keep_for_again(state, exchange, request)
        request.edits = len(edits or ())
        try:
            spans = walking.request_spans(plan, *frame, most=None)
        except ProtocolError:
            return  # its handler reads it in another way
        rebuilt = isinstance(outcome, exchanges.Forward)
        notes.items.find(state, exchange, spans, edits, rebuilt=rebuilt)
        let_go(spans)

    # -- watched ------------------------------------------------------------------------------

    def _denied(self, exchange: Exchange, resource: bytes, denied: Denied) -> None:
        if isinstance(notes := exchange.traced, _Notes):
            items = notes.items
            self._noting(lambda: items.deny(resource, denied))

    def _done(self, done: list[Exchange], now: float) -> None:
        self._noting(lambda: self._note_done(done, now))

    def _note_done(self, done: list[Exchange], now: float) -> None:
        for exchange in done:
            notes = exchange.traced
            if not isinstance(notes, _Notes):
                notes = self._undecided(exchange)
            if notes is None:
                continue
            request = notes.request
            notes.items.put_denials(topics=bool(exchange.client_plan.needs.topic))
            if exchange.stream is not None and Outcome.STREAM not in request.outcomes:
                request.outcomes.append(Outcome.STREAM)
            request.response_bytes = exchange.response_size
            request.broker_seconds = exchange.answered - exchange.sent
            request.gateway_seconds = now - exchange.arrived - request.broker_seconds
            self._emit(request, notes.arrived)

    def _undecided(self, exchange: Exchange) -> _Notes | None:
        """The notes of a request that no handler has decided: its records passed while they
        arrived, or its version is not served, or its client is directed to another gateway. None if
        no trace wants it, or its decision was made before they began."""
        flow, plan = exchange.flow, exchange.plan
        if flow is None:
            return None
        api = API_NAMES.get(flow.api_key, str(flow.api_key))
        if not self._is_wanted(flow.source, api, exchange.arrived):
            return None
        request = self._new(flow.source, exchange, api, flow.version)
        notes = _Notes(request, TracedItems(request), exchange.arrived)
        if flow.api_key != plan.api_key or flow.version < 0:
            request.handler = _file_of(None)
            request.outcomes.append(Outcome.ANSWER)
        elif exchange.answer is not None:
            if exchange.spelled is not None:
                return None  # a handler has looked at its names, and it has waited since then
            request.handler = _TURNED_AWAY
            request.outcomes.append(Outcome.ANSWER)
        elif plan.request_segments is None:
            return None
        else:
            request.outcomes.append(Outcome.STREAM)
            request.broker_version = plan.version
            notes.items.find_spelled(exchange)
        return notes

    def _emit(self, request: TracedRequest, arrived: float) -> None:
        asked = request.listener, request.principal, request.client_id, request.api, arrived
        for trace in self._traces:
            if trace.takes(*asked):
                trace.left -= 1
                trace.emit(request)


def _file_of(plan: Plan | None) -> str:
    """The file of the function that decides the requests of a plan; None: of those without one."""
    if plan is None:
        return "gateway/apis/table.py"
    handler = APIS[plan.api_key].request or generic.request
    return f"{handler.__module__.replace('.', '/')}.py"
