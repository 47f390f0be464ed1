"""What JoinGroup, SyncGroup and ConsumerGroupHeartbeat share: the names that members embed."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.apis import generic
from gateway.exchanges.exchange import Exchange, Kept, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules.rename import RequestRenamer
from protocol.entities import Kind
from protocol.splice import Edit
from protocol.walkers import Span

PROTOCOL_TYPE = int(Kind.PROTOCOL_TYPE)

SPELLED_LIMIT = 10_000
"""Topics per connection whose spelling in a subscription is remembered."""


@dataclass(frozen=True, slots=True)
class MemberOf(Kept):
    """A member's request, by the ``protocol_type`` of its group."""

    protocol_type: bytes


def member_request(
    state: ConnectionState,
    exchange: Exchange,
    buf: bytes,
    start: int,
    end: int,
    spans: list[Span],
    protocol_type: bytes,
) -> Outcome:
    """Rename what a member embeds, and remember how it spelled its topics."""
    exchange.kept = MemberOf(protocol_type)
    renamer: RequestRenamer = generic.renamer_for(state, exchange)
    renamer.add(spans, protocol_type)
    exchange.flow = state.flow(exchange.plan.api_key, exchange.plan.version, b"")
    if renamer.refusals is not None:
        return generic.refuse(state, exchange, buf[start:end], renamer.refusals)
    remember_spelling(state, renamer.spelled)
    return renamer.edits


def member_response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """JoinGroup and SyncGroup: names come back as this client subscribed to them. The members of
    a group have one protocol type, so the request's holds, whatever the response says."""
    spans = generic.response_spans(exchange.plan, buf, start, end)
    spans = [span for span in spans if span[0] != PROTOCOL_TYPE]
    exchange.spelled = state.spelled
    assert isinstance(exchange.kept, MemberOf)
    return generic.restore(state, exchange, buf, start, end, spans, exchange.kept.protocol_type)


def remember_spelling(state: ConnectionState, spelled: dict[bytes, bytes] | None) -> None:
    """Keep how a subscription spelled its topics (flat to spelled)."""
    if spelled:
        if state.spelled is None or len(state.spelled) > SPELLED_LIMIT:
            state.spelled = {}
        state.spelled |= spelled
