"""ShareFetch (API 78, KIP-932): records of share groups, and acknowledgements of earlier ones.

Needs READ on the group and on each topic. Topics are named by id. A share session belongs to the
connection that opened it (``share_sessions``): other requests of a session get
SHARE_SESSION_NOT_FOUND, and the client opens a new one. A topic that the client may not read, or no
longer, is not in the broker's session; its partitions get an error in every response.

Brokers put the addresses of new leaders behind the records, so a response is collected. Hence a
request for more than COLLECT_LIMIT bytes is forwarded as a request for that many.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gateway.apis import generic, walking
from gateway.apis.counting import ERROR_CODE, TOPIC_ID, count_errors, report_denied
from gateway.apis.share_records.share_sessions import (
    FINAL_EPOCH,
    FIRST_EPOCH,
    MOST_DENIED,
    NO_MEMBER,
    NOTHING_TO_ACKNOWLEDGE,
    SHARE_SESSION_PARTITIONS,
    Withheld,
    advance,
    is_too_large,
    is_too_long,
    no_session,
    share_session_key,
    with_errors,
    without_topics,
)
from gateway.decision import Denied
from gateway.error_codes import (
    SHARE_SESSION_LIMIT_REACHED,
    UNKNOWN_TOPIC_ID,
    UNKNOWN_TOPIC_OR_PARTITION,
)
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Answer, Exchange, Forward, Outcome, Refresh
from gateway.exchanges.fetched import count_partition, fetched_flow
from gateway.exchanges.kept import Kept
from gateway.exchanges.share_session import ShareSession, ShareSessionKey
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import KIB, READ, Do, Needs, Waits
from gateway.rules.partial import error_response
from gateway.rules.rename import GROUP_ID, NO_ID, Rejections, RequestRenamer
from gateway.views.access import Access
from protocol import messages
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.pausing import FEW, eased, may_pause, paced
from protocol.splice import Edit, splice
from protocol.walkers import Span

MAX_BYTES: Final = int(Kind.MAX_BYTES)
RECORDS: Final = int(Kind.RECORDS)

COLLECT_LIMIT: Final = 4 * 1024 * 1024
"""The most bytes to request; a larger batch still arrives whole."""

MANY_SPANS: Final = 2_048
"""Spans of a response that are restored in one go: some 3 ms."""

_TOO_MANY_PARTITIONS: Final = (
    f"A share session has at most {SHARE_SESSION_PARTITIONS} partitions here, and at most"
    f" {MOST_DENIED} that its member may not read."
)


@dataclass(frozen=True, slots=True)
class AskedShare(Kept):
    """The session as it is once the broker has answered the request (``session`` None: it ends), as
    it was ``decided`` with this ``access``.

    ``named`` has the broker's ids of the topics that the request names, by the client's ids;
    ``acknowledged`` the client's ids of those of which it acknowledges records.
    """

    key: ShareSessionKey
    access: Access
    session: ShareSession | None
    decided: ShareSession
    named: Mapping[bytes, bytes] = field(default_factory=dict)
    acknowledged: tuple[bytes, ...] = ()
    withheld: tuple[Withheld, ...] = ()


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Decide the topics of the session that are new, or that a change of the catalog may concern,
    and forward the request with the broker's ids."""
    plan, body = exchange.plan, buf[start:end]
    spans = walking.request_spans(plan, buf, start, end)
    renamer = generic.renamer_for(state, exchange)
    renamer.add([span for span in eased(spans) if span[0] == GROUP_ID])
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    if renamer.rejections is not None:
        return generic.reject(state, exchange, body, renamer.rejections)
    asked = messages.parse(f"{plan.name}Request", plan.version, body)
    key, epoch = share_session_key(renamer.ids, asked), asked.share_session_epoch
    if key is None:
        return generic.answer_error(exchange, body, NO_MEMBER)
    before = None if epoch == FIRST_EPOCH else state.share_session(key)
    if before is None and epoch != FIRST_EPOCH:
        return no_session(exchange, body)
    if before is not None and epoch != FINAL_EPOCH and _goes_on(before, spans):
        _expect(state, exchange, AskedShare(key, state.access, before, before))
        return sorted(renamer.edits + _smaller(spans))
    if before is not None and before.size > FEW:
        walking.in_slices(exchange)
    if is_too_long(asked):
        return _too_large(exchange, body)
    if epoch == FIRST_EPOCH and any(_acknowledged(asked)):
        return generic.answer_error(exchange, body, NOTHING_TO_ACKNOWLEDGE)
    after = advance(asked, before, lambda ids: judged(state, exchange, ids))
    if not exchange.refreshed and _may_be_new(after.session, spans):
        return Refresh.TOPICS
    if is_too_large(after.session):
        return _too_large(exchange, body)
    _report(state, exchange, before, after.session, spans)
    keeps = None if epoch == FINAL_EPOCH else after.session
    left = messages.write(after.request)
    spans = walking.request_spans(plan, left, 0, len(left))
    renamer = generic.renamer_for(state, exchange)
    renamer.add([span for span in eased(spans) if span[0] == GROUP_ID])
    acknowledged = tuple(one for one in _acknowledged(asked) if one in after.named)
    about = AskedShare(
        key, state.access, keeps, after.session, after.named, acknowledged, after.withheld
    )
    _expect(state, exchange, about)
    return Forward(plan, splice(left, 0, len(left), sorted(renamer.edits + _smaller(spans))))


def _too_large(exchange: Exchange, body: bytes) -> Answer:
    count_errors(exchange, [SHARE_SESSION_LIMIT_REACHED])
    plan, code = exchange.plan, SHARE_SESSION_LIMIT_REACHED
    return Answer(error_response(plan.api, plan.version, body, code, _TOO_MANY_PARTITIONS))


def judged(
    state: ConnectionState, exchange: Exchange, ids: Iterable[bytes]
) -> tuple[Mapping[bytes, bytes], Mapping[bytes, Denied]]:
    """The broker's ids of topics, by the client's ids, and the denials of the topics that the
    client may not read. A frozen topic is the client's until its name changes hands."""
    plan, index = exchange.plan, state.worker.cluster.index
    renamer = RequestRenamer(state.access.thawed(), plan.needs, index, plan.flexible, {})
    renamer.add([(TOPIC_ID, 0, 0, one) for one in eased([*ids])])
    rejections = renamer.rejections or Rejections()
    return (
        {client: own for own, client in eased([*renamer.spelled_ids.items()])},
        {one: _of_id(why) for one, why in eased([*rejections.topics.items()])},
    )


def _acknowledged(request: Any) -> Iterator[bytes]:
    """The client's ids of topics of which a request acknowledges records."""
    for topic in paced(request.topics):
        batches = (each.acknowledgement_batches for each in topic.partitions)
        if topic.topic_id is not None and any(batches):
            yield topic.topic_id.bytes


def _of_id(why: Denied) -> Denied:
    if why.code == UNKNOWN_TOPIC_OR_PARTITION:
        return replace(why, code=UNKNOWN_TOPIC_ID)
    return why


def _goes_on(session: ShareSession, spans: list[Span]) -> bool:
    """Whether a request neither names topics nor needs any of the session to be decided again."""
    if session.stale or session.denied:
        return False
    return all(kind != TOPIC_ID for kind, _, _, _ in eased(spans))


def _may_be_new(session: ShareSession, spans: list[Span]) -> bool:
    """Whether a request names a topic of which this worker has not heard yet."""
    unknown = {one for one, why in session.denied.items() if why.rule == "topic_id"}
    return any(kind == TOPIC_ID and value in unknown for kind, _, _, value in eased(spans))


def _report(
    state: ConnectionState,
    exchange: Exchange,
    before: ShareSession | None,
    after: ShareSession,
    spans: list[Span],
) -> None:
    """Report the topics that are denied from now on, or that the request names."""
    if not after.denied:
        return
    known = {} if before is None else before.denied
    named = {value for kind, _, _, value in eased(spans) if kind == TOPIC_ID}
    denials = [*after.denied.items()]
    report_denied(
        state,
        exchange,
        [each for each in eased(denials) if each[0] not in known or each[0] in named],
    )


def _expect(state: ConnectionState, exchange: Exchange, asked: AskedShare) -> None:
    """Note what the response will be about; the request counts for the session's first topic."""
    plan, index = exchange.plan, state.worker.cluster.index
    exchange.kept = asked
    exchange.spelled_ids = asked.decided.clients
    if asked.named:
        named = {own: client for client, own in eased([*asked.named.items()])}
        exchange.spelled_ids = exchange.spelled_ids | named
    lead = index.name_of(next(iter(exchange.spelled_ids), NO_ID))
    exchange.flow = state.flow(plan.api_key, plan.version, lead or b"")


def _smaller(spans: list[Span]) -> list[Edit]:
    for kind, start, stop, value in spans:
        if kind == MAX_BYTES and value > COLLECT_LIMIT:
            return [(start, stop, COLLECT_LIMIT.to_bytes(4, "big"))]
    return []


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the topic ids and addresses, and add the errors of topics that the broker did not
    get. Records of topics that the client may not read any more are left out. Raises ProtocolError
    for a topic that was not requested, and ManyItems for many if it is not restored in slices."""
    plan, asked = exchange.plan, exchange.kept
    if not isinstance(asked, AskedShare):  # the gateway's own answer
        return generic.response(state, exchange, buf, start, end)
    spans = walking.response_spans(plan, buf, start, end)
    errors = sum(len(each.partitions) for each in asked.withheld)
    if (len(spans) > MANY_SPANS or errors > FEW) and not may_pause():
        raise walking.ManyItems
    flow = exchange.flow or state.flow(plan.api_key, plan.version, b"")
    spelled = exchange.spelled_ids or {}
    clients: list[bytes] = []
    failed, at_top = False, True
    for kind, _, stop, value in eased(spans):
        if kind == TOPIC_ID:
            assert value is not None
            at_top = False
            if value not in spelled and value != NO_ID:
                raise ProtocolError(f"{plan.name}: the broker answers for what was not requested")
            clients.append(spelled.get(value, NO_ID))
            flat = state.worker.cluster.index.name_of(value)
            flow = fetched_flow(state, exchange, flat or b"")
        elif kind == RECORDS:
            count_partition(exchange, flow, buf, stop, value)
        elif kind == ERROR_CODE and at_top:
            failed = True
    state.keep_share_session(asked.key, None if failed else asked.session)
    late: Mapping[bytes, Denied] = {}
    if asked.access is not state.access:
        asked.decided.stale = True
        _, late = judged(state, exchange, clients)
    restored = generic.restore(state, exchange, buf, start, end, spans)
    if not late and not asked.withheld:
        return restored
    body = restored if isinstance(restored, bytes) else splice(buf, start, end, restored)
    shown = messages.parse(f"{plan.name}Response", plan.version, body)
    count_errors(exchange, [why.code for why in late.values()])
    shown = with_errors(without_topics(shown, late), asked.withheld)
    return messages.write(shown)


def on_change(state: ConnectionState, exchange: Exchange) -> bool:
    """Whether a request in flight may go on: whether the client may still read in the group, and
    the topics of which it acknowledges records. The rest of its response is cut to what the client
    may read then."""
    asked = exchange.kept
    if not isinstance(asked, AskedShare):
        return True
    group = state.access.view.id_to_client(asked.key[0])
    if group is None or isinstance(state.access.group(READ, group), Denied):
        return False
    return not judged(state, exchange, asked.acknowledged)[1]


API = Api(
    "ShareFetch",
    (1, 2),
    Do.ABSENT,
    by_id=Do.CHECK,
    why="collected: addresses stand behind the records",
    waits=Waits.FOR_RECORDS,
    needs=Needs(topic=READ, group=READ),
    on_change=on_change,
    request=request,
    response=response,
    small_response=256 * KIB,  # records cost nothing to restore
)
