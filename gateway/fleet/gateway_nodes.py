"""Gateways of a fleet among the brokers that clients see.

Each gateway of a cluster is one more node in Metadata and DescribeCluster, even while it is down. A
client that has lost all brokers at one gateway's addresses can then turn to another gateway, as it
turns to another broker when a broker is gone. A gateway's node leads nothing and has no rack.

A gateway lists its own node at the address of another gateway, and the nodes of the others at their
own addresses. If the gateway is killed, its clients try their nodes at random, so they find a
living gateway sooner if fewer nodes have its addresses and more nodes have other addresses. The
gateway does not leave its own node out, because clients query every node that they know and would
wait for a node that the next gateway does not list.

A gateway that hangs accepts connections and does not respond, so a client that tries it waits for
its own timeouts. If another gateway lives, the node of the hanging gateway therefore gets the
living gateway's address. If no other gateway lives, each node keeps its own address, because
clients have to know an address elsewhere: this gateway may end before they ask again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from gateway.catalog.entities import Member
from gateway.catalog.snapshot import Snapshot
from gateway.node_ids import FIRST_GATEWAY_ID
from gateway.rules.tree_brokers import Broker


class GatewayNodes:
    """The gateways' nodes at each listener, from the members in the catalog."""

    __slots__ = ("_absent", "_by_listener", "_hung", "_listed_at", "_members", "_own_id")

    def __init__(self, own_id: str, listed_at: Iterable[str]) -> None:
        """``own_id`` is this gateway's id; ``listed_at`` holds the names of the listeners of this
        gateway that list gateways."""
        self._own_id = own_id
        self._listed_at = frozenset(listed_at)
        self._members: Mapping[str, Member] | None = None
        self._absent: Set[str] = frozenset()
        self._hung: Set[str] = frozenset()
        self._by_listener: dict[str, tuple[Broker, ...]] = {}

    def leave_out(self, gateway_ids: Set[str]) -> None:
        """Leave these gateways out of the lists from now on."""
        self._absent = gateway_ids
        self._by_listener.clear()

    def lead_past(self, gateway_ids: Set[str]) -> None:
        """Do not list the addresses of these gateways, which hang, while another gateway lives."""
        self._hung = gateway_ids
        self._by_listener.clear()

    def at(self, snapshot: Snapshot, listener: str) -> tuple[Broker, ...]:
        """The gateways that a listener lists; empty if the cluster has a single gateway."""
        if listener not in self._listed_at:
            return ()
        if snapshot.members is not self._members:
            self._members = snapshot.members
            self._by_listener.clear()
        found = self._by_listener.get(listener)
        if found is None:
            there = [each for key, each in self._members.items() if key not in self._absent]
            found = self._by_listener[listener] = _nodes(there, self._own_id, self._hung, listener)
        return found


def _nodes(
    members: Iterable[Member], own_id: str, hung: Set[str], listener: str
) -> tuple[Broker, ...]:
    listed = sorted((one for one in members if listener in one.addresses), key=_number)
    others = [one for one in listed if one.gateway_id != own_id]
    if not others:
        return ()
    living = [one for one in others if one.gateway_id not in hung]
    nodes = []
    for member in listed:
        at = member
        if living and (member.gateway_id == own_id or member.gateway_id in hung):
            at = next((one for one in living if one.number > member.number), living[0])
        host, _, port = at.addresses[listener].rpartition(":")
        node_id = FIRST_GATEWAY_ID + member.number
        nodes.append(Broker(node_id, host.strip("[]"), int(port)))
    return tuple(nodes)


def _number(member: Member) -> int:
    return member.number
