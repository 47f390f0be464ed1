"""Gateways among the brokers of Metadata and DescribeCluster, and requests to such a node.

Where there is a tree ``splitting`` lists them, with the brokers of all clusters. A connection to a
gateway's node goes to any broker, so what is requested of every broker for its own would be there
twice: it is answered here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gateway.apis import generic
from gateway.decision import Denied
from gateway.error_codes import NOT_LEADER_OR_FOLLOWER
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import (
    Answer,
    Exchange,
    Outcome,
    RequestHandler,
    ResponseHandler,
)
from gateway.exchanges.state import ConnectionState
from gateway.rules import tree_brokers
from gateway.rules.tree_brokers import Broker
from protocol import messages
from protocol.splice import Edit, splice

_LOG_DIR: Final = "gateway"
"""Java's admin client takes a response without any log directory for CLUSTER_AUTHORIZATION_FAILED
(KafkaAdminClient.describeLogDirs)."""

_ADDED: Final[Mapping[str, Callable[[int, bytes, Sequence[Broker]], bytes]]] = {
    "Metadata": tree_brokers.more_in_metadata,
    "DescribeCluster": tree_brokers.more_in_description,
}


def response_of(api: str, version: int, handler: ResponseHandler) -> ResponseHandler:
    """The handler of an API's responses, in which gateways are listed behind the brokers; the very
    same one where responses list none."""
    add = _ADDED.get(api)
    if add is None:
        return handler

    def response(
        state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
    ) -> list[Edit] | bytes | None:
        result = handler(state, exchange, buf, start, end)
        worker = state.worker
        if worker.number or result is None:
            return result
        nodes = worker.gateway_nodes.at(worker.catalog.snapshot, state.source.listener)
        if not nodes:
            return result
        body = result if isinstance(result, bytes) else splice(buf, start, end, result)
        return add(version, body, nodes)

    return response


def request_of(api: Api, handler: RequestHandler) -> RequestHandler:
    """The handler of an API's requests, which answers those to a gateway's node that mean one
    broker; the very same one for other APIs."""
    answer = _OF_ONE_BROKER.get(api.name)
    if answer is None:
        return handler

    def request(
        state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
    ) -> Outcome:
        if not state.on_gateway_node:
            return handler(state, exchange, buf, start, end)
        generic.request_spans(exchange.plan, buf, start, end)
        plan = exchange.plan
        exchange.flow = state.flow(plan.api_key, plan.version, b"")
        return answer(exchange, buf[start:end])

    return request


def _no_groups(exchange: Exchange, body: bytes) -> Outcome:
    return Answer(messages.made("ListGroupsResponse", exchange.plan.version, {}))


def _no_partitions(exchange: Exchange, body: bytes) -> Outcome:
    version = exchange.plan.version
    cls = messages.message_class("DescribeLogDirsResponse", version)
    empty = messages.make(messages.element_class(cls, "results"), {"log_dir": _LOG_DIR})
    return Answer(messages.write(messages.make(cls, {"results": [empty]})))


def _no_leader(exchange: Exchange, body: bytes) -> Outcome:
    message = "This node stands for a gateway, which leads no partition."
    return generic.answer_error(exchange, body, Denied(NOT_LEADER_OR_FOLLOWER, message, "request"))


_OF_ONE_BROKER: Final[Mapping[str, Callable[[Exchange, bytes], Outcome]]] = {
    "ListGroups": _no_groups,
    "DescribeLogDirs": _no_partitions,
    "DescribeProducers": _no_leader,
}
"""APIs by which a client means the broker that it sends them to (KIP-664 for the last)."""
