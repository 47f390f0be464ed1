"""The rooms at all brokers of one cluster, as one worker sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import monotonic

from gateway.cluster.cluster import Cluster
from gateway.cluster.listing import Address
from gateway.config.models import Cluster as Settings
from gateway.connections.broker_room import BrokerRoom, Limits


def limits_of(settings: Settings, workers: int) -> Limits:
    """A worker's part of what the gateway may have."""
    most = settings.max_connections_per_broker
    return Limits(
        most=None if most is None else max(1, most // workers),
        share=settings.max_connections_share,
    )


class BrokerRooms:
    """The rooms at the brokers of one cluster, by node id."""

    def __init__(
        self, cluster: Cluster, limits: Limits, clock: Callable[[], float] = monotonic
    ) -> None:
        self._cluster = cluster
        self._limits = limits
        self._clock = clock
        self._rooms: dict[int, BrokerRoom] = {}
        cluster.on_unanswered.append(self.make_room_at)

    def __iter__(self) -> Iterator[tuple[int, BrokerRoom]]:
        return iter(self._rooms.items())

    def of(self, node_id: int) -> BrokerRoom:
        """The room at a broker."""
        room = self._rooms.get(node_id)
        if room is None:
            room = self._rooms[node_id] = BrokerRoom(self._limits, self._clock)
        return room

    def make_room_at(self, address: Address) -> None:
        """A connection of the gateway's own was closed there without a byte: it is tried again, and
        finds room then."""
        for node_id, listed in self._cluster.brokers.items():
            if listed == address and node_id in self._rooms:
                self._rooms[node_id].make_room()
