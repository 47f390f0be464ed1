"""Requests that only carry names: rename, and answer for what is denied."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from gateway.apis.counting import count_errors, count_topics, note_denials
from gateway.decision import Denied
from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION
from gateway.exchanges.exchange import (
    Answer,
    Exchange,
    Forward,
    Outcome,
    Plan,
    Refresh,
    Unanswerable,
)
from gateway.exchanges.state import ConnectionState
from gateway.rules import authorized_operations, item_lists, partial
from gateway.rules.declaration import PLACEHOLDER
from gateway.rules.error_text import TextFacts, text_edits
from gateway.rules.partial import error_response
from gateway.rules.rename import Refusals, RequestRenamer
from gateway.rules.restore import ResponseRenamer, endpoint_edits
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.pausing import eased, let_go
from protocol.splice import Edit, splice
from protocol.walkers import Span

NAMESPACE_RULE: Final = "namespace"
TOPIC_NAME: Final = int(Kind.TOPIC_NAME)
TOPIC_ID: Final = int(Kind.TOPIC_ID)
SIZED: Final = int(Kind.SIZED)

MAX_SPANS: Final = 100_000
"""Names, ids and the like that one request may hold."""

NO_REPLICA: Final = Denied(
    CLUSTER_AUTHORIZATION_FAILED, "Only brokers may fetch as replicas.", "replica"
)
"""The broker trusts the gateway, so its clients are no brokers."""

_METADATA_V0: Final = 3 << 16
_NO_TOPIC_AT_ALL: Final = PLACEHOLDER.encode()


class TrailingBytes(ProtocolError):
    """A request goes on after its last field, at ``stop``.

    Kafka ignores such bytes and librdkafka 2.x sends some (3 in Metadata v13); the session
    decides the request again without them, so that nothing unread reaches the broker.
    """

    def __init__(self, stop: int) -> None:
        super().__init__("a request has bytes after its end")
        self.stop = stop


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Rename what the request names; the handler of every API without one of its own."""
    spans = request_spans(exchange.plan, buf, start, end)
    renamer = renamer_for(state, exchange)
    renamer.add(spans)
    count_topics(state, exchange)
    if exchange.plan.tells_operations:
        tell_allowed_operations(state, exchange, buf[start:end])
    if renamer.refusals is not None:
        return refuse(state, exchange, buf[start:end], renamer.refusals)
    return renamer.edits


def tell_allowed_operations(state: ConnectionState, exchange: Exchange, body: bytes) -> None:
    """See to it that the operations in the response to this request are those allowed here."""
    plan = exchange.plan
    if not state.access.authorizes:
        return
    wanted, of_topics = authorized_operations.requested(plan.api, plan.version, body)
    if wanted:
        exchange.then_at_last(
            lambda answer: authorized_operations.cut(
                plan.api, plan.version, answer, state.access, of_topics=of_topics
            )
        )


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore what the response names, its addresses and its texts; drop what may not be seen."""
    spans = response_spans(exchange.plan, buf, start, end)
    return restore(state, exchange, buf, start, end, spans)


def restore(
    state: ConnectionState,
    exchange: Exchange,
    buf: bytes,
    start: int,
    end: int,
    spans: list[Span],
    protocol_type: bytes | None = b"consumer",
) -> list[Edit] | bytes:
    """As :func:`response`, for spans that the caller has walked and looked at."""
    plan = exchange.plan
    renamer = ResponseRenamer(
        state.access,
        state.worker.cluster.index,
        plan.flexible,
        exchange.spelled,
        exchange.spelled_ids,
        of_others=plan.api.of_others,
    )
    renamer.add(spans, protocol_type)
    if renamer.errors:
        count_errors(exchange, renamer.errors)
    if renamer.hidden:
        try:
            body = partial.drop(plan.api, plan.version, buf[start:end], renamer.hidden)
        except LookupError:
            raise ProtocolError(f"{plan.name} response names what was not asked for") from None
        return restored_body(state, exchange, body)
    if not renamer.more:
        let_go(spans)
        return renamer.edits
    edits = renamer.edits + endpoint_edits(spans, state.addresses, plan.flexible)
    facts = TextFacts(renamer.in_text, state.view, exchange.spelled or {})
    edits += text_edits(spans, plan.flexible, facts)
    edits.sort()
    sized = [(span[1], span[2], span[3]) for span in eased(spans) if span[0] == SIZED]
    let_go(spans)
    return splice(buf, start, end, edits, sized) if sized and edits else edits


def restored_body(state: ConnectionState, exchange: Exchange, body: bytes) -> bytes:
    """The whole body in the client's names, after entries were dropped from it."""
    return whole(body, response(state, exchange, body, 0, len(body)))


def whole(body: bytes, result: list[Edit] | bytes) -> bytes:
    """A response body with the edits that were decided for it."""
    return result if isinstance(result, bytes) else splice(body, 0, len(body), result)


def request_spans(
    plan: Plan, buf: bytes, start: int, end: int, *, most: float = MAX_SPANS
) -> list[Span]:
    """Walk a whole request body.

    Raises TrailingBytes for bytes that go on after it, ProtocolError for more names than any
    client means, since they are decided in one go while everyone else waits.
    """
    spans: list[Span] = []
    long = end - start > plan.request_walked_at_once
    walk = plan.long_request_walk() if long else plan.request_walk
    stop = walk(buf, start, end, spans)
    if stop != end:
        raise TrailingBytes(stop)
    if len(spans) > most:
        raise ProtocolError(f"{plan.name} request names more than {most} things")
    return spans


def response_spans(plan: Plan, buf: bytes, start: int, end: int) -> list[Span]:
    """Walk a whole response body. Raises ProtocolError for bytes that go on after it."""
    spans: list[Span] = []
    long = end - start > plan.response_walked_at_once
    walk = plan.long_response_walk() if long else plan.response_walk
    stop = walk(buf, start, end, spans)
    if stop != end:
        raise ProtocolError(
            f"{plan.name} v{plan.version} response has {end - stop} bytes after its end"
        )
    return spans


def renamer_for(state: ConnectionState, exchange: Exchange) -> RequestRenamer:
    """A renamer for this request, whose spellings the exchange keeps for the response."""
    spelled: dict[bytes, bytes] = {}
    exchange.spelled = spelled
    index = state.worker.cluster.index
    plan = exchange.plan
    renamer = RequestRenamer(state.access, plan.needs, index, plan.flexible, spelled)
    exchange.spelled_ids = renamer.spelled_ids
    return renamer


def refuse(state: ConnectionState, exchange: Exchange, body: bytes, refusals: Refusals) -> Outcome:
    """Forward what may be, keep the errors of the rest for the response; first look again at
    the cluster or the catalog when that could change the decision."""
    again = look_again(exchange, refusals)
    if again is not None:
        return again
    note_denials(state, exchange, refusals)
    plan = exchange.plan
    if refusals.ids:
        return _refuse_ids(state, exchange, body, refusals)
    shape = plan.api.topic_shape(plan.version)
    if shape is not None and shape.all_or_nothing:
        _refuse_missing(state, exchange, refusals)
    split = partial.split(plan.api, plan.version, body, refusals.topics, refusals.aliases)
    if split.body is None:
        return Answer(partial.merge(split.kept, None))
    if refusals.aliases and state.view.has_topic_ids:
        exchange.then(lambda answer: _ids_of_aliases(state, exchange, answer, refusals.aliases))
    exchange.then(lambda answer: partial.merge(split.kept, answer))
    return forward_renamed(state, exchange, split.body)


def _refuse_missing(state: ConnectionState, exchange: Exchange, refusals: Refusals) -> None:
    """Nothing is attempted, so the broker is not asked, but which topics do not exist is told all
    the same (KafkaApis: AddPartitionsToTxn)."""
    for flat, spelled in (exchange.spelled or {}).items():
        if not state.worker.cluster.index.exists(flat):
            text = spelled.decode(errors="replace")
            missing = Denied(UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{text}' does not exist.", "names")
            refusals.topics.setdefault(spelled, missing)


def _ids_of_aliases(
    state: ConnectionState, exchange: Exchange, body: bytes, aliases: Mapping[bytes, bytes]
) -> bytes:
    """A merged response in which each second spelling of a topic has the topic id that goes with
    it, not the first one's."""
    edits: list[Edit] = []
    wanted: bytes | None = None
    for kind, start, stop, value in response_spans(exchange.client_plan, body, 0, len(body)):
        if kind == TOPIC_NAME:
            found = state.view.resolve(value) if value in aliases else None
            wanted = None
            if found is not None and not isinstance(found, Denied):
                wanted = found.topic_id or state.worker.cluster.index.id_of(found.flat)
        elif kind == TOPIC_ID and wanted is not None and any(value):
            edits.append((start, stop, wanted))
    return splice(body, 0, len(body), edits)


def require_open(state: ConnectionState) -> None:
    """Raise Unanswerable while nothing can be listed: a client that reads "there are no topics"
    gives up those that it has."""
    if state.view.closed:
        raise Unanswerable("the catalog is out of date, and topics were to be listed")


def look_again(exchange: Exchange, refusals: Refusals) -> Refresh | None:
    """What to read anew, once, before "does not exist" is said (DESIGN: Catalog)."""
    if exchange.refreshed:
        return None
    if refusals.unknown_ids:
        return Refresh.TOPICS
    if any(denied.rule == NAMESPACE_RULE for denied in refusals.topics.values()):
        return Refresh.CATALOG
    return None


def forward_renamed(state: ConnectionState, exchange: Exchange, body: bytes) -> Outcome:
    """Rename a body in logical names, all of whose items are allowed by now, and send it."""
    renamer = renamer_for(state, exchange)
    # "All topics" is asked for by name, however many there are.
    spans = request_spans(exchange.plan, body, 0, len(body), most=math.inf)
    if exchange.plan.key == _METADATA_V0:
        spans = [span for span in spans if span[3] != _NO_TOPIC_AT_ALL]
    renamer.add(spans)
    if renamer.refusals is not None:
        raise ProtocolError(f"{exchange.plan.name}: a refused item was left in the request")
    return Forward(exchange.plan, splice(body, 0, len(body), renamer.edits))


def as_forward(exchange: Exchange, body: bytes, outcome: Outcome) -> Outcome:
    """What was decided for ``body``, which is not the client's own: edits of it are made."""
    if isinstance(outcome, list):
        return Forward(exchange.plan, splice(body, 0, len(body), outcome))
    return outcome


def refuse_replica(state: ConnectionState, exchange: Exchange, body: bytes) -> Answer:
    """Reject a Fetch of a broker's replica: it could move the high watermark."""
    note_denials(state, exchange, Refusals(ids={b"replica_id": NO_REPLICA}))
    return answer_error(exchange, body, NO_REPLICA)


def answer_error(exchange: Exchange, body: bytes, denied: Denied) -> Answer:
    """Refuse the whole request with one error."""
    plan = exchange.plan
    return Answer(error_response(plan.api, plan.version, body, denied.code, denied.message))


def _refuse_ids(
    state: ConnectionState, exchange: Exchange, body: bytes, refusals: Refusals
) -> Outcome:
    plan = exchange.plan
    if plan.api.item_shape(plan.version) is None:
        return answer_error(exchange, body, next(iter(refusals.ids.values())))
    split = item_lists.split_items(plan.api, plan.version, body, refusals.ids)
    if split.body is None:
        return Answer(item_lists.merge_items(split.kept, None))
    exchange.then(lambda answer: item_lists.merge_items(split.kept, answer))
    rest = split.body
    return as_forward(exchange, rest, plan.on_request(state, exchange, rest, 0, len(rest)))
