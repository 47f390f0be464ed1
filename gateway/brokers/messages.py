"""Frames and entities of the gateway's own requests to a broker, and of the broker's responses."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Sequence
from typing import Any, Final, Protocol

from protocol import messages
from protocol.errors import ProtocolError
from protocol.headers import (
    frame,
    request_header_version,
    response_body_pos,
    response_header_version,
)
from protocol.messages import Request
from protocol.primitives import legacy_string
from protocol.schema import api_key_of, response_name

CLIENT_ID: Final = "kafka-namespace-gateway"
SIZE_BYTES: Final = 4
CORRELATION_BYTES: Final = 4
MAX_CORRELATION_ID: Final = 2**31 - 1

TOPIC_RESOURCE: Final = 2
"""ConfigResource.Type of a topic."""

_DESCRIBE_CONFIGS_AT_MOST: Final = 4
_MAX_PORT: Final = 65_535


class ClusterAdmin(Protocol):
    """Sends requests to the cluster over connections of its own.

    :class:`gateway.cluster.admin.BrokerAdmin`, and for one request of a client
    :class:`gateway.brokers.throttling.OneClientsAdmin`.
    """

    async def ask(self, request: Request, *, changes: bool = True) -> Any:
        """Return the response entity. A request that ``changes`` nothing is sent again if its
        broker is lost. Raises an OSError when no broker responds."""
        ...

    async def ask_at(
        self, address: tuple[str, int], request: Request, *, within: float | None = None
    ) -> Any:
        """Return the response entity of the broker at this address, because each broker knows only
        the groups and transactional ids that it coordinates. Raises an OSError without a response,
        which must come ``within`` so many seconds after the request's turn."""
        ...


def is_address(host: str, port: int) -> bool:
    """Whether a server can listen there. A broker without the listener by which Metadata was
    requested has an empty host and port -1 (Kafka's Node.noNode)."""
    return bool(host) and 0 < port <= _MAX_PORT


def broker_addresses(metadata: Any) -> dict[int, tuple[str, int]]:
    """The (host, port) of each broker in a MetadataResponse, by node id. An entry with an invalid
    address is left out."""
    listed = ((int(one.node_id), str(one.host), int(one.port)) for one in metadata.brokers)
    return {node_id: (host, port) for node_id, host, port in listed if is_address(host, port)}


def describe_configs(
    names: Iterable[str],
    keys: Sequence[str] | None,
    *,
    resource_type: int = TOPIC_RESOURCE,
    synonyms: bool = False,
    documentation: bool = False,
) -> Request:
    """A DescribeConfigs request for resources of a type, topics by default. ``keys`` None requests
    all of their configs."""
    resources = [
        {"resource_type": resource_type, "resource_name": name, "configuration_keys": keys}
        for name in names
    ]
    values = {
        "resources": resources,
        "include_synonyms": synonyms,
        "include_documentation": documentation,
    }
    return Request("DescribeConfigsRequest", _DESCRIBE_CONFIGS_AT_MOST, values)


def request_frame(
    name: str, version: int, correlation_id: int, entity: Any, client_id: str = CLIENT_ID
) -> bytes:
    """The frame of a request: size, header, body; ``name`` is Kafka's, ``MetadataRequest``.

    The header is v1, or v2, which adds tagged fields (empty here).
    """
    api_key = api_key_of(name)
    fixed = (api_key << 48 | version << 32 | correlation_id).to_bytes(8, "big")
    tagged_fields = b"\x00" if request_header_version(api_key, version) >= 2 else b""
    header = fixed + legacy_string(client_id.encode()) + tagged_fields
    return frame(header, messages.write(entity))


def response_body(name: str, version: int, correlation_id: int, payload: bytes) -> bytes:
    """The body of the response to request ``name``. Raises ProtocolError for the response to
    another request."""
    if len(payload) < CORRELATION_BYTES:
        raise ProtocolError(f"it has {len(payload)} bytes")
    answered = int.from_bytes(payload[:CORRELATION_BYTES], "big", signed=True)
    if answered != correlation_id:
        raise ProtocolError(f"it has correlation id {answered}, not {correlation_id}")
    header_version = response_header_version(api_key_of(name), version)
    return payload[response_body_pos(payload, 0, len(payload), header_version) :]


def response_entity(name: str, version: int, body: bytes) -> Any:
    """The response entity in the body of the response to request ``name``. Raises ProtocolError."""
    return messages.parse(response_name(api_key_of(name)), version, body)


def api_versions_request(version: int) -> Any:
    """An ApiVersionsRequest with the gateway's software name and version."""
    message = messages.message_class("ApiVersionsRequest", version)
    if version < 3:
        return messages.build(message)
    return messages.build(
        message, client_software_name=CLIENT_ID, client_software_version=_software_version()
    )


def _software_version() -> str:
    try:
        # Kafka rejects characters other than letters, digits, "-" and "." (KIP-511).
        return importlib.metadata.version(CLIENT_ID).replace("+", "-")
    except importlib.metadata.PackageNotFoundError:  # run from a source tree
        return "unknown"
