"""The rooms of a worker at all brokers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from time import monotonic
from typing import Final

from gateway.cluster.cluster import Cluster
from gateway.cluster.listing import Address
from gateway.config.models import Cluster as Settings
from gateway.connections.broker_room import BrokerRoom, Limits
from gateway.connections.refusals import Refusals
from gateway.connections.tenants import Tenant, Wanted
from gateway.counts import Counts

ASK_SECONDS: Final = 0.2
"""Seconds between two requests for room at a broker to the other workers: every worker gives up a
connection for each request."""

REFUSALS: Final = "broker_refusals"


def limits_of(settings: Settings, workers: int) -> Limits:
    """The limits of a worker: its part of the connections that the gateway may have to a
    broker."""
    most = settings.max_connections_per_broker
    return Limits(
        most=None if most is None else max(1, most // workers),
        share=settings.max_connections_share,
    )


class BrokerRooms:
    """The rooms at the brokers of a cluster, by node id, with their metrics and log lines."""

    def __init__(
        self,
        cluster: Cluster,
        limits: Limits,
        clock: Callable[[], float] = monotonic,
        ask_others: Callable[[Wanted], None] = lambda wanted: None,
    ) -> None:
        """``ask_others`` requests room from the other workers (:meth:`make_room_for`)."""
        self._ask_others = ask_others
        self._asked_at: dict[int, float] = {}
        self.cluster = cluster
        self._limits = limits
        self._clock = clock
        self._rooms: dict[int, BrokerRoom] = {}
        self._refusals: dict[int, Refusals] = {}
        cluster.security.on_unanswered.append(self.make_room_at)

    def of(self, node_id: int) -> BrokerRoom:
        """The room at a broker; it is made at first use."""
        room = self._rooms.get(node_id)
        if room is None:
            room = BrokerRoom(self._limits, self._clock, partial(self._ask, node_id))
            self._rooms[node_id] = room
            self._refusals[node_id] = Refusals(self.cluster.name, node_id, room)
        return room

    def make_room_at(self, address: Address) -> None:
        """Make room at a broker that closed a connection of the gateway's own without a byte. The
        gateway then connects again, and finds room."""
        for node_id, listed in self.cluster.brokers.items():
            if listed == address and node_id in self._rooms:
                self._rooms[node_id].make_room()

    def make_room_for(self, wanted: Wanted) -> None:
        """Make room at a broker for a client of another worker, which will connect again."""
        room = self._rooms.get(wanted.node_id)
        if room is not None:
            room.make_room_for(wanted.tenant, wanted.mine)

    def _ask(self, node_id: int, tenant: Tenant, mine: int) -> None:
        now = self._clock()
        if now >= self._asked_at.get(node_id, float("-inf")) + ASK_SECONDS:
            self._asked_at[node_id] = now
            self._ask_others(Wanted(self.cluster.name, node_id, tenant, mine))

    def sweep(self, counts: Counts) -> None:
        """Count and log the connections that brokers did not accept. Called once a second."""
        for node_id, refusals in list(self._refusals.items()):
            grown = refusals.sweep()
            counts.add(REFUSALS, (self.cluster.name, "closed"), grown.refused)
            counts.add(REFUSALS, (self.cluster.name, "share"), grown.rejected)
            if node_id not in self.cluster.brokers and not len(self._rooms[node_id]):
                del self._rooms[node_id], self._refusals[node_id]
                self._asked_at.pop(node_id, None)

    def gauges(self) -> Mapping[str, int]:
        """The number of brokers that accept no new connections, and whether that is all brokers
        while the cluster is reachable over older connections."""
        locked = [node_id for node_id, one in self._refusals.items() if one.locked]
        all_of_them = bool(locked) and self.cluster.brokers.keys() <= set(locked)
        return {
            "refusing_brokers": len(locked),
            "locked_out": int(all_of_them and self.cluster.reachable),
        }
