"""Gateways among the brokers of Metadata and DescribeCluster, and requests to such a node.

In a tree ``gateway.tree.splitting`` lists these nodes, with the brokers of all clusters. A
connection to a gateway's node goes to any broker. If a client requests every node's own state, it
would get that broker's state twice, so the gateway answers such a request to a gateway's node
itself.
"""

from __future__ import annotations

from typing import Final

from gateway.apis import walking
from gateway.exchanges.api import Api, Around, NodeHandler
from gateway.exchanges.exchange import Exchange, Outcome, RequestHandler, ResponseHandler
from gateway.exchanges.state import ConnectionState
from protocol.splice import Edit, splice


def response_of(api: Api, version: int, handler: ResponseHandler) -> ResponseHandler:
    """The handler of an API's responses, which lists gateways after the brokers; ``handler`` itself
    if the responses list no brokers."""
    if api.brokers is None:
        return handler
    extended = api.brokers.extended

    def response(
        state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
    ) -> list[Edit] | bytes | None:
        result = handler(state, exchange, buf, start, end)
        worker = state.worker
        if worker.number or result is None:
            return result
        nodes = worker.listed_gateways(worker.catalog.snapshot, state.source.listener)
        if not nodes:
            return result
        body = result if isinstance(result, bytes) else splice(buf, start, end, result)
        return extended(version, body, nodes)

    return response


def request_of(api: Api, version: int, handler: RequestHandler) -> RequestHandler:
    """The handler of an API's requests. It answers requests to a gateway's node that are meant for
    a single broker; for APIs without such requests, and without a check of their own in a fleet, it
    is ``handler`` itself."""
    answered = handler if api.at_gateway_node is None else _at_node(api.at_gateway_node, handler)
    return answered if api.in_fleet is None else api.in_fleet(answered)


def _at_node(answer: NodeHandler, handler: RequestHandler) -> RequestHandler:

    def request(
        state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
    ) -> Outcome:
        if not state.on_gateway_node:
            return handler(state, exchange, buf, start, end)
        walking.request_spans(exchange.plan, buf, start, end)
        plan = exchange.plan
        exchange.flow = state.flow(plan.api_key, plan.version, b"")
        return answer(exchange, buf[start:end])

    return request


AROUND: Final = Around(1, request_of, response_of)
