"""Connections that show which APIs each broker serves, and when that may have changed.

A broker's API versions are requested once on a connection that then stays: while it stays, the
broker is the same process. No login is needed, because brokers respond to ApiVersions before it.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Final

from gateway.brokers.connection import BrokerConnection
from gateway.brokers.errors import BrokerError
from gateway.brokers.security import BrokerSecurity
from gateway.cluster.listing import Address
from gateway.cluster.served import ServedByNode

MEETING_SECONDS: Final = 1.0
"""Seconds for which the first listing waits for the brokers' responses."""

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 1.0
"""Seconds before a broker is connected to again: the first time, and at most."""

SPACING: Final = 0.002
"""Seconds between two brokers that a listing shows for the first time: connecting is some 0.2 ms of
work, with TLS 1 ms, and simultaneous connections would be a single turn of the event loop."""

MOST: Final = 500
"""Connections at most, so that a listing cannot make a worker open any number of sockets. Each
further broker counts as unknown: it serves the versions that all watched brokers serve."""

STEADY_SECONDS: Final = 10.0
"""A connection that ends sooner counts as a failure, so that a broker whose connections are closed
at once (by a limit of connections, or a proxy before it) is not tried ten times a second."""


class NodeWatch:
    """Keeps an idle connection to each listed broker of a cluster, to ``MOST`` at most."""

    def __init__(
        self,
        served: ServedByNode,
        ended: Callable[[], None],
        *,
        security: BrokerSecurity,
        timeout: float,
    ) -> None:
        """``served`` takes the brokers' responses; ``ended`` is called when a broker closes its
        connection. ``timeout``, in seconds, is for each step with a broker."""
        self._served = served
        self._ended = ended
        self._security = security
        self._timeout = timeout
        self._tasks: dict[int, tuple[Address, asyncio.Task[None]]] = {}
        self._met: dict[int, asyncio.Event] = {}

    def see(self, brokers: Mapping[int, Address]) -> None:
        """Watch these brokers from here on, and no others. A broker with another address is a new
        broker."""
        for node_id, (address, _) in list(self._tasks.items()):
            if brokers.get(node_id) != address:
                self._leave(node_id)
        self._served.keep(self._tasks.keys())
        new = sorted(brokers.keys() - self._tasks.keys())[: MOST - len(self._tasks)]
        for place, node_id in enumerate(new):
            self._met[node_id] = asyncio.Event()
            task = asyncio.create_task(
                self._watch(node_id, brokers[node_id], place * SPACING),
                name=f"watch of broker {node_id}",
            )
            self._tasks[node_id] = brokers[node_id], task

    async def met(self) -> None:
        """Wait until each broker has responded once, for a second at most."""
        waits = [asyncio.create_task(each.wait()) for each in self._met.values()]
        if waits:
            _, late = await asyncio.wait(waits, timeout=MEETING_SECONDS)
            for each in late:
                each.cancel()

    def stop(self) -> None:
        """Close all connections."""
        for node_id in list(self._tasks):
            self._leave(node_id)

    def _leave(self, node_id: int) -> None:
        _, task = self._tasks.pop(node_id)
        task.cancel()
        del self._met[node_id]

    async def _watch(self, node_id: int, address: Address, delay: float) -> None:
        met, failures = self._met[node_id], 0
        now = asyncio.get_running_loop().time
        if delay:
            await asyncio.sleep(delay)
        while True:
            try:
                connection = await BrokerConnection.connect(
                    *address, timeout=self._timeout, security=self._security, log_in=False
                )
            except BrokerError:  # the listing, and clients' connections, report the failure
                failures += 1
            else:
                self._served.learn(node_id, connection.served)
                met.set()
                began = now()
                try:
                    await connection.ended()
                finally:
                    connection.close()
                failures = 0 if now() - began >= STEADY_SECONDS else failures + 1
                self._served.doubt(node_id)
                self._ended()
            met.set()
            await asyncio.sleep(_pause(failures))


def _pause(failures: int) -> float:
    """Seconds, with jitter, so that workers do not all connect at the same moment."""
    return min(FIRST_PAUSE * 2.0 ** min(failures, 16), LONGEST_PAUSE) * random.uniform(0.75, 1.25)  # noqa: S311
