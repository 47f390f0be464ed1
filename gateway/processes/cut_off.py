"""A gateway that is cut off from its clusters: its clients go on at another gateway of the fleet.

If a gateway accepts a connection and reaches no cluster, the client waits for its request timeout,
30 s and more; if the gateway refuses the connection, the client tries the next address at once. So
a worker that has heard nothing of any of its clusters for three seconds accepts no more clients,
and closes the connections that it has; once a cluster responds, it accepts again. Responses of
brokers to clients count as much as responses to the worker itself: brokers that are slow, or accept
no more connections, may leave the worker without a connection of its own.

A gateway that is alone keeps its connections, because its clients have nowhere to go. But it closes
its ports, too: clients back off if their connection is refused, and some do not if it is accepted
and closed (KafkaJS: 150 times a second instead of 20). In a tree it leaves them open, since there
it answers from its catalog for a cluster that is down.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from typing import TYPE_CHECKING, Final

from gateway.brokers.connection import API_VERSIONS, BrokerConnection
from gateway.cluster.cluster import Cluster
from gateway.cluster.link import ClusterLink, ClusterUnreachable
from gateway.connections.clients import Clients
from gateway.tls.contexts import TlsError
from gateway.tls.principal_mapping import InvalidRules
from protocol import messages

if TYPE_CHECKING:
    from gateway.fleet.handover import Handover

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.5
LOOKS: Final = 6
"""Looks without a response of any cluster before a worker is cut off: three seconds. Looks are
counted and not seconds: a stopped process does not look, and the responses lie in its sockets."""

PULSE_SECONDS: Final = 1.0
"""Seconds between two requests to a cluster, and the timeout of each step: connect, log in,
request."""

_ASKED: Final = messages.message_class(API_VERSIONS, 0)


class Pulse:
    """Sends an ApiVersions request to a cluster every second. ``unheard`` counts the looks since
    the cluster's last response."""

    def __init__(self, cluster: Cluster) -> None:
        self.unheard = 0
        self._cluster = cluster
        self._link = ClusterLink(
            cluster.name,
            cluster.bootstrap_servers,
            timeout=PULSE_SECONDS,
            security=cluster.security,
        )

    async def beat(self) -> None:
        """Send requests until the task is cancelled."""
        try:
            while True:
                self._link.know(self._cluster.brokers.values())
                try:
                    await self._link.ask(_ask_anything)
                    self.unheard = 0
                except ClusterUnreachable:
                    self._cluster.suspect()
                await asyncio.sleep(PULSE_SECONDS)
        finally:
            self._link.close()


async def _ask_anything(connection: BrokerConnection) -> None:
    await connection.exchange(API_VERSIONS, 0, messages.build(_ASKED))


class CutOff:
    """Stops and starts the listeners of a worker, depending on whether its ``clusters`` respond.
    ``now``: the worker is cut off, and accepts no clients."""

    def __init__(
        self,
        clusters: Collection[Cluster],
        clients: Clients,
        handover: Handover | None,
        *,
        in_tree: bool,
    ) -> None:
        self.now = False
        self._unheard = 0
        self._pulses = [Pulse(cluster) for cluster in clusters]
        self._clients = clients
        self._handover = handover
        self._in_tree = in_tree

    async def watch(self) -> None:
        """Probe the clusters, and stop or start the listeners, until the task is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for pulse in self._pulses:
                tasks.create_task(pulse.beat())
            while True:
                await asyncio.sleep(LOOK_SECONDS)
                await self._look()

    async def _look(self) -> None:
        for pulse in self._pulses:
            pulse.unheard += 1
        self._unheard = 0 if self._clients.take_heard() else self._unheard + 1
        unheard = min(self._unheard, *(pulse.unheard for pulse in self._pulses))
        if self.now:
            if unheard <= 1:
                await self._open()
        elif unheard > LOOKS:
            await self._close()

    async def _close(self) -> None:
        others = self._handover
        if others is not None and not others.has_peers:
            others = None
        if others is None and self._in_tree:
            return
        self.now = True
        log.error("cut off from the cluster: clients are refused until it responds")
        if others is not None:
            await others.begin()
            self._clients.refuse()
        else:
            self._clients.listeners.stop()

    async def _open(self) -> None:
        if self._handover is not None:
            self._handover.end()
        try:
            await self._clients.listeners.start()
        except (InvalidRules, OSError, TlsError) as error:
            self._clients.listeners.stop()
            log.error("clients cannot be accepted again yet: %s", error)
            return
        self.now = False
        log.warning("the cluster responds again: clients are accepted")
