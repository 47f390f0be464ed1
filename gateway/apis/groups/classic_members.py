"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup (APIs 11 to 14): members of classic groups.

All need READ on the group, whose id is rewritten under a home. The topic names inside subscriptions
(JoinGroup) and assignments (SyncGroup) are rewritten in requests and restored in responses, in the
spelling that this connection subscribed with, where the group's protocol type is "consumer". Topics
that the view cannot reach are left out: Kafka lets a consumer subscribe to what does not exist. In
a tree, topics of other volumes than the group's are named by their shadows, which joining makes.
"""

from __future__ import annotations

from dataclasses import dataclass

from gateway.apis import generic
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import READ, Do, Needs, Shadows
from gateway.rules.rename import CONSUMER
from protocol.entities import Kind
from protocol.splice import Edit
from protocol.walkers import Span

GROUP_ID = int(Kind.GROUP_ID)
PROTOCOL_TYPE = int(Kind.PROTOCOL_TYPE)

GROUP_TYPES_LIMIT = 1_000
"""Groups per connection whose protocol type is remembered; a connection rarely has two."""

SPELLED_LIMIT = 10_000
"""Topics per connection whose spelling in a subscription is remembered."""


@dataclass(frozen=True, slots=True)
class MemberOf(Kept):
    """A member's request, by the ``protocol_type`` of its group."""

    protocol_type: bytes


def join_request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Rewrite the subscription; remember the group's protocol type for SyncGroup."""
    spans = generic.request_spans(exchange.plan, buf, start, end)
    protocol_type = _value(spans, PROTOCOL_TYPE, CONSUMER)
    types = state.protocol_types
    if types is None or len(types) >= GROUP_TYPES_LIMIT:
        types = state.protocol_types = {}
    types[_value(spans, GROUP_ID, b"")] = protocol_type
    return _rewrite(state, exchange, buf[start:end], spans, protocol_type)


def sync_request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Rewrite the leader's assignments; before v5 only JoinGroup has the protocol type."""
    spans = generic.request_spans(exchange.plan, buf, start, end)
    remembered = (state.protocol_types or {}).get(_value(spans, GROUP_ID, b""), CONSUMER)
    protocol_type = _value(spans, PROTOCOL_TYPE, b"") or remembered
    return _rewrite(state, exchange, buf[start:end], spans, protocol_type)


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore names as this client subscribed to them. The members of a group have one protocol
    type, so the request's holds, whatever the response says."""
    spans = generic.response_spans(exchange.plan, buf, start, end)
    spans = [span for span in spans if span[0] != PROTOCOL_TYPE]
    exchange.spelled = state.spelled
    assert isinstance(exchange.kept, MemberOf)
    return generic.restore(state, exchange, buf, start, end, spans, exchange.kept.protocol_type)


def _value(spans: list[Span], kind: int, default: bytes) -> bytes:
    """The value of the first span of a kind."""
    found: bytes = next((span[3] for span in spans if span[0] == kind), default)
    return found


def _rewrite(
    state: ConnectionState, exchange: Exchange, body: bytes, spans: list[Span], protocol_type: bytes
) -> Outcome:
    """Rewrite the names that a member embeds, and remember how it spelled its topics."""
    exchange.kept = MemberOf(protocol_type)
    renamer = generic.renamer_for(state, exchange)
    renamer.add(spans, protocol_type)
    if renamer.far is not None and (first := generic.prepare(renamer.far)) is not None:
        return first
    exchange.flow = state.flow(exchange.plan.api_key, exchange.plan.version, b"")
    if renamer.rejections is not None:
        return generic.reject(state, exchange, body, renamer.rejections)
    remember_spelling(state, renamer.spelled)
    return renamer.edits


def remember_spelling(state: ConnectionState, spelled: dict[bytes, bytes] | None) -> None:
    """Keep how a subscription spelled its topics (flat to spelled), for assignments to come."""
    if spelled:
        if state.spelled is None or len(state.spelled) > SPELLED_LIMIT:
            state.spelled = {}
        state.spelled |= spelled


JOIN_GROUP = Api(
    "JoinGroup",
    (0, 9),
    Do.REWRITE,
    needs=Needs(group=READ),
    shadows=Shadows.MADE,
    beside_error={"generation_id": -1, "protocol_name": None, "leader": "", "member_id": ""},
    request=join_request,
    response=response,
)
SYNC_GROUP = Api(
    "SyncGroup",
    (0, 5),
    Do.REWRITE,
    needs=Needs(group=READ),
    shadows=Shadows.NAMED,
    request=sync_request,
    response=response,
)
HEARTBEAT = Api("Heartbeat", (0, 4), Do.REWRITE, needs=Needs(group=READ))
LEAVE_GROUP = Api("LeaveGroup", (0, 5), Do.REWRITE, needs=Needs(group=READ))
