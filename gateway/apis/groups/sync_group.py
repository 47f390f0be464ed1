"""SyncGroup (API 14): the names in the assignments of a group's leader (classic groups)."""

from __future__ import annotations

from gateway.apis import generic
from gateway.apis.groups.subscriptions import PROTOCOL_TYPE, member_request, member_response
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import READ, Do, Needs
from gateway.rules.rename import CONSUMER
from protocol.entities import Kind

GROUP_ID = int(Kind.GROUP_ID)


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Rename the leader's assignments; before v5 only JoinGroup said the protocol type."""
    spans = generic.request_spans(exchange.plan, buf, start, end)
    group = next((span[3] for span in spans if span[0] == GROUP_ID), b"")
    remembered = (state.protocol_types or {}).get(group, CONSUMER)
    named = next((span[3] for span in spans if span[0] == PROTOCOL_TYPE), None)
    return member_request(state, exchange, buf, start, end, spans, named or remembered)


API = declare(
    Api(
        "SyncGroup",
        (0, 5),
        Do.REWRITE,
        needs=Needs(group=READ),
        request=request,
        response=member_response,
    )
)
