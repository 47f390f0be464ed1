"""Virtual brokers: the gateway's address for each broker.

Pure: no sockets and no clock. A broker's port is a listener's base port plus the *place* of its
node id in the configured ``node_ids`` ranges, so no port moves when a broker joins or leaves. If a
listener has broker names (``broker_names``), each broker has a name at the same port instead. In a
tree the ranges of the volumes that a listener reaches are put end to end, and names have virtual
node ids.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from gateway.broker_names import NODE_ID, BrokerNames, UnknownName
from gateway.node_ids import FIRST_GATEWAY_ID, NodeIdRanges, virtual_node_id
from protocol.primitives import compact_string, legacy_string

_MAX_PORT = 65_535
# A host name has at most 253 characters (RFC 1035, 2.3.4).
_MAX_HOST_LENGTH = 253
# A broker that lies about node ids must not fill the memory.
_OUTSIDE_LIMIT = 1_000


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address that a listener advertises for a broker, also in its wire form.

    ``host_legacy`` and ``host_compact`` are the host in UTF-8, prefixed with an int16 length and
    with an unsigned varint of length + 1; ``port_bytes`` is an int32, big-endian.
    """

    node_id: int
    host: str
    port: int
    host_legacy: bytes
    host_compact: bytes
    port_bytes: bytes


class PeerBrokers:
    """The addresses of the same brokers at another gateway. ``address`` and ``node_ids`` are as in
    :class:`gateway.catalog.entities.Member`."""

    def __init__(self, address: str, node_ids: Sequence[str]) -> None:
        """Raises ValueError for a malformed address or malformed ranges."""
        host, _, port = address.rpartition(":")
        self._host = host.strip("[]")
        self._port = int(port)
        self._ranges = NodeIdRanges.parse(node_ids)

    def address(self, node_id: int, virtual: int) -> tuple[str, int] | None:
        """Host and port of a broker, by its own node id and its virtual node id, or None if the
        other gateway has no place for it."""
        place = self._ranges.place(node_id)
        if place is None:
            return None
        if NODE_ID in self._host:
            return self._host.replace(NODE_ID, str(virtual)), self._port
        return self._host, self._port + place


class ListenerAddresses:
    """The addresses of a listener for the brokers of a cluster, by their own node ids.

    ``base_port`` is the port of place 0; with ``names``, of all places. ``number`` is the cluster's
    in the tree, 0 without a tree; it is part of names. If a broker is outside the ranges, it has no
    address: it is put into ``outside`` and passed to ``on_outside``, once.
    """

    def __init__(
        self,
        advertised_host: str,
        base_port: int,
        ranges: NodeIdRanges,
        *,
        names: BrokerNames | None = None,
        number: int = 0,
        on_outside: Callable[[int], None] | None = None,
    ) -> None:
        """Raises ValueError, with a sentence, for an invalid host or port."""
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
        self.number = number
        self.outside: set[int] = set()
        self.on_outside = on_outside
        self._endpoints: dict[int, Endpoint] = {}
        self._peer: PeerBrokers | None = None

    def hand_over(self, peer: PeerBrokers | None) -> None:
        """From now on give clients the addresses at ``peer``, another gateway, or this gateway's
        own without ``peer``."""
        self._peer = peer
        self._endpoints.clear()

    @property
    def handed_over(self) -> bool:
        """Whether clients get the addresses at another gateway."""
        return self._peer is not None

    def endpoint(self, node_id: int) -> Endpoint | None:
        """The address that stands for a broker, or None, and noted, if the broker is outside the
        ranges."""
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
        """Every port that stands for a broker, with its node id; empty if names do."""
        if self.names is not None:
            return {}
        return {self.base_port + place: node_id for place, node_id in enumerate(self.ranges)}

    def _endpoint_at(self, place: int, node_id: int) -> Endpoint:
        names = self.names
        virtual = virtual_node_id(self.number, node_id)
        elsewhere = None if self._peer is None else self._peer.address(node_id, virtual)
        if elsewhere is not None:
            host, port = elsewhere
        elif names is not None:
            host, port = names.host(virtual), self.base_port
        else:
            host, port = self.advertised_host, self.base_port + place
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


@dataclass(frozen=True, slots=True)
class Volume:
    """A cluster that a listener reaches: its mount, its number (0 without a tree) and the node ids
    that have addresses."""

    path: str
    number: int
    ranges: NodeIdRanges


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a client's connection: a broker of a volume by its own node id, or, without
    ``node_id``, any broker. ``gateway``: the node that stands for the gateway itself."""

    volume: str
    addresses: ListenerAddresses
    node_id: int | None
    gateway: bool = False


class ReachAddresses:
    """The addresses of a listener for the brokers of every volume that it reaches.

    ``by_volume`` has the addresses of each volume, by its mount. ``names`` are the brokers' names
    by virtual node id, if ``pattern`` is given. Clients of the bootstrap connect to the volume
    ``own``, with the addresses of the first volume if ``own`` is not reached. ``gateway`` is the
    port, or the name, of the node that stands for the gateway itself, if there is such a node.
    """

    def __init__(
        self,
        advertised_host: str,
        base_port: int,
        volumes: Sequence[Volume],
        *,
        pattern: str | None = None,
        own: str = "",
        gateway: int | str | None = None,
    ) -> None:
        """Raises ValueError, with a sentence, for an invalid host, name or port."""
        if not volumes:
            raise ValueError("the listener reaches no cluster of this gateway; correct its reach")
        self.names: BrokerNames | None = None
        if pattern is not None:
            virtual = NodeIdRanges.virtual((each.number, each.ranges) for each in volumes)
            name = None if gateway is None else str(gateway)
            self.names = BrokerNames(pattern, advertised_host, virtual, name)
        self.by_volume: dict[str, ListenerAddresses] = {}
        for each in volumes:
            self.by_volume[each.path] = ListenerAddresses(
                advertised_host, base_port, each.ranges, names=self.names, number=each.number
            )
            if pattern is None:
                base_port += each.ranges.size
        first = self.by_volume[volumes[0].path]
        self.bootstrap = Target(own, self.by_volume.get(own, first), None)
        self._gateway = replace(self.bootstrap, gateway=True)
        self._gateway_port = gateway if pattern is None else None

    def ports(self) -> dict[int, Target]:
        """Every port that stands for a broker, or for the gateway, with its target; empty if names
        do."""
        ports = {
            port: Target(path, addresses, node_id)
            for path, addresses in self.by_volume.items()
            for port, node_id in addresses.ports().items()
        }
        if isinstance(self._gateway_port, int):
            ports[self._gateway_port] = self._gateway
        return ports

    def broker(self, virtual: int) -> Target:
        """The broker with a virtual node id that ``names`` knows, or the gateway."""
        if virtual >= FIRST_GATEWAY_ID:
            return self._gateway
        for path, addresses in self.by_volume.items():
            node_id = virtual - virtual_node_id(addresses.number, 0)
            if addresses.ranges.place(node_id) is not None:
                return Target(path, addresses, node_id)
        raise UnknownName(str(virtual))

    def broker_of(self, name: str | None) -> Target:
        """The broker that a client names by SNI, or the bootstrap. Raises UnknownName."""
        virtual = None if self.names is None else self.names.node_id(name)
        return self.bootstrap if virtual is None else self.broker(virtual)
