"""Gateways of the fleet that hang: clients are not led to them while another gateway is alive.

A stopped process still accepts connections, because its kernel does. A client that tries such a
gateway waits for its own timeouts, 10 to 60 s. So each worker sends a small request to a port of
every other gateway. If a gateway accepts the connection and sends nothing, twice, it hangs until it
responds. A gateway that refuses connections, or cannot be reached, does not count as hung: clients
notice a refusal at once, and an unreachable gateway may be a failure of this gateway's own network.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from gateway.catalog.entities import Member
from gateway.catalog.probe import Reaction, reaction
from gateway.config.models import Config
from gateway.exchanges.worker_state import WorkerState
from gateway.fleet.absence import other_members
from gateway.fleet.gateway_nodes import GatewayNodes

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 5.0
LOOKED_AT: Final = 10
"""The largest number of other gateways that are each looked at every ``LOOK_SECONDS``. In a larger
fleet the pause grows with the number of gateways, because every worker of every gateway looks."""
LOOKS: Final = 2
"""Looks in a row, the second at once, in which a gateway must be silent to count as hung."""

_TLS: Final = frozenset({"SSL", "SASL_SSL"})


def asked_at(config: Config) -> Mapping[str, bool]:
    """The listeners at which other gateways are probed, listeners without TLS first, and whether
    they have TLS. Listeners that require a certificate are left out: each probe would be a failed
    handshake there."""
    usable = (
        one for one in config.listeners if one.tls is None or one.tls.client_auth != "required"
    )
    return dict(sorted(((one.name, one.security_protocol in _TLS) for one in usable), key=_order))


def _order(listener: tuple[str, bool]) -> tuple[bool, str]:
    name, tls = listener
    return tls, name


class HungGateways:
    """The other gateways of a fleet that hang, as this worker sees them."""

    def __init__(
        self,
        gateway_id: str,
        volumes: Collection[WorkerState],
        nodes: Collection[GatewayNodes],
        listeners: Mapping[str, bool],
    ) -> None:
        """``nodes`` list the gateways. ``listeners``: see :func:`asked_at`."""
        self.now: frozenset[str] = frozenset()
        self._gateway_id = gateway_id
        self._volumes = volumes
        self._nodes = nodes
        self._listeners = listeners
        self._silent: Counter[str] = Counter()

    async def watch(self) -> None:
        """Look every ``LOOK_SECONDS`` or more until the task is cancelled."""
        while True:
            await self.look()
            if not any(times < LOOKS for times in self._silent.values()):
                await asyncio.sleep(LOOK_SECONDS * max(1.0, len(self._addresses()) / LOOKED_AT))

    async def look(self) -> None:
        """Probe every other gateway; clients are no longer led to a gateway that hangs."""
        addresses = self._addresses()
        reactions = await asyncio.gather(
            *(reaction(address, tls=tls) for address, tls in addresses.values())
        )
        self._silent = Counter({one: n for one, n in self._silent.items() if one in addresses})
        for one, seen in zip(addresses, reactions, strict=True):
            if seen is Reaction.RESPONDS:
                self._silent.pop(one, None)
            elif seen is Reaction.SILENT:
                self._silent[one] += 1
            elif self._silent[one] < LOOKS:  # else it is gone, or its accept queue is full
                del self._silent[one]
        self._name(frozenset(one for one, times in self._silent.items() if times >= LOOKS))

    def _name(self, hung: frozenset[str]) -> None:
        if hung == self.now:
            return
        for one in sorted(hung - self.now):
            log.warning(
                "gateway %s accepts connections and does not answer: clients are not led to it"
                " while another one is up",
                one,
            )
        for one in sorted(self.now - hung):
            log.info("gateway %s answers again", one)
        self.now = hung
        for nodes in self._nodes:
            nodes.lead_past(hung)

    def _addresses(self) -> Mapping[str, tuple[str, bool]]:
        """The address at which each other gateway is probed, and whether with TLS."""
        others = other_members(self._gateway_id, self._volumes)
        found = ((one, self._address(member)) for one, member in others.items())
        return {one: address for one, address in found if address is not None}

    def _address(self, member: Member) -> tuple[str, bool] | None:
        return next(
            (
                (member.addresses[name], tls)
                for name, tls in self._listeners.items()
                if name in member.addresses
            ),
            None,
        )
