"""Virtual brokers: which gateway address stands for which broker.

Pure: no sockets and no clock. A broker's port is a listener's base port plus the *place* of its
node id in the configured ``node_ids`` ranges, so no port moves when a broker joins or leaves. On a
listener with broker names (``broker_names``) each has a name at one port instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gateway.broker_names import BrokerNames
from gateway.node_ids import NodeIdRanges
from protocol.primitives import compact_string, legacy_string

_MAX_PORT = 65_535
# A host name has at most 253 characters (RFC 1035, 2.3.4).
_MAX_HOST_LENGTH = 253
# A broker that lies about node ids must not fill the memory.
_OUTSIDE_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address that a listener advertises for one broker, also as it stands on the wire.

    ``host_legacy`` and ``host_compact`` are the host in UTF-8, prefixed with an int16 length and
    with an unsigned varint of length + 1; ``port_bytes`` is an int32, big-endian.
    """

    node_id: int
    host: str
    port: int
    host_legacy: bytes
    host_compact: bytes
    port_bytes: bytes


class ListenerAddresses:
    """The addresses of one listener for the brokers of one cluster.

    ``base_port`` is the port of place 0; with ``names`` it is
    the port of all. A broker outside the ranges has no address: it is put into ``outside`` and
    handed to ``on_outside``, once.
    """

    def __init__(
        self,
        advertised_host: str,
        base_port: int,
        ranges: NodeIdRanges,
        *,
        names: BrokerNames | None = None,
        on_outside: Callable[[int], None] | None = None,
    ) -> None:
        """Raises ValueError with one sentence if there is no such host or port."""
        if not 0 < len(advertised_host) <= _MAX_HOST_LENGTH:
            raise ValueError(
                f"advertised host {advertised_host!r} must have 1 to {_MAX_HOST_LENGTH} characters"
            )
        last_port = base_port if names is not None else base_port + ranges.size - 1
        if not 0 < base_port <= last_port <= _MAX_PORT:
            raise ValueError(
                f"ports {base_port}-{last_port} for node_ids {ranges} are not within 1-{_MAX_PORT}"
            )
        self.advertised_host = advertised_host
        self.base_port = base_port
        self.ranges = ranges
        self.names = names
        self.outside: set[int] = set()
        self.on_outside = on_outside
        self._endpoints: dict[int, Endpoint] = {}

    def endpoint(self, node_id: int) -> Endpoint | None:
        """The address that stands for a broker; None, and noted, if it is outside the ranges."""
        known = self._endpoints.get(node_id)
        if known is not None:
            return known
        place = self.ranges.place(node_id)
        if place is None:
            self._note_outside(node_id)
            return None
        endpoint = self._endpoints[node_id] = self._endpoint_at(place, node_id)
        return endpoint

    def ports(self) -> dict[int, int]:
        """Every port that stands for a broker, with its node id; none where names do."""
        if self.names is not None:
            return {}
        return {self.base_port + place: node_id for place, node_id in enumerate(self.ranges)}

    def _endpoint_at(self, place: int, node_id: int) -> Endpoint:
        names = self.names
        host = self.advertised_host if names is None else names.host(node_id)
        port = self.base_port if names is not None else self.base_port + place
        encoded = host.encode()
        return Endpoint(
            node_id=node_id,
            host=host,
            port=port,
            host_legacy=legacy_string(encoded),
            host_compact=compact_string(encoded),
            port_bytes=port.to_bytes(4, "big"),
        )

    def _note_outside(self, node_id: int) -> None:
        # Negative ids say that there is no broker (no leader, no coordinator).
        if node_id < 0 or node_id in self.outside or len(self.outside) >= _OUTSIDE_LIMIT:
            return
        self.outside.add(node_id)
        if self.on_outside is not None:
            self.on_outside(node_id)
