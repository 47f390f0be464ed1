"""Gateways of the fleet that hang: clients are not led to them while another one lives.

A process that is stopped still accepts connections, because its system does. A client that tries
such a gateway waits for its own timeouts, 10 to 60 s. So each worker asks one port of every other
gateway for something small. One that has accepted a connection and sent nothing, twice, hangs until
it responds. One that refuses connections, or cannot be reached, does not count: clients notice the
first at once, and the second may be this gateway's own network.
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
from gateway.processes.absence import other_members

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 5.0
LOOKED_AT: Final = 10
"""Gateways that are looked at so often; in a larger fleet each is looked at as rarely as it is
larger, because every worker of every gateway looks."""
LOOKS: Final = 2
"""Looks in a row, the second at once, in which a gateway that hangs is silent."""

_TLS: Final = frozenset({"SSL", "SASL_SSL"})


def asked_at(config: Config) -> Mapping[str, bool]:
    """The listeners at which other gateways are asked, those without TLS first, and whether they
    have TLS. None that requires a certificate: each look would be a failed handshake there."""
    usable = (
        one for one in config.listeners if one.tls is None or one.tls.client_auth != "required"
    )
    return dict(sorted(((one.name, one.security_protocol in _TLS) for one in usable), key=_order))


def _order(listener: tuple[str, bool]) -> tuple[bool, str]:
    name, tls = listener
    return tls, name


class HungGateways:
    """The other gateways of a fleet that hang, as one worker sees them."""

    def __init__(
        self, gateway_id: str, volumes: Collection[WorkerState], listeners: Mapping[str, bool]
    ) -> None:
        """``listeners``: see :func:`asked_at`."""
        self.now: frozenset[str] = frozenset()
        self._gateway_id = gateway_id
        self._volumes = volumes
        self._listeners = listeners
        self._silent: Counter[str] = Counter()

    async def watch(self) -> None:
        """Look again and again until it is cancelled."""
        while True:
            await self.look()
            if not any(times < LOOKS for times in self._silent.values()):
                await asyncio.sleep(LOOK_SECONDS * max(1.0, len(self._addresses()) / LOOKED_AT))

    async def look(self) -> None:
        """Ask every other gateway, and name none that hangs."""
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
            elif self._silent[one] < LOOKS:  # else it is gone, or its system's queue is full
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
        for volume in self._volumes:
            volume.gateway_nodes.lead_past(hung)

    def _addresses(self) -> Mapping[str, tuple[str, bool]]:
        """Where each of the others is asked, and whether with TLS."""
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
