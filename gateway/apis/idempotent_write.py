"""Brokers that want IDEMPOTENT_WRITE of idempotent producers, as those before 2.8 do (KIP-679).

Whom they ask about is the gateway, whatever its own ACLs say of the client: their answer passes as
it is, CLUSTER_AUTHORIZATION_FAILED, and here is said what it means.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any, Final

from gateway.error_codes import CLUSTER_AUTHORIZATION_FAILED
from gateway.exchanges.state import ConnectionState
from protocol import messages
from protocol.messages import has_field

log = logging.getLogger(__name__)

_TOLD: Final = b"(IDEMPOTENT_WRITE)"
"""As :meth:`ConnectionState.first_denial` remembers it; nothing else is called so."""

TO_CLIENTS: Final = (
    "The broker does not let the gateway write for idempotent producers: its operator has to grant"
    " the gateway's principal IDEMPOTENT_WRITE on the cluster, which brokers before 2.8 ask for."
)


def warn(state: ConnectionState) -> None:
    """Tell the operator, once a connection."""
    if state.first_denial(_TOLD):
        log.warning(
            "%s: the broker refuses idempotent producers (CLUSTER_AUTHORIZATION_FAILED):"
            " grant the principal that the gateway has there IDEMPOTENT_WRITE on the cluster"
            " (kafka-acls --add --operation IdempotentWrite --cluster), which brokers before 2.8"
            " ask for; later ones take WRITE on any topic",
            state.source.client_address,
        )


def explained(version: int, body: bytes) -> bytes:
    """A Produce response of the broker's with a text for each partition that it refused so and
    has no text for; before version 8 there is no room for one. Raises ProtocolError."""
    response: Any = messages.parse("ProduceResponse", version, body)
    topics = tuple(
        replace(topic, partition_responses=tuple(map(_explained, topic.partition_responses)))
        for topic in response.responses
    )
    return messages.write(replace(response, responses=topics))


def _explained(partition: Any) -> Any:
    refused = partition.error_code == CLUSTER_AUTHORIZATION_FAILED
    if not refused or not has_field(type(partition), "error_message") or partition.error_message:
        return partition
    return replace(partition, error_message=TO_CLIENTS)
