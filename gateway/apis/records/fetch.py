"""Fetch (API 1): names and ids of topics are rewritten and restored, record bytes are never
touched.

Needs READ on each topic. A broker's replica id is rejected: clients are not brokers. Fetch
sessions (KIP-227) belong to their connection, while a broker serves any session to any client, so
the gateway never forwards a session id that was not given to this connection. An incremental fetch
with such an id gets FETCH_SESSION_ID_NOT_FOUND; a full fetch (epoch 0 or -1), which only ends a
session, is forwarded without the id. A full fetch with a denied partition is forwarded without a
session, with its errors before the broker's topics; an incremental fetch with a denied partition
gets FETCH_SESSION_ID_NOT_FOUND, and the client sends a full fetch.
"""

from __future__ import annotations

from typing import Any, Final

from gateway.apis import generic, walking
from gateway.apis.counting import ERROR_CODE, TOPIC_ID, TOPIC_NAME, count_errors, report_rejections
from gateway.decision import Denied
from gateway.error_codes import (
    CLUSTER_AUTHORIZATION_FAILED,
    FETCH_SESSION_ID_NOT_FOUND,
    FETCH_SESSION_TOPIC_ID_ERROR,
    INVALID_FETCH_SESSION_EPOCH,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Forward, Outcome, Plan, Unanswerable
from gateway.exchanges.fetch_stream import LAST_BY_NAME, NOT_ASKED
from gateway.exchanges.fetched import count_partition, error_topics, fetched_flow, size_change
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState, FetchSession
from gateway.rules import partial
from gateway.rules.declaration import KIB, Do, Needs, Records, Topics, TopicShape, Waits
from gateway.rules.node_numbers import node_edits
from gateway.rules.partial import error_response
from gateway.rules.rename import NO_ID, NO_REPLICA_IDS, Rejections, wire_string
from gateway.views.access import READ
from protocol import messages
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.messages import changed, make
from protocol.pausing import FEW, eased, may_pause, paced
from protocol.splice import Edit, splice
from protocol.walkers import Span

REPLICA_ID: Final = int(Kind.REPLICA_ID)
SESSION_ID: Final = int(Kind.SESSION_ID)
SESSION_EPOCH: Final = int(Kind.SESSION_EPOCH)
MAX_BYTES: Final = int(Kind.MAX_BYTES)
RECORDS: Final = int(Kind.RECORDS)

FETCH: Final = 1

NO_SESSION_EPOCH: Final = -1
FULL_FETCHES: Final = (0, NO_SESSION_EPOCH)
"""The epochs of full fetches, whose partitions are only the named ones (FetchMetadata.isFull). They
end the named session; 0 opens a new session. Any other epoch continues a session, or is wrong."""

SESSION_ERRORS: Final = frozenset(
    {FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR}
)
"""Errors of a fetch session, not of a partition (SessionErrorContext)."""

NO_REPLICA: Final = Denied(
    CLUSTER_AUTHORIZATION_FAILED, "Only brokers may fetch as replicas.", "replica"
)

NO_NAME: Final = Denied(UNKNOWN_TOPIC_OR_PARTITION, "The topic name is empty.", "names")
"""A broker's own response to an empty name."""


MANY_SPANS: Final = 2_048
"""Spans of a whole response that are restored in one go: 3 ms, for 680 topics of one partition."""


class SessionGone(Kept):
    """Marks an exchange whose client gets FETCH_SESSION_ID_NOT_FOUND. The broker's response, which
    is still to come, must not open the session again."""


FIRST_WITH_SESSIONS: Final = 7

SESSION_NAMES: Final = 10_000
"""Topics in a session; a session with more is ended, and the client opens a new one (KIP-227)."""

COLLECT_LIMIT: Final = 4 * 1024 * 1024
"""The most bytes to request if names of several lengths are restored, because the response is then
collected; a larger batch still arrives whole (KIP-74)."""


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Check the session, rewrite the topics like :class:`gateway.rules.rename.RequestRenamer`, but
    in a single loop, and decide how the response will be read."""
    plan = exchange.plan
    spans = walking.request_spans(plan, buf, start, end)
    if _poses_as_replica(spans):
        # If the broker trusts the gateway as a broker, the fetch could move the high watermark.
        report_rejections(state, exchange, Rejections(ids={b"replica_id": NO_REPLICA}))
        return generic.answer_error(exchange, buf[start:end], NO_REPLICA)
    to_read, flexible = state.access.to_read, plan.flexible
    session_id, epoch = _session_of(spans)
    session = _open_session(state, exchange, session_id)
    edits: list[Edit] = []
    if session_id and (session is None or len(session.spelled) > SESSION_NAMES):
        if epoch not in FULL_FETCHES:
            state.fetch_session_closed(session_id)
            return _session_gone(state, exchange, buf[start:end])
        edits = _without_session(spans) if session is None else edits
    spelled: dict[bytes, bytes] = {}
    lead = b""
    if session is not None and epoch > 0:
        spelled, lead = session.spelled, session.lead
    for kind, at, stop, value in spans if len(spans) <= FEW else paced(spans):
        if kind == TOPIC_NAME:
            found = to_read(value)
            if isinstance(found, Denied) or spelled.setdefault(found.flat, value) != value:
                return _reject(state, exchange, buf, start, end, spans)
            lead = lead or found.flat
            if found.flat != value:
                edits.append((at, stop, found.flat_compact if flexible else found.flat_legacy))
        elif kind == TOPIC_ID and value != NO_ID:
            owned = state.topic_of_id(READ, at, stop, value, spelled, edits)
            if owned is None:
                return _reject(state, exchange, buf, start, end, spans)
            lead = lead or owned
    exchange.spelled = spelled
    exchange.flow = state.flow(FETCH, plan.version, lead)
    if session is not None and epoch in FULL_FETCHES:
        state.fetch_session_closed(session_id)
    return edits if _streams(exchange, spelled) else sorted(edits + _smaller(spans))


def _open_session(
    state: ConnectionState, exchange: Exchange, session_id: int
) -> FetchSession | None:
    """A session of this connection; None for any other id. If the catalog has changed since the
    session's names were resolved, and a name now leads elsewhere, the session is closed. Raises
    ManyItems if the names are many and the request is not decided in slices."""
    session = state.fetch_session(session_id)
    if session is None or not session.stale:
        return session
    if len(session.spelled) > FEW:
        walking.in_slices(exchange)
    session.stale = False  # a later change sets the flag again
    if not state.still_reaches(READ, session.spelled.items(), by_id=session.by_id):
        state.fetch_session_closed(session_id)
        return None
    return session


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore a response that has arrived whole: a small response, or a response that was collected
    because its names change by different lengths. Raises ManyItems if it has many spans and is not
    restored in slices."""
    plan = exchange.plan
    spelled = exchange.spelled or {}
    edits: list[Edit] = []
    flow = lead = exchange.flow or state.flow(FETCH, plan.version, b"")
    if isinstance(exchange.kept, SessionGone):
        return edits  # the client gets nothing of this response
    session_id = 0
    spans = _response_spans(state, plan, buf, start, end)
    for kind, at, stop, value in spans if len(spans) <= FEW else paced(spans):
        if kind == RECORDS:
            count_partition(exchange, flow, buf, stop, value)
        elif kind == TOPIC_NAME:
            shown = spelled.get(value)
            if shown is None:
                raise ProtocolError(NOT_ASKED)
            if shown != value:
                edits.append((at, stop, wire_string(shown, plan.flexible)))
            flow = fetched_flow(state, exchange, value)
        elif kind == TOPIC_ID:
            flat = state.worker.cluster.index.name_of(value) or b""
            asked = spelled.get(value)
            if asked is not None and asked != value:
                edits.append((at, stop, asked))
            flow = fetched_flow(state, exchange, flat)
        elif kind == SESSION_ID:
            session_id = value
        elif kind == ERROR_CODE:
            flow.errors[value] = flow.errors.get(value, 0) + 1
        else:  # a NODE_ID of a preferred read replica: nearly always -1, to read from the leader
            edits += node_edits([(kind, at, stop, value)], state.worker.number)
    if session_id:
        by_id = plan.version > LAST_BY_NAME
        state.fetch_session_opened(session_id, spelled, lead.flat.encode(), by_id=by_id)
    return edits


def _response_spans(
    state: ConnectionState, plan: Plan, buf: bytes, start: int, end: int
) -> list[Span]:
    """The spans of a response, in a tree with its broker node ids. Raises ManyItems."""
    walk = plan.numbered_response_walk(end - start) if state.worker.number else None
    spans = walking.response_spans(plan, buf, start, end, walk)
    if len(spans) > MANY_SPANS and not may_pause():
        raise walking.ManyItems
    return spans


def on_change(state: ConnectionState, exchange: Exchange) -> bool:
    """End a Fetch in flight if one of its names or ids leads elsewhere since the catalog changed.
    If its response has begun to arrive, the broker read the records before the change. The
    connection stays open."""
    version = exchange.plan.version
    if exchange.answer or exchange.stream is not None or isinstance(exchange.kept, SessionGone):
        return True
    if state.still_reaches(READ, (exchange.spelled or {}).items(), by_id=version > LAST_BY_NAME):
        return True

    def gone(_: bytes) -> bytes:
        if version < FIRST_WITH_SESSIONS:
            raise Unanswerable("a topic of a Fetch in flight was moved or deleted")
        count_errors(exchange, [FETCH_SESSION_ID_NOT_FOUND])
        response = messages.message_class("FetchResponse", version)
        return messages.write(make(response, {"error_code": FETCH_SESSION_ID_NOT_FOUND}))

    exchange.streams, exchange.extra, exchange.kept = False, None, SessionGone()
    exchange.then_at_last(gone)
    return True


def _session_of(spans: list[Span]) -> tuple[int, int]:
    session_id, epoch = 0, NO_SESSION_EPOCH
    for kind, _, _, value in spans:
        if kind == SESSION_ID:
            session_id = value
        elif kind == SESSION_EPOCH:
            return session_id, value
    return session_id, epoch


def _without_session(spans: list[Span]) -> list[Edit]:
    for kind, start, stop, _ in spans:
        if kind == SESSION_ID:
            return [(start, stop, bytes(4))]
    return []


def _streams(exchange: Exchange, spelled: dict[bytes, bytes]) -> bool:
    """Whether the response's size follows from its number of topics. By id, no size changes. By
    name, it follows if restoring changes every name's length by the same amount.

    Decided with the request, because later requests add to the names of the session.
    """
    by_id = exchange.plan.version > LAST_BY_NAME
    change = 0 if by_id else size_change(spelled, exchange.plan.flexible)
    if change is None:
        return False
    exchange.streams = True
    exchange.name_change = change
    return True


def _poses_as_replica(spans: list[Span]) -> bool:
    """Whether the replica id is a broker's. The id is the first field, or since v15 a tagged field,
    which comes last."""
    for kind, _, _, value in (spans[0], spans[-1]):
        if kind == REPLICA_ID and value not in NO_REPLICA_IDS:
            return True
    return False


def _smaller(spans: list[Span]) -> list[tuple[int, int, bytes]]:
    for kind, start, stop, value in spans:
        if kind == MAX_BYTES and value > COLLECT_LIMIT:
            return [(start, stop, COLLECT_LIMIT.to_bytes(4, "big"))]
    return []


def _session_gone(state: ConnectionState, exchange: Exchange, body: bytes) -> Answer:
    plan = exchange.plan
    if exchange.flow is None:  # else it is the flow of a denied topic, or of a named topic
        exchange.flow = state.flow(plan.api_key, plan.version, b"")
    count_errors(exchange, [FETCH_SESSION_ID_NOT_FOUND])
    return Answer(error_response(API, plan.version, body, FETCH_SESSION_ID_NOT_FOUND))


def _reject(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int, spans: list[Span]
) -> Outcome:
    """Reject the denied partitions: forward the rest outside any session, or end the session."""
    session_id, epoch = _session_of(spans)
    session = state.fetch_session(session_id)
    renamer = generic.renamer_for(state, exchange)
    if session is not None and epoch > 0:
        if session.by_id:
            renamer.spelled_ids = dict(session.spelled)
        else:
            renamer.spelled = dict(session.spelled)
    renamer.add(spans)
    rejections, body = renamer.rejections or Rejections(), buf[start:end]
    if any(kind == TOPIC_NAME and not value for kind, _, _, value in eased(spans)):
        rejections.topics[b""] = NO_NAME
    exchange.flow = state.flow(FETCH, exchange.plan.version, next(iter(renamer.spelled), b""))
    again = generic.look_again(exchange, rejections)
    if again is not None:
        return again
    report_rejections(state, exchange, rejections)
    state.fetch_session_closed(session_id)
    if epoch not in FULL_FETCHES:
        return _session_gone(state, exchange, body)
    plan = exchange.plan
    split = generic.split_topics(state, exchange, body, rejections.topics, rejections.aliases)
    errors = partial.merge(split.kept, None)
    if split.body is None:
        return Answer(errors)
    spans = walking.request_spans(plan, split.body, 0, len(split.body))
    renamer = generic.renamer_for(state, exchange)
    renamer.add(spans)
    edits = renamer.edits
    if plan.version > LAST_BY_NAME:
        exchange.spelled = renamer.spelled_ids
    if _streams(exchange, renamer.spelled):
        exchange.extra = error_topics(plan, errors)
    else:
        edits = sorted(edits + _smaller(spans))
        exchange.then(lambda answer: partial.merge(split.kept, answer))
    return Forward(plan, splice(split.body, 0, len(split.body), edits))


def without_session(request: Any, *_: object) -> Any:
    """A FetchRequest that lost topics, outside its session: the session would remember only the
    topics that are left, so the denied topics would never be reported again."""
    outside = {"session_id": 0, "session_epoch": NO_SESSION_EPOCH, "forgotten_topics_data": ()}
    return changed(request, outside)


def outside_a_session(response: Any) -> Any:
    """A FetchResponse that names no session."""
    return changed(response, {"session_id": 0})


def _answers_partitions(version: int, code: int) -> bool:
    """Whether a response names partitions beside an error of the whole. Old clients look only at
    partitions. Kafka knows their names only up to v12, and an error of a session has no
    partition."""
    return version <= LAST_BY_NAME and code not in SESSION_ERRORS


API = Api(
    "Fetch",
    (4, 15),
    Do.REWRITE,
    waits=Waits.FOR_RECORDS,
    records=Records.RESPONSE,
    by_id=Do.CHECK,
    why="v16 puts addresses behind the records",
    needs=Needs(topic=READ),
    topics=(
        TopicShape(
            Topics("topics", name="topic", partitions="partitions", index="partition"),
            Topics("responses", name="topic", partitions="partitions", index="partition_index"),
            {"high_watermark": -1, "aborted_transactions": (), "records": b""},
            one_spelling=True,
            adjusted=without_session,
            merged=outside_a_session,
        ),
    ),
    items_too=_answers_partitions,
    on_change=on_change,
    pipelined=True,
    request=request,
    response=response,
    # Records cost nothing to decide, and an item costs a microsecond.
    small_request=16 * KIB,
    small_response=256 * KIB,
)
