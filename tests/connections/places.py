"""A place at a broker that takes any number of connections."""

from __future__ import annotations

from gateway.connections.broker_room import BrokerRoom, Limits, Place
from gateway.connections.tenants import RoomClient


def place_of(client: RoomClient) -> Place:
    return BrokerRoom(Limits()).enter(client)
