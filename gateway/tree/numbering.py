"""Virtual node ids around the handlers of one cluster's messages, for clients of a tree.

The handlers inside see the cluster's own node ids, in requests and in responses.
"""

from __future__ import annotations

from gateway.apis import generic, walking
from gateway.exchanges.exchange import Exchange, Outcome, RequestHandler, ResponseHandler
from gateway.exchanges.state import ConnectionState
from gateway.rules.declaration import Declaration, Records
from gateway.rules.node_numbers import has_nodes, real_edits, with_numbers
from gateway.rules.node_numbers import node_spans as spans_of
from protocol.splice import Edit, splice


def request_of(api: Declaration, version: int, handler: RequestHandler) -> RequestHandler:
    """The handler of an API's requests, which in a tree get the cluster's own node ids. ``handler``
    itself if the requests hold no node ids, and for APIs with record bytes: their handlers convert
    node ids themselves, as no request may wait there for another call."""
    message = f"{api.name}Request"
    if api.records is not Records.NONE or not has_nodes(message, version):
        return handler

    def request(
        state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
    ) -> Outcome:
        number = state.worker.number
        if not number:
            return handler(state, exchange, buf, start, end)
        walking.request_spans(exchange.plan, buf, start, end)
        spans = spans_of(message, version, buf, start, end, whole=True)
        edits = real_edits(spans, number)
        if not edits:
            return handler(state, exchange, buf, start, end)
        return generic.redecide(state, exchange, splice(buf, start, end, edits), handler)

    return request


def response_of(api: Declaration, version: int, handler: ResponseHandler) -> ResponseHandler:
    """The handler of an API's responses, which in a tree get virtual node ids at the end.
    ``handler`` itself if the responses hold no node ids, and for APIs with record bytes."""
    message = f"{api.name}Response"
    if api.records is not Records.NONE or not has_nodes(message, version):
        return handler

    def response(
        state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
    ) -> list[Edit] | bytes | None:
        result = handler(state, exchange, buf, start, end)
        number = state.worker.number
        if not number or result is None:
            return result
        return with_numbers(message, version, buf, start, end, result, number)

    return response
