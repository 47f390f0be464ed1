"""Gateways of a fleet among the brokers that clients see.

Each gateway of a cluster is one more node in Metadata and DescribeCluster, always at its own
address, also while it is down: a client that has lost all brokers at one gateway's addresses has
another one to turn to, as it does when a broker is gone. Such a node leads nothing, and has no
rack.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Final, NamedTuple

from gateway.catalog.entities import Member
from gateway.catalog.snapshot import Snapshot
from gateway.node_ids import FIRST_GATEWAY_ID


class GatewayNode(NamedTuple):
    """A gateway as a node; :class:`gateway.rules.tree_brokers.Broker`."""

    node_id: int
    host: str
    port: int
    rack: str | None = None


class GatewayNodes:
    """The nodes of gateways at each listener, by the catalog's members."""

    __slots__ = ("_absent", "_by_listener", "_listed_at", "_members")

    def __init__(self, listed_at: Iterable[str] = ()) -> None:
        """``listed_at`` are the names of the listeners that list gateways."""
        self._listed_at = frozenset(listed_at)
        self._members: Mapping[str, Member] | None = None
        self._absent: Set[str] = frozenset()
        self._by_listener: dict[str, tuple[GatewayNode, ...]] = {}

    def leave_out(self, gateway_ids: Set[str]) -> None:
        """From here on list all but these gateways."""
        self._absent = gateway_ids
        self._by_listener.clear()

    def at(self, snapshot: Snapshot, listener: str) -> tuple[GatewayNode, ...]:
        """The gateways that a listener lists; none where there is one alone."""
        if listener not in self._listed_at:
            return ()
        if snapshot.members is not self._members:
            self._members = snapshot.members
            self._by_listener.clear()
        found = self._by_listener.get(listener)
        if found is None:
            there = [each for key, each in self._members.items() if key not in self._absent]
            found = self._by_listener[listener] = _nodes(there, listener)
        return found


NO_GATEWAY_NODES: Final = GatewayNodes()


def _nodes(members: Iterable[Member], listener: str) -> tuple[GatewayNode, ...]:
    found = []
    for member in members:
        address = member.addresses.get(listener)
        if address is not None:
            host, _, port = address.rpartition(":")
            node_id = FIRST_GATEWAY_ID + member.number
            found.append(GatewayNode(node_id, host.strip("[]"), int(port)))
    return tuple(sorted(found)) if len(found) > 1 else ()
