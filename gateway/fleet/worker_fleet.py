"""The fleet in one worker: what a gateway that clients see among the brokers has besides."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from gateway.apis.table import put_around
from gateway.config.models import Config
from gateway.config.reach import gateway_addresses
from gateway.connections.listeners import Listeners
from gateway.connections.volumes import Volumes
from gateway.exchanges.worker_state import WorkerState
from gateway.fleet.absence import Absence
from gateway.fleet.gateway_nodes import GatewayNodes
from gateway.fleet.handover import Handover
from gateway.fleet.hung_gateways import HungGateways, asked_at
from gateway.fleet.node_handlers import AROUND


class WorkerFleet:
    """Lists the gateways of the fleet among the brokers, and leads clients to the others."""

    def __init__(self, config: Config, volumes: Volumes, listeners: Listeners) -> None:
        put_around(AROUND)
        states: list[WorkerState] = [volume.state for volume in volumes]
        listed_at = gateway_addresses(config)
        nodes = [GatewayNodes(config.gateway_id, listed_at) for _ in states]
        for state, each in zip(states, nodes, strict=True):
            state.listed_gateways = each.at
        self.handover = Handover(config.gateway_id, volumes, listeners)
        self._absence = Absence(config.gateway_id, states, nodes)
        self._hung = HungGateways(config.gateway_id, states, nodes, asked_at(config))

    @property
    def down(self) -> frozenset[str]:
        """The ids of the other gateways that accepted no connection at the last look."""
        return self._absence.down

    def watches(self) -> list[Coroutine[Any, Any, None]]:
        """Coroutines that watch the other gateways, each until its task is cancelled."""
        return [self._absence.watch(), self._hung.watch()]
