"""Broker addresses: every endpoint a response shows becomes one of the gateway's own.

Hosts and ports come after the node id they belong to, in one struct (Metadata, FindCoordinator,
DescribeCluster, the NodeEndpoints of KIP-951). An endpoint outside the configured ranges must
have been dropped before (``hidden_nodes``); none is ever let through as it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from gateway.virtual_brokers import ListenerAddresses
from protocol.entities import Kind
from protocol.pausing import eased
from protocol.splice import Edit
from protocol.walkers import Span

ENDPOINT_NODE = int(Kind.ENDPOINT_NODE)
HOST = int(Kind.HOST)
PORT = int(Kind.PORT)
NO_NODE = -1
_NOWHERE_LEGACY = b"\x00\x00"
_NOWHERE_COMPACT = b"\x01"
_NO_PORT = (-1).to_bytes(4, "big", signed=True)


def endpoint_edits(
    spans: Sequence[Span], addresses: ListenerAddresses, flexible: bool
) -> list[Edit]:
    """Edits that put the gateway's host and port for each node; empty where there is no such
    node, so that no broker address passes even where nobody dropped it."""
    edits: list[Edit] = []
    host, port = _NOWHERE_LEGACY, _NO_PORT
    for kind, start, stop, value in eased(spans):
        if kind == ENDPOINT_NODE:
            endpoint = addresses.endpoint(value) if value != NO_NODE else None
            if endpoint is not None:
                host = endpoint.host_compact if flexible else endpoint.host_legacy
                port = endpoint.port_bytes
            else:
                host, port = _NOWHERE_COMPACT if flexible else _NOWHERE_LEGACY, _NO_PORT
        elif kind == HOST:
            edits.append((start, stop, host))
        elif kind == PORT:
            edits.append((start, stop, port))
    return edits


def hidden_nodes(spans: Sequence[Span], addresses: ListenerAddresses) -> set[int]:
    """The node ids that a response shows and the listener has no address for."""
    return {
        value
        for kind, _, _, value in eased(spans)
        if kind == ENDPOINT_NODE and value != NO_NODE and addresses.endpoint(value) is None
    }
