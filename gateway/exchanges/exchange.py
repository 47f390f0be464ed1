"""One request on its way to the broker and back, and the outcomes of its handlers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from gateway.decision import Denied
from gateway.exchanges.formats import Format
from gateway.exchanges.framing import Buffer
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.flows import Flow
from gateway.rules.declaration import Declaration
from protocol.errors import ProtocolError
from protocol.records import BatchFacts
from protocol.splice import Edit


class Plan(Format):
    """A format with its handlers: the session's handling of one API at one version, by API key and
    version. ``find`` returns the plan of a key and a version, if there is one. ``on_change``
    returns whether a request in flight may go on after a change of the catalog; None: it may if it
    would be forwarded once more (:mod:`gateway.session.rechecking`).
    """

    __slots__ = ("_find", "on_change", "on_request", "on_response")

    def __init__(
        self,
        api: Declaration,
        version: int,
        on_request: RequestHandler,
        on_response: ResponseHandler,
        find: Callable[[int, int], Plan | None],
        on_change: ChangeHandler | None = None,
    ) -> None:
        super().__init__(api, version)
        self.on_change = on_change
        self.on_request = on_request
        self.on_response = on_response
        self._find = find

    def at(self, version: int) -> Plan:
        """The plan of the same API at another decided version."""
        plan = self._find(self.api_key, version)
        assert plan is not None
        return plan


class Part:
    """One partition of a Produce request: topic and ``index``, the contents of its batch (None:
    unknown, or the broker rejected the batch), and the ``bytes`` that count on ``flow``, not on
    the flow of the first topic."""

    __slots__ = ("bytes", "facts", "flat", "flow", "index")

    def __init__(
        self, flow: Flow, flat: bytes, index: int, facts: BatchFacts | None, size: int
    ) -> None:
        self.flow = flow
        self.flat = flat
        self.index = index
        self.facts = facts
        self.bytes = size


class Stream:
    """A response that passes in pieces: :class:`gateway.exchanges.fetch_stream.FetchStream`.
    ``has_more``: more has arrived than is walked in one go, and the caller feeds the rest in
    slices."""

    __slots__ = ("has_more",)

    def __init__(self) -> None:
        self.has_more = False

    @property
    def done(self) -> bool:
        """Whether the whole response has been passed on."""
        raise NotImplementedError

    def feed(self, buf: bytes, position: int, out: list[Buffer]) -> int:
        """Walk and pass on the bytes that have arrived. Returns the position to go on from."""
        raise NotImplementedError

    def flows(self) -> list[Flow]:
        """The flows on which the stream may still count."""
        raise NotImplementedError


class Exchange:
    """A request in flight. Its response is matched by order and checked by correlation id. Times
    are of the monotonic clock, in seconds.

    The request:

    - ``plan``: the API and version on the wire to the broker; ``client_plan``: the client's.
    - ``size``: bytes of the request frame.
    - ``spelled``: flat name -> the client's spelling. ``spelled_ids``: the broker's topic id -> the
      client's. A Fetch names topics in one way only, so there ``spelled`` holds either.
    - ``ids``: the forwarded group and transactional ids, as the broker knows them.
    - ``transactional_id``: the id in a Produce request, as the client wrote it, if the request is
      authorized by it.
    - ``upgraded``: a Produce request that is forwarded with acks=all.

    Its decision:

    - ``refreshed``: it is decided again, after a refresh or a preparation.
    - ``checked``: it is decided again while it is in flight; its denials were reported before.
    - ``long``: it was decided in slices; its response is restored in slices, too, even if short.
    - ``undecided``: denials (name, denial, whether it is a topic's name or an id) of decisions that
      do not count yet, because the request may be decided several times. They are reported later.
    - ``frame`` (buffer, body start, body end) and ``outcome``: the last decision and its bytes, for
      APIs that decide again if the catalog changes (:class:`Plan`).
    - ``traced``: the notes of a trace (``gateway.session.tracing``); None as a rule.

    Its response:

    - ``answer``: a whole frame that the gateway made.
    - ``silent``: there is no response (acks=0).
    - ``swallowed``: the client sent acks=0 and must not get the response.
    - ``streams``: the response may pass in pieces; then ``stream`` walks it, puts the topics of
      ``extra`` (count, bytes) before the broker's, and makes it ``name_change`` bytes longer with
      each restored name.

    Its counts:

    - ``flow``: the flow of the first topic; ``others``: the flows of the other topics.
    - ``facts``: the contents of a Produce request's only batch; ``parts``: of several batches. They
      are counted after the broker has accepted them.
    - ``sent`` to ``answered``: the time at the broker, or of the gateway's :class:`Work`; both are
      equal if there was neither. The rest of the time since ``arrived`` is the gateway's. If the
      gateway's own answer waits for earlier responses, ``arrived`` is moved later by that wait.
    """

    # Values that most exchanges never set stay in the class: every request has an exchange.
    response_size = 0
    sent = 0.0
    answered = 0.0
    silent = False
    upgraded = False
    swallowed = False
    refreshed = False
    checked = False
    undecided: list[tuple[bytes, Denied, bool]] | None = None
    long = False
    streams = False
    spelled: dict[bytes, bytes] | None = None
    spelled_ids: dict[bytes, bytes] | None = None
    answer: bytes | None = None
    stream: Stream | None = None
    extra: tuple[int, bytes] | None = None
    name_change = 0
    flow: Flow | None = None
    others: list[Flow] | None = None
    facts: BatchFacts | None = None
    parts: list[Part] | None = None
    kept: Kept | None = None
    transactional_id: bytes | None = None
    ids: set[bytes] | None = None
    frame: tuple[bytes, int, int] | None = None
    outcome: Outcome | None = None
    traced: object | None = None
    _after: list[Callable[[bytes], bytes]] | None = None

    def __init__(self, plan: Plan, correlation_id: int, arrived: float, size: int) -> None:
        self.plan = plan
        self.client_plan = plan
        self.correlation_id = correlation_id
        self.arrived = arrived
        self.size = size

    def then(self, finish: Callable[[bytes], bytes]) -> None:
        """Apply ``finish`` to the restored response body, before the functions of earlier calls.

        So errors that are kept for denied items are merged before the body gets an older version.
        """
        if self._after is None:
            self._after = []
        self._after.append(finish)

    def then_at_last(self, finish: Callable[[bytes], bytes]) -> None:
        """Apply ``finish`` after all functions of :meth:`then`, including later calls."""
        self._after = [finish, *(self._after or ())]

    def flows(self) -> list[Flow]:
        """The flows on which this request may still count."""
        found = [] if self.flow is None else [self.flow]
        found += self.others or ()
        found += [part.flow for part in self.parts or ()]
        if self.stream is not None:
            found += self.stream.flows()
        return found

    @property
    def has_finish(self) -> bool:
        """Whether :meth:`finish` needs the whole response body."""
        return self._after is not None

    def finish(self, body: bytes) -> bytes:
        """The response body as the client gets it."""
        for step in reversed(self._after or ()):
            body = step(body)
        return body

    def finish_early(self, body: bytes) -> bytes:
        """:meth:`finish`, earlier; the later call of :meth:`finish` then changes nothing."""
        body = self.finish(body)
        self._after = None
        return body


class Unanswerable(ProtocolError):
    """The gateway cannot answer a legal request now. The connection is closed, and the client
    connects again. The text is the reason."""


class Refresh(Enum):
    """State that the gateway must read again before it can decide a request."""

    TOPICS = "topics"
    CATALOG = "catalog"


class Prepare:
    """Work that must be done before a request can be decided: ``run`` does it as far as possible,
    and raises nothing. The request is then decided again, as after a refresh."""

    __slots__ = ("run",)

    def __init__(self, run: Callable[[], Awaitable[None]]) -> None:
        self.run = run


class Forward:
    """Forward ``body`` (flat names, whole) in place of the client's body, at ``plan``'s version; or
    the ``pieces`` of a body that is too long to be joined."""

    __slots__ = ("body", "pieces", "plan")

    def __init__(self, plan: Plan, body: bytes, pieces: list[Buffer] | None = None) -> None:
        self.plan = plan
        self.body = body
        self.pieces = [body] if pieces is None else pieces


@dataclass(frozen=True, slots=True)
class Answer:
    """Respond without the broker; ``body`` is in logical names, before ``finish``."""

    body: bytes


class Work:
    """A request that the gateway carries out itself, over its own connections.

    ``run`` returns the response body (the client's names) before ``finish``. Later requests wait,
    as they wait for a slow broker.
    """

    __slots__ = ("run",)

    def __init__(self, run: Callable[[], Coroutine[Any, Any, bytes]]) -> None:
        self.run = run


class Turn:
    """Other connections have their turn before this connection's next request is decided, because
    it has sent so many requests at once that their decisions have used up its time."""


TURN: Final = Turn()


class Interlude:
    """The gateway's own requests to the broker, between two requests of the client.

    ``run`` sends them, with :meth:`gateway.session.session.Session.ask`; the client's requests
    wait.
    """

    __slots__ = ("run",)

    def __init__(self, run: Callable[[], Awaitable[None]]) -> None:
        self.run = run


Outcome = list[Edit] | Forward | Answer | Refresh | Prepare | Work
"""The decision of a request handler: edits to splice (an empty list: forward unchanged), or another
outcome."""

RequestHandler = Callable[[ConnectionState, Exchange, bytes, int, int], Outcome]
"""(connection, exchange, buffer, body start, body end) -> outcome. May raise ProtocolError."""

ChangeHandler = Callable[[ConnectionState, Exchange], bool]
"""(connection, exchange in flight) -> whether everything that was forwarded is still allowed and
has the same meaning. A handler that deals with the rest itself returns True."""

ResponseHandler = Callable[[ConnectionState, Exchange, bytes, int, int], list[Edit] | bytes | None]
"""The same for a response: edits of the buffer, or the whole new body (logical names). None: the
response is to the gateway's own request, and the client gets nothing."""
