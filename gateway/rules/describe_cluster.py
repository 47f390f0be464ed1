"""DescribeCluster (KIP-700, KIP-919): brokers only, and only those with an address here."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from gateway.decision import Denied
from gateway.error_codes import MISMATCHED_ENDPOINT_TYPE, UNSUPPORTED_ENDPOINT_TYPE
from protocol import messages

BROKERS = 1
CONTROLLERS = 2
NO_CONTROLLER = -1


def refusal(version: int, body: bytes) -> Denied | None:
    """The answer to a request for anything but brokers; None when it asks for brokers.

    The gateway is an endpoint of brokers, so it answers what a broker answers (Kafka's
    AuthHelper): MISMATCHED_ENDPOINT_TYPE for controllers, UNSUPPORTED_ENDPOINT_TYPE for a type
    that does not exist. Raises ProtocolError.
    """
    request = messages.parse("DescribeClusterRequest", version, body)
    asked = getattr(request, "endpoint_type", BROKERS)
    if asked == BROKERS:
        return None
    if asked == CONTROLLERS:
        code = MISMATCHED_ENDPOINT_TYPE
        message = "The request was sent to an endpoint of brokers, but asks for controllers."
    else:
        code, message = UNSUPPORTED_ENDPOINT_TYPE, f"Unsupported endpoint type {asked}."
    return Denied(code, message, "request")


def drop_brokers(version: int, body: bytes, hidden_node_ids: Collection[int]) -> bytes:
    """A DescribeClusterResponse without brokers that have no address here; a controller among
    them becomes -1, as for a controller that is not in the list. Raises ProtocolError."""
    response = messages.parse("DescribeClusterResponse", version, body)
    shown = tuple(b for b in response.brokers if b.broker_id not in hidden_node_ids)
    changes: dict[str, Any] = {"brokers": shown}
    if response.controller_id in hidden_node_ids:
        changes["controller_id"] = NO_CONTROLLER
    return messages.write(replace(response, **changes))
