"""JoinGroup (API 11): the names in a member's subscription (classic groups)."""

from __future__ import annotations

from gateway.apis import generic
from gateway.apis.groups.subscriptions import PROTOCOL_TYPE, member_request, member_response
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import READ, Do, Needs
from gateway.rules.rename import CONSUMER
from protocol.entities import Kind
from protocol.walkers import Span

GROUP_ID = int(Kind.GROUP_ID)

GROUP_TYPES_LIMIT = 1_000
"""Groups per connection whose protocol type is remembered; a connection rarely has two."""


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Rename the subscription; remember the group's protocol type and how topics were spelled."""
    spans = generic.request_spans(exchange.plan, buf, start, end)
    protocol_type = next((span[3] for span in spans if span[0] == PROTOCOL_TYPE), CONSUMER)
    _remember_type(state, spans, protocol_type)
    return member_request(state, exchange, buf, start, end, spans, protocol_type)


def _remember_type(state: ConnectionState, spans: list[Span], protocol_type: bytes) -> None:
    group = next((span[3] for span in spans if span[0] == GROUP_ID), b"")
    types = state.protocol_types
    if types is None or len(types) >= GROUP_TYPES_LIMIT:
        types = state.protocol_types = {}
    types[group] = protocol_type


API = declare(
    Api(
        "JoinGroup",
        (0, 9),
        Do.REWRITE,
        needs=Needs(group=READ),
        beside_error={"generation_id": -1, "protocol_name": None, "leader": "", "member_id": ""},
        request=request,
        response=member_response,
    )
)
