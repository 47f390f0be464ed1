"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup (APIs 11 to 14): members of classic groups.

All need READ on the group, whose id is rewritten under a home. If the group's protocol type is
"consumer", the topic names inside subscriptions (JoinGroup) and assignments (SyncGroup) are
rewritten in requests and restored in responses, in the spelling of this connection's subscription.
A SyncGroup before v5 does not hold the protocol type: if its member joined with another type, and
the broker serves v5, it is forwarded as v5 with that type, which the broker compares with the
group's. Topics that the view cannot reach are left out, because Kafka lets a consumer subscribe to
topics that do not exist. In a tree, topics outside the group's volume are named by their shadows,
which joining makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from gateway.apis import generic, walking
from gateway.error_codes import COORDINATOR_LOAD_IN_PROGRESS
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.exchanges.kept import Kept
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import READ, Do, Needs, Shadows, Waits
from gateway.rules.other_versions import at_version, response_at
from gateway.rules.rename import CONSUMER
from protocol import messages
from protocol.entities import Kind
from protocol.messages import changed
from protocol.pausing import eased
from protocol.splice import Edit
from protocol.walkers import Span

GROUP_ID = int(Kind.GROUP_ID)
PROTOCOL_TYPE = int(Kind.PROTOCOL_TYPE)

FIRST_WITH_TYPE = 5
"""The first version of SyncGroup with the protocol type and name (KIP-559). Both are mandatory, and
a broker rejects a type or name that is not the group's with INCONSISTENT_GROUP_PROTOCOL."""
_KNOWS_ITSELF = 4
"""The first version of JoinGroup in which a client has its member id before it joins (KIP-394)."""

_NO_GENERATION = -1

GROUP_TYPES_LIMIT = 1_000
"""Members per connection whose protocol type is remembered; a connection rarely has two members."""

SPELLED_LIMIT = 10_000
"""Topics per connection whose spelling in a subscription is remembered."""


@dataclass(frozen=True, slots=True)
class MemberOf(Kept):
    """A member's request: the ``protocol_type`` of its group, and in a JoinGroup the group."""

    protocol_type: bytes
    joins: bytes | None = None


def join_request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Rewrite the subscription."""
    spans = walking.request_spans(exchange.plan, buf, start, end)
    protocol_type = _value(spans, PROTOCOL_TYPE, CONSUMER)
    kept = MemberOf(protocol_type, _value(spans, GROUP_ID, b""))
    return _rewrite(state, exchange, buf[start:end], spans, kept)


def sync_request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Rewrite the leader's assignments."""
    plan = exchange.plan
    spans = walking.request_spans(plan, buf, start, end)
    protocol_type = _value(spans, PROTOCOL_TYPE, b"")
    if not protocol_type and state.protocol_types and plan.version < FIRST_WITH_TYPE:
        body, version = buf[start:end], plan.version
        joined = _joined(state.protocol_types, version, body)
        if joined is not None and _takes_types(state):
            exchange.plan = plan.at(FIRST_WITH_TYPE)
            exchange.then(
                lambda answer: response_at(SYNC_GROUP, FIRST_WITH_TYPE, version, answer, body)
            )
            newer = _with_type(version, body, joined)
            return generic.redecide(state, exchange, newer, sync_request)
        if joined is not None:
            # A broker without v5 has no KIP-848: it chooses member ids, and never reuses an id.
            protocol_type = joined[0].encode()
    return _rewrite(state, exchange, buf[start:end], spans, MemberOf(protocol_type or CONSUMER))


def _joined(
    joined: Mapping[tuple[str, str], tuple[str, str]], version: int, body: bytes
) -> tuple[str, str] | None:
    """The protocol type and the protocol with which the member of a SyncGroup joined; None for a
    consumer."""
    asked: Any = messages.parse("SyncGroupRequest", version, body)
    return joined.get((asked.group_id, asked.member_id))


def _takes_types(state: ConnectionState) -> bool:
    """Whether the broker serves a SyncGroup with the protocol type (Kafka 2.5 and later)."""
    versions = state.worker.cluster.versions_of(state.node_id)
    return versions.get(SYNC_GROUP.key, (0, FIRST_WITH_TYPE))[1] >= FIRST_WITH_TYPE


def _with_type(version: int, body: bytes, joined: tuple[str, str]) -> bytes:
    """A SyncGroup of an older version with the type and protocol with which its member joined. A
    member id may have had several types (KIP-848 lets clients choose the id), so the broker
    has to check that this type is the group's."""
    newer = at_version(SYNC_GROUP, version, FIRST_WITH_TYPE, body)
    asked: Any = messages.parse("SyncGroupRequest", FIRST_WITH_TYPE, newer)
    return messages.write(changed(asked, {"protocol_type": joined[0], "protocol_name": joined[1]}))


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Restore names as this client subscribed to them. All members of a group have the same
    protocol type, so the request's type also holds for the response."""
    spans = walking.response_spans(exchange.plan, buf, start, end)
    spans = [span for span in eased(spans) if span[0] != PROTOCOL_TYPE]
    exchange.spelled = state.spelled
    assert isinstance(exchange.kept, MemberOf)
    if exchange.kept.joins is not None:
        _remember_type(state, exchange.kept, exchange.plan.version, buf[start:end])
    far = None if state.tree is None else generic.far_topics(state, exchange)
    kind = exchange.kept.protocol_type
    restored = generic.restore(state, exchange, buf, start, end, spans, kind, far, remembered=True)
    if far is not None and far.unheard and exchange.kept.joins is not None:
        return _again(exchange.plan.version, buf[start:end]) or restored
    return restored


def _again(version: int, body: bytes) -> bytes | None:
    """The response that makes a group's leader join again, because the gateway may not know yet
    whether the leader may describe a topic that other members subscribed to, and no rebalance would
    follow when it knows. None: the client would lose its member id by the error, and the other
    members would wait for that member."""
    if version < _KNOWS_ITSELF:
        return None
    joined: Any = messages.parse("JoinGroupResponse", version, body)
    code = type(joined.error_code)(COORDINATOR_LOAD_IN_PROGRESS)
    return messages.write(
        replace(joined, error_code=code, generation_id=_NO_GENERATION, leader="", members=())
    )


def _remember_type(state: ConnectionState, kept: MemberOf, version: int, body: bytes) -> None:
    """Remember the protocol type and the protocol with which the broker let a member join; the type
    "consumer" is not remembered."""
    types = state.protocol_types
    if kept.protocol_type == CONSUMER and not types:
        return
    joined: Any = messages.parse("JoinGroupResponse", version, body)
    if joined.error_code:
        return
    assert kept.joins is not None
    member = (kept.joins.decode(errors="replace"), joined.member_id)
    if types is None or len(types) >= GROUP_TYPES_LIMIT:
        types = state.protocol_types = {}
    if kept.protocol_type == CONSUMER:
        types.pop(member, None)
    else:
        protocol_type = kept.protocol_type.decode(errors="replace")
        types[member] = (protocol_type, joined.protocol_name or "")


def _value(spans: list[Span], kind: int, default: bytes) -> bytes:
    """The value of the first span of a kind."""
    found: bytes = next((span[3] for span in eased(spans) if span[0] == kind), default)
    return found


def _rewrite(
    state: ConnectionState, exchange: Exchange, body: bytes, spans: list[Span], kept: MemberOf
) -> Outcome:
    """Rewrite the topic names inside a member's bytes, and remember the member's spellings."""
    exchange.kept = kept
    renamer = generic.renamer_for(state, exchange)
    renamer.add(spans, kept.protocol_type)
    if renamer.far is not None and (first := generic.prepare(renamer.far)) is not None:
        return first
    exchange.flow = state.flow(exchange.plan.api_key, exchange.plan.version, b"")
    if renamer.rejections is not None:
        return generic.reject(state, exchange, body, renamer.rejections)
    remember_spelling(state, renamer.spelled)
    return renamer.edits


def remember_spelling(state: ConnectionState, spelled: dict[bytes, bytes] | None) -> None:
    """Keep the spellings of a subscription's topics (flat name -> spelling) for later assignments.
    Of very many topics, only the first are kept."""
    if spelled:
        if state.spelled is None or len(state.spelled) + len(spelled) > SPELLED_LIMIT:
            state.spelled = {}
        state.spelled.update(islice(spelled.items(), SPELLED_LIMIT))


JOIN_GROUP = Api(
    "JoinGroup",
    (0, 9),
    Do.REWRITE,
    waits=Waits.FOR_MEMBERS,
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
    waits=Waits.FOR_MEMBERS,
    needs=Needs(group=READ),
    shadows=Shadows.NAMED,
    request=sync_request,
    response=response,
)
HEARTBEAT = Api("Heartbeat", (0, 4), Do.REWRITE, needs=Needs(group=READ))
LEAVE_GROUP = Api("LeaveGroup", (0, 5), Do.REWRITE, needs=Needs(group=READ))
