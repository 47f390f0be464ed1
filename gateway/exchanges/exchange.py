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
    """A format with its handlers: what the session does with one API at one version, which it looks
    up by API key and version. ``find`` gives the plan of a key and a version, if there is one.
    ``on_change`` tells whether a request in flight may go on after a change of the catalog; None:
    if it would be forwarded once more (:mod:`gateway.session.rechecking`).
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
    """One partition of a Produce request: topic and ``index``, what its batch holds (None: unknown,
    or the broker rejected it), and how many ``bytes`` count on ``flow`` and not on that of the
    topic named first."""

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
    """A response that passes in pieces: :class:`gateway.exchanges.fetch_stream.FetchStream`. If it
    ``has_more``, what has arrived holds more than is walked in one go: the caller feeds the rest,
    in slices."""

    __slots__ = ("has_more",)

    def __init__(self) -> None:
        self.has_more = False

    @property
    def done(self) -> bool:
        """Whether the whole response has been passed on."""
        raise NotImplementedError

    def feed(self, buf: bytes, position: int, out: list[Buffer]) -> int:
        """Walk and pass on what has arrived; returns where to go on when more has."""
        raise NotImplementedError

    def flows(self) -> list[Flow]:
        """The flows that it may still count on."""
        raise NotImplementedError


class Exchange:
    """A request in flight. Its response is matched by order and checked by correlation id.

    ``plan`` is the API and version on the wire to the broker, ``client_plan`` what the client sent.
    ``spelled`` maps the flat names that the request named to the client's own spelling;
    ``spelled_ids`` maps the broker's topic ids to those that it used. A Fetch names topics in one
    way only, so either stands in ``spelled`` there. ``answer`` is a whole frame that the gateway
    made itself; ``silent`` requests have no response (acks=0). A Produce request that was
    ``upgraded`` is forwarded with acks=all; the response to a ``swallowed`` one, which was acks=0,
    is not for the client. A response that ``streams`` may pass in pieces; ``stream`` walks it then,
    and puts the topics of ``extra`` (count, bytes) before the broker's; each restored name makes it
    ``name_change`` bytes longer. A ``refreshed`` request is decided again after a refresh, or a
    preparation; one that is ``checked`` while it is in flight, and its denials were told before. A
    ``long`` request was decided in slices, and its response is restored in slices too, however
    short it is. It may be decided several times before a decision counts: what is denied meanwhile
    (its name, why, and whether it is a topic's or an id's) stands in ``undecided``, and is reported
    then. ``flow`` is that of the topic named first, ``others`` are those of the rest. ``facts`` is
    what a Produce request's one batch holds, ``parts`` stand for it if there are several: both are
    counted once the broker has accepted them. ``transactional_id`` is a Produce request's, as its
    client wrote it, if it needs a right on it. ``ids`` are the group and transactional ids that
    were forwarded, as the broker knows them. ``frame`` (buffer, body start, body end) and
    ``outcome`` are what was decided of which bytes, for APIs that decide it once more when the
    catalog changes (:class:`Plan`). Times are of the monotonic clock, in seconds; ``size`` is the
    request frame's, in bytes. From ``sent`` to ``answered`` a broker had the request, or the
    gateway did its :class:`Work`; both are the same if neither was so. The rest since ``arrived``
    is the gateway's; ``arrived`` is set later by what the gateway's own answer waits for responses
    that are to come before it.
    """

    # What most exchanges never set stays here, in the class: one is made for every request.
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
    _after: list[Callable[[bytes], bytes]] | None = None

    def __init__(self, plan: Plan, correlation_id: int, arrived: float, size: int) -> None:
        self.plan = plan
        self.client_plan = plan
        self.correlation_id = correlation_id
        self.arrived = arrived
        self.size = size

    def then(self, finish: Callable[[bytes], bytes]) -> None:
        """Do ``finish`` to the restored response body, before all that was asked for earlier.

        So errors kept for denied items are merged before an older version's form is made.
        """
        if self._after is None:
            self._after = []
        self._after.append(finish)

    def then_at_last(self, finish: Callable[[bytes], bytes]) -> None:
        """Do ``finish`` after all that was, or will be, asked for by :meth:`then`."""
        self._after = [finish, *(self._after or ())]

    def flows(self) -> list[Flow]:
        """The flows that this request may still count on."""
        found = [] if self.flow is None else [self.flow]
        found += self.others or ()
        found += [part.flow for part in self.parts or ()]
        if self.stream is not None:
            found += self.stream.flows()
        return found

    @property
    def has_finish(self) -> bool:
        """Whether the response body has to be made whole for :meth:`finish`."""
        return self._after is not None

    def finish(self, body: bytes) -> bytes:
        """The response body as the client gets it."""
        for step in reversed(self._after or ()):
            body = step(body)
        return body

    def finish_early(self, body: bytes) -> bytes:
        """The same; :meth:`finish` then leaves the body as it is."""
        body = self.finish(body)
        self._after = None
        return body


class Unanswerable(ProtocolError):
    """A legal request that the gateway cannot answer now: the connection ends, and the client
    connects again. The text says why."""


class Refresh(Enum):
    """State that the gateway must read again before it can decide a request."""

    TOPICS = "topics"
    CATALOG = "catalog"


class Prepare:
    """Something that must be done before a request can be decided: ``run`` does what it can, and
    raises nothing. The request is decided again then, as after a refresh."""

    __slots__ = ("run",)

    def __init__(self, run: Callable[[], Awaitable[None]]) -> None:
        self.run = run


class Forward:
    """Send ``body`` (flat names, whole) in place of the client's, at ``plan``'s version; or the
    ``pieces`` of one that is too long to be joined."""

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
    """A request that the gateway carries out itself, over connections of its own.

    ``run`` gives the response body (the client's names) before ``finish``. Requests behind it
    wait, as they do for a slow broker.
    """

    __slots__ = ("run",)

    def __init__(self, run: Callable[[], Coroutine[Any, Any, bytes]]) -> None:
        self.run = run


class Turn:
    """Other connections have their turn before the next request of this one is decided: it has sent
    so many at once that deciding them has taken its time."""


TURN: Final = Turn()


class Interlude:
    """Requests of the gateway's own to the broker, between two requests of the client.

    ``run`` sends them, with :meth:`gateway.session.session.Session.ask`; the client's wait.
    """

    __slots__ = ("run",)

    def __init__(self, run: Callable[[], Awaitable[None]]) -> None:
        self.run = run


Outcome = list[Edit] | Forward | Answer | Refresh | Prepare | Work
"""The decision of a request handler: edits to splice (none: forward unchanged), or one of the
rest."""

RequestHandler = Callable[[ConnectionState, Exchange, bytes, int, int], Outcome]
"""(connection, exchange, buffer, body start, body end) -> outcome. May raise ProtocolError."""

ChangeHandler = Callable[[ConnectionState, Exchange], bool]
"""(connection, exchange in flight) -> whether all that it was forwarded with is still allowed, and
means the same. A handler that sees to what is not any more itself returns True."""

ResponseHandler = Callable[[ConnectionState, Exchange, bytes, int, int], list[Edit] | bytes | None]
"""The same for a response: edits of the buffer, or the whole new body (logical names). None: the
response is to a request of the gateway's own, and the client gets nothing."""
