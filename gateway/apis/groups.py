"""Groups: coordinators, the classic protocol's embedded names, listings, offsets."""

from __future__ import annotations

from gateway.apis import generic
from gateway.apis.counting import count_errors
from gateway.decision import Denied
from gateway.error_codes import INVALID_REQUEST
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules import list_groups, partial
from gateway.rules.broker_addresses import hidden_nodes
from gateway.rules.find_coordinator import hide_nodes
from gateway.rules.rename import CONSUMER, RequestRenamer
from gateway.rules.restore import ResponseRenamer
from gateway.views.access import DESCRIBE
from protocol.entities import Kind
from protocol.splice import Edit
from protocol.walkers import Span

KEY_TYPE = int(Kind.KEY_TYPE)
COORDINATOR_KEY = int(Kind.COORDINATOR_KEY)
GROUP_ID = int(Kind.GROUP_ID)
PROTOCOL_TYPE = int(Kind.PROTOCOL_TYPE)
TOPIC_ID = int(Kind.TOPIC_ID)
TRANSACTIONAL_ID = int(Kind.TRANSACTIONAL_ID)

GROUP_KEY = 0
TRANSACTION_KEY = 1

SPELLED_LIMIT = 10_000
"""Topics per connection whose spelling in a subscription is remembered."""

GROUP_TYPES_LIMIT = 1_000
"""Groups per connection whose protocol type is remembered; a connection rarely has two."""


def find_coordinator(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Keys are group or transactional ids by their type, which may stand behind them."""
    plan = exchange.plan
    spans = generic.request_spans(plan, buf, start, end)
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    key_type = next((span[3] for span in spans if span[0] == KEY_TYPE), GROUP_KEY)
    if key_type not in (GROUP_KEY, TRANSACTION_KEY):
        denied = Denied(
            INVALID_REQUEST, f"Coordinators of key type {key_type} are not served here.", "access"
        )
        return generic.answer_error(exchange, buf[start:end], denied)
    renamer = generic.renamer_for(state, exchange)
    renamer.add(_typed(spans, key_type))
    if renamer.refusals is not None:
        return generic.refuse(state, exchange, buf[start:end], renamer.refusals)
    return renamer.edits


def find_coordinator_response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the keys; a coordinator without an address here is not available."""
    plan = exchange.plan
    spans = generic.response_spans(plan, buf, start, end)
    hidden = hidden_nodes(spans, state.addresses)
    if hidden:
        buf = hide_nodes(plan.version, buf[start:end], hidden)
        start, end = 0, len(buf)
        spans = generic.response_spans(plan, buf, start, end)
        return generic.whole(
            buf, generic.restore(state, exchange, buf, start, end, _typed(spans, GROUP_KEY))
        )
    return generic.restore(state, exchange, buf, start, end, _typed(spans, GROUP_KEY))


def join_group(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Rename the subscription; remember the group's protocol type and how topics were spelled."""
    spans = generic.request_spans(exchange.plan, buf, start, end)
    protocol_type = next((span[3] for span in spans if span[0] == PROTOCOL_TYPE), CONSUMER)
    exchange.request = protocol_type
    _remember_type(state, spans, protocol_type)
    return _member_request(state, exchange, buf, start, end, spans, protocol_type)


def sync_group(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Rename the leader's assignments; before v5 only JoinGroup said the protocol type."""
    spans = generic.request_spans(exchange.plan, buf, start, end)
    group = next((span[3] for span in spans if span[0] == GROUP_ID), b"")
    remembered = (state.protocol_types or {}).get(group, CONSUMER)
    named = next((span[3] for span in spans if span[0] == PROTOCOL_TYPE), None)
    exchange.request = named or remembered
    return _member_request(state, exchange, buf, start, end, spans, named or remembered)


def member_response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """JoinGroup and SyncGroup: names come back as this client subscribed to them. The members of
    a group have one protocol type, so the request's holds, whatever the response says."""
    spans = generic.response_spans(exchange.plan, buf, start, end)
    spans = [span for span in spans if span[0] != PROTOCOL_TYPE]
    exchange.spelled = state.spelled
    protocol_type = exchange.request
    assert isinstance(protocol_type, bytes)
    return generic.restore(state, exchange, buf, start, end, spans, protocol_type)


def list_groups_response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Only the groups of this view that may be described, without its home's prefix."""
    plan, access = exchange.plan, state.access
    spans = generic.response_spans(plan, buf, start, end)
    renamer = ResponseRenamer(state.access, state.worker.cluster.index, plan.flexible, None)
    renamer.add(spans)
    hidden = {
        value for kind, _, _, value in spans if kind == GROUP_ID and not access.lists_group(value)
    }
    if not hidden | renamer.hidden_ids:
        count_errors(exchange, renamer.errors)
        return renamer.edits
    body = list_groups.keep(
        plan.version,
        buf[start:end],
        lambda group: group not in hidden and group not in renamer.hidden_ids,
    )
    spans = generic.response_spans(plan, body, 0, len(body))
    return generic.whole(body, generic.restore(state, exchange, body, 0, len(body), spans))


def offset_fetch_response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore the names; v10 answers "all" by ids alone, so those that are not known to be this
    view's are dropped here. Ids that were asked for are known: the index keeps gone ones."""
    plan, index = exchange.plan, state.worker.cluster.index
    spans = generic.response_spans(plan, buf, start, end)
    asked = exchange.spelled_ids or {}
    hidden = {
        value
        for kind, _, _, value in spans
        if kind == TOPIC_ID
        and value not in asked
        and (
            (flat := index.name_of(value)) is None
            or state.view.spell(flat) is None
            or state.access.flat(DESCRIBE, flat) is not None
        )
    }
    if not hidden:
        return generic.restore(state, exchange, buf, start, end, spans)
    body = partial.drop(plan.api_key, plan.version, buf[start:end], hidden)
    return generic.restored_body(state, exchange, body)


def _typed(spans: list[Span], key_type: int) -> list[Span]:
    """The spans with coordinator keys as what they are."""
    kind = TRANSACTIONAL_ID if key_type == TRANSACTION_KEY else GROUP_ID
    return [
        (kind, span[1], span[2], span[3]) if span[0] == COORDINATOR_KEY else span for span in spans
    ]


def _member_request(
    state: ConnectionState,
    exchange: Exchange,
    buf: bytes,
    start: int,
    end: int,
    spans: list[Span],
    protocol_type: bytes,
) -> Outcome:
    renamer: RequestRenamer = generic.renamer_for(state, exchange)
    renamer.add(spans, protocol_type)
    exchange.flow = state.flow(exchange.plan.api_key, exchange.plan.version, b"")
    if renamer.refusals is not None:
        return generic.refuse(state, exchange, buf[start:end], renamer.refusals)
    remember_spelling(state, renamer.spelled)
    return renamer.edits


def remember_spelling(state: ConnectionState, spelled: dict[bytes, bytes] | None) -> None:
    """Keep how a subscription spelled its topics (flat to spelled)."""
    if spelled:
        if state.spelled is None or len(state.spelled) > SPELLED_LIMIT:
            state.spelled = {}
        state.spelled |= spelled


def _remember_type(state: ConnectionState, spans: list[Span], protocol_type: bytes) -> None:
    group = next((span[3] for span in spans if span[0] == GROUP_ID), b"")
    types = state.protocol_types
    if types is None or len(types) >= GROUP_TYPES_LIMIT:
        types = state.protocol_types = {}
    types[group] = protocol_type
