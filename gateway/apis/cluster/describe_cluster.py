"""DescribeCluster (API 60): the brokers, at the gateway's addresses.

Brokers without an address at this listener are left out. Requests for controllers (KIP-919) are
rejected. The operations on the cluster come from the gateway's own ACLs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any, Final

from gateway.apis import generic, walking
from gateway.decision import Denied
from gateway.error_codes import (
    MISMATCHED_ENDPOINT_TYPE,
    REQUEST_TIMED_OUT,
    UNSUPPORTED_ENDPOINT_TYPE,
)
from gateway.exchanges.api import Api
from gateway.exchanges.exchange import Exchange, Outcome
from gateway.exchanges.state import ConnectionState
from gateway.rules.authorized_operations import NOT_ASKED
from gateway.rules.declaration import Do, Effect, ToldOperations
from gateway.rules.division import Division, Recall
from gateway.rules.restore import hidden_nodes
from gateway.rules.tree_brokers import Broker, BrokerList, made_brokers
from protocol import messages
from protocol.messages import made
from protocol.splice import Edit

_REQUEST: Final = "DescribeClusterRequest"
_RESPONSE: Final = "DescribeClusterResponse"

BROKERS = 1
CONTROLLERS = 2
NO_CONTROLLER = -1


def request(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> Outcome:
    """Forward a request for brokers; reject a request for controllers."""
    plan = exchange.plan
    walking.request_spans(plan, buf, start, end)
    exchange.flow = state.flow(plan.api_key, plan.version, b"")
    generic.tell_allowed_operations(state, exchange, buf[start:end])
    denied = rejection(plan.version, buf[start:end])
    return [] if denied is None else generic.answer_error(exchange, buf[start:end], denied)


def response(
    state: ConnectionState, exchange: Exchange, buf: bytes, start: int, end: int
) -> list[Edit] | bytes:
    """Drop brokers without an address at this listener; rewrite the addresses of the others."""
    plan = exchange.plan
    spans = walking.response_spans(plan, buf, start, end)
    hidden = hidden_nodes(spans, state.addresses)
    if not hidden:
        return generic.restore(state, exchange, buf, start, end, spans)
    body = drop_brokers(plan.version, buf[start:end], hidden)
    return generic.restored_body(state, exchange, body)


def rejection(version: int, body: bytes) -> Denied | None:
    """The denial of a request for other endpoints than brokers; None for brokers. Raises
    ProtocolError.

    As on a broker (Kafka's AuthHelper), a request for controllers is MISMATCHED_ENDPOINT_TYPE, and
    a request for a type that does not exist is UNSUPPORTED_ENDPOINT_TYPE.
    """
    request = messages.parse(_REQUEST, version, body)
    endpoint_type = getattr(request, "endpoint_type", BROKERS)
    if endpoint_type == BROKERS:
        return None
    if endpoint_type == CONTROLLERS:
        message = "The request was sent to an endpoint of brokers, but asks for controllers."
        return Denied(MISMATCHED_ENDPOINT_TYPE, message, "request")
    message = f"Unsupported endpoint type {endpoint_type}."
    return Denied(UNSUPPORTED_ENDPOINT_TYPE, message, "request")


def drop_brokers(version: int, body: bytes, hidden_node_ids: Collection[int]) -> bytes:
    """A DescribeClusterResponse without the brokers that have no address at this listener. If the
    controller is such a broker, its id becomes -1, as if it were unknown. Raises ProtocolError."""
    response = messages.parse(_RESPONSE, version, body)
    shown = tuple(b for b in response.brokers if b.broker_id not in hidden_node_ids)
    changes: dict[str, Any] = {"brokers": shown}
    if response.controller_id in hidden_node_ids:
        changes["controller_id"] = NO_CONTROLLER
    return messages.write(replace(response, **changes))


# -- in a tree, and with gateways among the brokers ------------------------------------------------


def replaced(
    version: int,
    body: bytes,
    brokers: Iterable[Broker],
    cluster_id: str | None,
    controller_id: int,
) -> bytes:
    """A response with these brokers, cluster id and controller; an error response is returned
    unchanged. Raises ProtocolError."""
    response: Any = messages.parse(_RESPONSE, version, body)
    if response.error_code:
        return body
    changes: dict[str, Any] = {
        "brokers": tuple(made_brokers(type(response), "broker_id", brokers)),
        "cluster_id": cluster_id or response.cluster_id,
        "controller_id": controller_id,
    }
    return messages.write(replace(response, **changes))


def extended(version: int, body: bytes, brokers: Iterable[Broker]) -> bytes:
    """A response with these brokers after its own; an error response is returned unchanged. Raises
    ProtocolError."""
    response: Any = messages.parse(_RESPONSE, version, body)
    if response.error_code:
        return body
    more = made_brokers(type(response), "broker_id", brokers)
    return messages.write(replace(response, brokers=(*response.brokers, *more)))


def when_down(version: int, part_body: bytes, recall: Recall) -> bytes:
    """The response without brokers; the caller adds the known brokers. Nothing is remembered of
    controllers (KIP-919). Raises ProtocolError."""
    request = messages.parse(_REQUEST, version, part_body)
    if getattr(request, "endpoint_type", BROKERS) != BROKERS:
        return made(_RESPONSE, version, {"error_code": REQUEST_TIMED_OUT})
    values = {
        "endpoint_type": BROKERS,
        "controller_id": NO_CONTROLLER,
        "cluster_authorized_operations": NOT_ASKED,
    }
    return made(_RESPONSE, version, values)


API = Api(
    "DescribeCluster",
    (0, 2),
    Do.FORWARD,
    effect=Effect.LOOKUP,
    why="addresses are rewritten; controllers denied",
    operations=ToldOperations(("include_cluster_authorized_operations",)),
    division=Division(when_down=when_down),
    brokers=BrokerList(replaced, extended),
    request=request,
    response=response,
)
