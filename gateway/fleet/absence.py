"""Gateways of the fleet that have been down for an hour: Metadata responses leave them out.

A gateway that is down stays among the brokers that clients see, because it mostly comes back, and
then clients that have it in their metadata go there first. If it stays away, it costs each of these
clients a connection that fails, again and again. Each worker probes the other gateways with its own
clock, and leaves the catalog as it is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Mapping
from time import monotonic
from typing import Final

from gateway.catalog.entities import Member
from gateway.catalog.probe import is_up
from gateway.exchanges.worker_state import WorkerState
from gateway.fleet.gateway_nodes import GatewayNodes

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 30.0
ABSENT_SECONDS: Final = 3_600.0


class Absence:
    """The other gateways of a fleet, as this worker sees them. ``down`` has the ids of the gateways
    that accepted no connection at the last look."""

    def __init__(
        self,
        gateway_id: str,
        volumes: Collection[WorkerState],
        nodes: Collection[GatewayNodes],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """``nodes`` list the gateways. ``clock`` returns seconds since any fixed point."""
        self.down: frozenset[str] = frozenset()
        self._gateway_id = gateway_id
        self._volumes = volumes
        self._nodes = nodes
        self._clock = clock
        self._down_since: dict[str, float] = {}
        self._absent: frozenset[str] = frozenset()

    async def watch(self) -> None:
        """Look every ``LOOK_SECONDS`` until the task is cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Probe every other gateway; leave out the gateways that have been down for
        ``ABSENT_SECONDS``."""
        others = other_members(self._gateway_id, self._volumes)
        up = await asyncio.gather(*map(is_up, others.values()))
        now = self._clock()
        down = [one for one, is_there in zip(others, up, strict=True) if not is_there]
        self.down = frozenset(down)
        self._down_since = {one: self._down_since.get(one, now) for one in down}
        absent = frozenset(
            one for one, since in self._down_since.items() if now - since >= ABSENT_SECONDS
        )
        if absent == self._absent:
            return
        for one in sorted(absent - self._absent):
            log.warning(
                "gateway %s has been down for an hour: clients are not told of it any more. If it"
                " is gone for good: kafka-gateway catalog forget --gateway %s",
                one,
                one,
            )
        for one in sorted(self._absent - absent):
            log.info("gateway %s is listed again", one)
        self._absent = absent
        for nodes in self._nodes:
            nodes.leave_out(absent)


def other_members(own_id: str, volumes: Collection[WorkerState]) -> Mapping[str, Member]:
    """The other members of the catalogs, by gateway id. A member of several catalogs has the same
    entry in each."""
    return {
        gateway_id: member
        for volume in volumes
        for gateway_id, member in volume.catalog.snapshot.members.items()
        if gateway_id != own_id
    }
