"""Gateways of a fleet among the brokers that clients see.

Each gateway of a cluster is one more node in Metadata and DescribeCluster, also while it is down: a
client that has lost all brokers at one gateway's addresses has another one to turn to, as it does
when a broker is gone. Such a node leads nothing, and has no rack.

A gateway names itself at the address of another one, and the others at their own. Its clients have
nodes enough at its addresses, and try them at random when it is killed: the fewer are there, and
the more elsewhere, the sooner they find one that lives. Its node is not left out, because clients
ask every node that they were told of, and would wait for one that the next gateway does not list.

A gateway that hangs accepts connections and does not answer, and a client that tries it waits for
its own timeouts. So while another one lives, the node of one that hangs has the address of that. If
none does, each has its own address, because clients have to know one elsewhere: this gateway can
end before they ask again.
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

    __slots__ = ("_absent", "_by_listener", "_hung", "_listed_at", "_members", "_own_id")

    def __init__(self, own_id: str = "", listed_at: Iterable[str] = ()) -> None:
        """``own_id`` is the gateway's own; ``listed_at`` are the names of its listeners that list
        gateways."""
        self._own_id = own_id
        self._listed_at = frozenset(listed_at)
        self._members: Mapping[str, Member] | None = None
        self._absent: Set[str] = frozenset()
        self._hung: Set[str] = frozenset()
        self._by_listener: dict[str, tuple[GatewayNode, ...]] = {}

    def leave_out(self, gateway_ids: Set[str]) -> None:
        """From here on list all but these gateways."""
        self._absent = gateway_ids
        self._by_listener.clear()

    def lead_past(self, gateway_ids: Set[str]) -> None:
        """From here on name no address of these gateways, which hang, while another one lives."""
        self._hung = gateway_ids
        self._by_listener.clear()

    def at(self, snapshot: Snapshot, listener: str) -> tuple[GatewayNode, ...]:
        """The gateways that a listener lists; none if there is one alone."""
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


NO_GATEWAY_NODES: Final = GatewayNodes()


def _nodes(
    members: Iterable[Member], own_id: str, hung: Set[str], listener: str
) -> tuple[GatewayNode, ...]:
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
        nodes.append(GatewayNode(node_id, host.strip("[]"), int(port)))
    return tuple(nodes)


def _number(member: Member) -> int:
    return member.number
