"""DescribeCluster (API 60): brokers at the gateway's addresses; controllers are not shown."""

from __future__ import annotations

from gateway.apis import generic
from gateway.exchanges.api import Api, declare
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules import describe_cluster
from gateway.rules.broker_addresses import hidden_nodes
from gateway.rules.declaration import Do, ToldOperations
from protocol.splice import Edit


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forwarded when it asks for brokers (KIP-919 lets it ask for controllers)."""
    plan = exchange.plan
    generic.request_spans(plan, buf, start, end)
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    generic.tell_allowed_operations(state, exchange, buf[start:end])
    refusal = describe_cluster.refusal(plan.version, buf[start:end])
    return [] if refusal is None else generic.answer_error(exchange, buf[start:end], refusal)


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Leave out brokers without an address here, put the gateway's for the rest."""
    plan = exchange.plan
    spans = generic.response_spans(plan, buf, start, end)
    hidden = hidden_nodes(spans, state.addresses)
    if not hidden:
        return generic.restore(state, exchange, buf, start, end, spans)
    body = describe_cluster.drop_brokers(plan.version, buf[start:end], hidden)
    return generic.restored_body(state, exchange, body)


API = declare(
    Api(
        "DescribeCluster",
        (0, 2),
        Do.FORWARD,
        why="addresses are rewritten; controllers denied",
        operations=ToldOperations(("include_cluster_authorized_operations",)),
        request=request,
        response=response,
    )
)
