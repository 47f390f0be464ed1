"""The handlers of APIs that only carry names, and functions that other handlers share.

Names in a request are rewritten to flat names and restored in the response. Denied items are taken
out of the request, and their errors are put into the response.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from gateway.apis.counting import (
    TOPIC_ID,
    TOPIC_NAME,
    count_errors,
    count_topics,
    report_denied,
    report_rejections,
)
from gateway.apis.walking import request_spans, response_spans
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION
from gateway.exchanges.exchange import (
    Answer,
    Exchange,
    Forward,
    Outcome,
    Plan,
    Prepare,
    Refresh,
    RequestHandler,
    Unanswerable,
)
from gateway.exchanges.state import ConnectionState
from gateway.rules import authorized_operations, item_lists, partial
from gateway.rules.declaration import PLACEHOLDER, Shadows
from gateway.rules.error_text import TextFacts, text_edits
from gateway.rules.item_lists import Key
from gateway.rules.partial import error_response
from gateway.rules.rename import IDS, Rejections, RequestRenamer, wire_string
from gateway.rules.restore import ResponseRenamer, endpoint_edits, named_brokers
from gateway.rules.shadows import Far
from gateway.rules.topic_entries import NO_ALIASES
from gateway.views.names_of_view import NAMESPACE_RULE
from protocol.entities import Kind
from protocol.errors import ProtocolError
from protocol.pausing import eased, let_go
from protocol.splice import Edit, splice
from protocol.walkers import Span

SIZED: Final = int(Kind.SIZED)

SPELLED_TWICE: Final = Denied(
    INVALID_REQUEST,
    "This is already in the request, under another spelling of its name.",
    "spelling",
)

_METADATA_V0: Final = 3 << 16
"""The ``key`` of a plan: API key 3, version 0."""

_NO_TOPIC_AT_ALL: Final = PLACEHOLDER.encode()


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Rewrite the names in a request. Handles every API without a handler of its own."""
    spans = request_spans(exchange.plan, buf, start, end)
    return request_of(state, exchange, buf, start, end, spans)


def request_of(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int, spans: list[Span]
) -> Outcome:
    """:func:`request`, for spans that the caller has walked."""
    renamer = renamer_for(state, exchange)
    renamer.add(spans)
    if renamer.far is not None and (first := prepare(renamer.far)) is not None:
        return first
    count_topics(state, exchange)
    if exchange.plan.tells_operations:
        tell_allowed_operations(state, exchange, buf[start:end])
    if renamer.rejections is not None:
        return reject(state, exchange, buf[start:end], renamer.rejections)
    return renamer.edits


def tell_allowed_operations(state: ConnectionState, exchange: Exchange, body: bytes) -> None:
    """Cut the authorized operations in the response (KIP-430) to the operations that the client may
    do through the gateway."""
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
    """Restore the names, addresses and error texts in a response; drop what the view hides."""
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
    far: Far | None = None,
    *,
    remembered: bool = False,
    assigned: bool = False,
) -> list[Edit] | bytes:
    """:func:`response`, for spans that the caller has walked. ``protocol_type`` is the group's if
    no span holds it. ``far`` has the topics of other volumes, or is None if it is to be made here.
    ``remembered`` and ``assigned`` are as for :class:`ResponseRenamer`."""
    plan = exchange.plan
    renamer = ResponseRenamer(
        state.access,
        state.worker.cluster.index,
        plan.flexible,
        exchange.spelled,
        exchange.spelled_ids,
        far=far or (None if state.tree is None else far_topics(state, exchange)),
        remembered=remembered,
        assigned=assigned,
    )
    renamer.add(spans, protocol_type)
    if exchange.ids:
        _require_asked(plan, exchange.ids, spans)
    if renamer.errors:
        count_errors(exchange, renamer.errors)
    if renamer.hidden:
        try:
            body = partial.drop(plan.api, plan.version, buf[start:end], renamer.hidden)
        except LookupError:
            raise ProtocolError(f"{plan.name} response names what was not requested") from None
        if not (remembered or assigned):
            return restored_body(state, exchange, body)
        spans = response_spans(plan, body, 0, len(body))
        left = restore(
            state,
            exchange,
            body,
            0,
            len(body),
            spans,
            protocol_type,
            far,
            remembered=remembered,
            assigned=assigned,
        )
        return whole(body, left)
    if not renamer.more:
        let_go(spans)
        return renamer.edits
    for node_id, host, port in named_brokers(spans):
        state.worker.cluster.hear(node_id, host, port)
    edits = renamer.edits + endpoint_edits(spans, state.addresses, plan.flexible)
    facts = TextFacts(renamer.shown, state.view, exchange.spelled or {})
    edits += text_edits(spans, plan.flexible, facts)
    edits.sort()
    sized = [(span[1], span[2], span[3]) for span in eased(spans) if span[0] == SIZED]
    let_go(spans)
    return splice(buf, start, end, edits, sized) if sized and edits else edits


def _require_asked(plan: Plan, ids: set[bytes], spans: list[Span]) -> None:
    """Raise ProtocolError for a group or transactional id of a response that was not requested:
    nobody has looked at the client's rights on it."""
    for kind, _, _, value in eased(spans):
        if kind in IDS and value and value not in ids:
            raise ProtocolError(f"{plan.name}: the broker answers for an id that was not requested")


def restored_body(state: ConnectionState, exchange: Exchange, body: bytes) -> bytes:
    """The whole body in the client's names, after entries were dropped from the body."""
    return whole(body, response(state, exchange, body, 0, len(body)))


def whole(body: bytes, result: list[Edit] | bytes) -> bytes:
    """A response body with a handler's edits applied."""
    return result if isinstance(result, bytes) else splice(body, 0, len(body), result)


def renamer_for(
    state: ConnectionState, exchange: Exchange, *, thawed: bool = False
) -> RequestRenamer:
    """A renamer for this request; the exchange keeps the renamer's spellings for the response.
    ``thawed``: no name counts as frozen."""
    access = state.access.thawed() if thawed else state.access
    spelled: dict[bytes, bytes] = {}
    exchange.spelled = spelled
    index = state.worker.cluster.index
    plan = exchange.plan
    far = None if state.tree is None else far_topics(state, exchange, thawed=thawed)
    renamer = RequestRenamer(access, plan.needs, index, plan.flexible, spelled, far)
    exchange.spelled_ids = renamer.spelled_ids
    exchange.ids = renamer.ids
    return renamer


def far_topics(state: ConnectionState, exchange: Exchange, *, thawed: bool = False) -> Far | None:
    """The topics of other volumes; None without a tree, and for an API that rejects them."""
    tree, shadows = state.tree, exchange.plan.api.shadows
    if tree is None or shadows is Shadows.NONE:
        return None
    return tree.far(shadows, final=exchange.refreshed, thawed=thawed)


def prepare(far: Far) -> Prepare | None:
    """The work to do before this request is decided; None without such work."""
    run = far.preparation()
    return None if run is None else Prepare(run)


def reject(
    state: ConnectionState, exchange: Exchange, body: bytes, rejections: Rejections
) -> Outcome:
    """Forward a request without its denied items, whose errors the response gets. If a refresh of
    the topics or the catalog could change the decision, refresh first."""
    again = look_again(exchange, rejections)
    if again is not None:
        return again
    report_rejections(state, exchange, rejections)
    plan = exchange.plan
    if rejections.ids or rejections.id_aliases:
        if plan.api.item_shape(plan.version) is None:
            denied = next(iter(rejections.ids.values()), SPELLED_TWICE)
            return answer_error(exchange, body, denied)
        left = without_items(state, exchange, body, rejections.ids, rejections.id_aliases)
        if isinstance(left, Answer):
            return left
        return redecide(state, exchange, left, plan.on_request)
    shape = plan.api.topic_shape(plan.version)
    if shape is None:  # the response has no place for the error of a topic
        denied = next(iter(rejections.topics.values()), SPELLED_TWICE)
        return answer_error(exchange, body, denied)
    if shape.all_or_nothing:
        _reject_missing(state, exchange, rejections)
    if rejections.aliases and state.view.has_topic_ids:
        exchange.then(lambda answer: _ids_of_aliases(state, plan, answer, rejections.aliases))
    left = without_topics(state, exchange, body, rejections.topics, rejections.aliases)
    return left if isinstance(left, Answer) else forward_renamed(state, exchange, left)


def without_topics(
    state: ConnectionState,
    exchange: Exchange,
    body: bytes,
    denied: Mapping[bytes, Denied],
    aliases: Mapping[bytes, bytes] = NO_ALIASES,
) -> bytes | Answer:
    """A request without its ``denied`` topics and without second spellings (``aliases``); the
    response gets their errors and copies. If nothing is left to forward, the whole answer. A second
    spelling that contradicts the first is reported as a denial."""
    split = split_topics(state, exchange, body, denied, aliases)
    return _left(exchange, split, partial.merge)


def split_topics(
    state: ConnectionState,
    exchange: Exchange,
    body: bytes,
    denied: Mapping[bytes, Denied],
    aliases: Mapping[bytes, bytes],
) -> partial.Split:
    """A request split as :func:`without_topics` does; contradictory spellings are reported."""
    plan = exchange.plan
    split = partial.split(plan.api, plan.version, body, denied, aliases)
    if aliases:
        report_denied(state, exchange, partial.contradictions(split.kept, aliases))
    return split


def without_items(
    state: ConnectionState,
    exchange: Exchange,
    body: bytes,
    denied: Mapping[Key, Denied],
    aliases: Mapping[Key, Key] = MappingProxyType({}),
) -> bytes | Answer:
    """:func:`without_topics` for groups, coordinator keys and config resources."""
    plan = exchange.plan
    split = item_lists.split_items(plan.api, plan.version, body, denied, aliases)
    if aliases:
        report_denied(state, exchange, item_lists.contradictions(split.kept, aliases))
    return _left(exchange, split, item_lists.merge_items)


def _left(
    exchange: Exchange, split: Any, merge: Callable[[Any, bytes | None], bytes]
) -> bytes | Answer:
    if split.body is None:
        return Answer(merge(split.kept, None))
    exchange.then(lambda answer: merge(split.kept, answer))
    left: bytes = split.body
    return left


def _reject_missing(state: ConnectionState, exchange: Exchange, rejections: Rejections) -> None:
    """Reject the topics that do not exist, because nothing is forwarded in which the broker could
    reject them (KafkaApis: AddPartitionsToTxn)."""
    for flat, spelled in eased((exchange.spelled or {}).items()):
        if not state.worker.cluster.index.exists(flat):
            text = spelled.decode(errors="replace")
            missing = Denied(UNKNOWN_TOPIC_OR_PARTITION, f"Topic '{text}' does not exist.", "names")
            rejections.topics.setdefault(spelled, missing)


def _ids_of_aliases(
    state: ConnectionState, plan: Plan, body: bytes, aliases: Mapping[bytes, bytes]
) -> bytes:
    """A merged response (of ``plan``'s version) in which each second spelling of a topic has the
    topic id that belongs to this spelling, not to the first."""
    edits: list[Edit] = []
    wanted: bytes | None = None
    for kind, start, stop, value in eased(response_spans(plan, body, 0, len(body))):
        if kind == TOPIC_NAME:
            found = state.view.resolve(value) if value in aliases else None
            wanted = None
            if found is not None and not isinstance(found, Denied):
                wanted = found.topic_id or state.worker.cluster.index.id_of(found.flat)
        elif kind == TOPIC_ID and wanted is not None and any(value):
            edits.append((start, stop, wanted))
    return splice(body, 0, len(body), edits)


def require_open(state: ConnectionState) -> None:
    """Raise Unanswerable while the catalog is out of date, because a client that gets an empty list
    of topics gives up the topics that it has."""
    if state.view.closed:
        raise Unanswerable("the catalog is out of date, so topics cannot be listed")


def look_again(exchange: Exchange, rejections: Rejections) -> Refresh | None:
    """The refresh, at most once per request, that must precede a final "unknown" rejection."""
    if exchange.refreshed:
        return None
    if rejections.unknown_ids:
        return Refresh.TOPICS
    if any(denied.rule == NAMESPACE_RULE for denied in eased(rejections.topics.values())):
        return Refresh.CATALOG
    return None


def forward_renamed(
    state: ConnectionState,
    exchange: Exchange,
    body: bytes,
    shadows: Mapping[bytes, bytes] = NO_ALIASES,
    shadow_ids: Mapping[bytes, bytes] = NO_ALIASES,
) -> Forward:
    """Forward a body in logical names, in which nothing is denied. Names from a listing may be
    frozen: the listing shows such topics until the names change hands. ``shadows`` maps the names
    of topics in other volumes to their shadows, ``shadow_ids`` their ids to the shadows': the
    caller has decided on these, and no second decision may differ."""
    renamer = renamer_for(state, exchange, thawed=True)
    # The limit is off: "all topics" was expanded to names, however many there are.
    spans = request_spans(exchange.plan, body, 0, len(body), most=None)
    if exchange.plan.key == _METADATA_V0:
        spans = [span for span in eased(spans) if span[3] != _NO_TOPIC_AT_ALL]
    edits = renamer.edits
    if shadows or shadow_ids:
        edits += _shadow_edits(renamer, spans, shadows, shadow_ids, exchange.plan.flexible)
        decided = {TOPIC_NAME: shadows, TOPIC_ID: shadow_ids}
        spans = [span for span in eased(spans) if span[3] not in decided.get(span[0], ())]
    renamer.add(spans)
    if renamer.rejections is not None:
        raise ProtocolError(f"{exchange.plan.name}: a denied item was left in the request")
    edits.sort()
    return Forward(exchange.plan, splice(body, 0, len(body), edits))


def _shadow_edits(
    renamer: RequestRenamer,
    spans: list[Span],
    shadows: Mapping[bytes, bytes],
    shadow_ids: Mapping[bytes, bytes],
    flexible: bool,
) -> Iterator[Edit]:
    for kind, start, stop, value in eased(spans):
        if kind == TOPIC_NAME and value in shadows:
            renamer.spelled[shadows[value]] = value
            yield start, stop, wire_string(shadows[value], flexible)
        elif kind == TOPIC_ID and value in shadow_ids:
            renamer.spelled_ids[shadow_ids[value]] = value
            yield start, stop, shadow_ids[value]


def redecide(
    state: ConnectionState, exchange: Exchange, body: bytes, handler: RequestHandler
) -> Outcome:
    """A handler's outcome for a ``body`` that is not the client's own, with its edits applied."""
    outcome = handler(state, exchange, body, 0, len(body))
    if isinstance(outcome, list):
        return Forward(exchange.plan, splice(body, 0, len(body), outcome))
    return outcome


def answer_error(exchange: Exchange, body: bytes, denied: Denied) -> Answer:
    """Reject the whole request with one error."""
    plan = exchange.plan
    return Answer(error_response(plan.api, plan.version, body, denied.code, denied.message))
