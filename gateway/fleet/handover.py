"""Directs clients to another gateway of the fleet while this gateway drains.

The brokers are the same, so Metadata, FindCoordinator and all other responses with addresses can
have the other gateway's addresses. A client that loses a connection requests the broker's address
again, and connects there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable
from typing import Final

from gateway.catalog.entities import Member
from gateway.catalog.fleet import peers_of
from gateway.catalog.probe import is_up
from gateway.connections.listeners import Listeners
from gateway.connections.volumes import Volumes
from gateway.virtual_brokers import ListenerAddresses, PeerBrokers

log = logging.getLogger(__name__)

LEAVING_SECONDS: Final = 1.5
"""Seconds for which clients are directed to another gateway before all connections are closed."""


class Handover:
    """Directs the clients of a worker to another gateway."""

    def __init__(self, gateway_id: str, volumes: Volumes, listeners: Listeners) -> None:
        self._gateway_id = gateway_id
        self._volumes = volumes
        self._listeners = listeners
        self._handed_over: list[ListenerAddresses] = []

    @property
    def has_peers(self) -> bool:
        """Whether there are other gateways that clients could be directed to."""
        return any(self._peers().values())

    async def begin(self) -> float:
        """Report another gateway's addresses from here on; returns the seconds for which clients
        need them before their connections are closed, or 0 if no other gateway is up."""
        members = self._peers()
        known = {one.gateway_id: one for peers in members.values() for one in peers}
        peer = await first_up(known.values())
        if peer is None:
            if known:
                log.warning("no other gateway is up: clients are not led to one")
            return 0.0
        for path, peers in members.items():
            for member in peers:
                if member.gateway_id == peer.gateway_id:
                    self._name(member, path)
        log.info("clients are led to gateway %s", peer.gateway_id)
        return LEAVING_SECONDS

    def end(self) -> None:
        """Report this gateway's own addresses again."""
        for own in self._handed_over:
            own.hand_over(None)
        self._handed_over.clear()

    def _peers(self) -> dict[str, list[Member]]:
        return {
            volume.path: peers_of(volume.state.catalog.snapshot, self._gateway_id)
            for volume in self._volumes
        }

    def _name(self, member: Member, path: str) -> None:
        for listener, address in member.brokers.items():
            own = self._listeners.brokers_of(listener, path)
            if own is None:
                continue
            try:
                own.hand_over(PeerBrokers(address, member.node_ids))
            # The catalog entry was written by another version, or by hand.
            except ValueError as error:
                log.error(
                    "the addresses of gateway %s cannot be used: %s", member.gateway_id, error
                )
                continue
            self._handed_over.append(own)


async def first_up(members: Iterable[Member]) -> Member | None:
    """The first of the gateways that accept connections."""
    members = tuple(members)
    accepted = await asyncio.gather(*map(is_up, members))
    return next((one for one, up in zip(members, accepted, strict=True) if up), None)
