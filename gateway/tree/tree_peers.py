"""The other gateways of a tree, for one worker: it queries them, and answers their questions."""

from __future__ import annotations

import asyncio

from gateway.audit.audit import Audit
from gateway.brokers.security import BrokerSecurity
from gateway.config.models import Config
from gateway.config.reach import far_paths
from gateway.config.tree import TreeSettings
from gateway.connections.tasks import Tasks
from gateway.counts import Counts
from gateway.flows import Flow
from gateway.peers import PEERS
from gateway.referrals.far_file import FarVolumes
from gateway.referrals.locations import Locations
from gateway.referrals.lookups import Lookups
from gateway.referrals.numbers import Numbers
from gateway.referrals.peer_link import PeerLink
from gateway.referrals.routing import Routes
from gateway.slices import Turns
from gateway.tree.far_lanes import OtherGateways
from gateway.tree.lanes import LaneHub
from gateway.tree.peer_listener import PeerListener
from gateway.tree.referred import Referred


class TreePeers:
    """One worker's links to the gateways that its configuration names. ``others`` takes clients'
    requests to them; ``routes`` and ``lookups`` also serve the questions that they ask."""

    def __init__(
        self,
        config: Config,
        tree: TreeSettings,
        worker: str,
        *,
        tasks: Tasks,
        counts: Counts,
        turns: Turns,
    ) -> None:
        """``worker`` is the worker's name in its file of far volumes; ``counts`` get the outcomes
        of lookups. Long answers are read in ``turns``."""
        self._config = config
        self._tasks = tasks
        self._counts = counts
        self._referred: Referred | None = None
        self._listener: PeerListener | None = None
        self._running: list[asyncio.Task[None]] = []
        security = BrokerSecurity(tree.security, "tree", always_tls=True)
        self._links = {peer.name: PeerLink(peer, security) for peer in tree.peers}
        self._known = FarVolumes(tree.directory, worker)
        self._known.load()
        own = {one.mount: one.number for one in config.clusters if one.mount is not None}
        paths = far_paths(config)
        numbers = Numbers(
            {mount: number or 0 for mount, number in own.items()},
            self._known.numbers,
            settled=tree.numbers,
            recorded=frozenset(paths),
        )
        self._numbers = numbers
        numbers.on_change = self._renumber
        self._renumber()
        self.routes = Routes.of_config(config)
        self.lookups = Lookups(
            config.gateway_id,
            self.routes,
            self._links,
            locations=Locations(
                expiry_seconds=tree.expiry_seconds, unknown_seconds=tree.unknown_seconds
            ),
            numbers=numbers,
            max_hops=tree.max_hops,
            counts=counts,
            turns=turns,
        )
        known, disbelieve = self._known, self.lookups.disbelieve
        self.others = OtherGateways(
            self.lookups, known, paths, tree.max_hops, tasks.run, disbelieve
        )

    def _renumber(self) -> None:
        """Stop showing clients a broker if its volume no longer has the broker's number."""
        self._known.numbers = self._numbers.known

    def answer_by(self, hub: LaneHub, audit: Audit) -> None:
        """Answer the questions of peers from the volumes of ``hub``, if the configuration lets them
        ask."""
        config, tree = self._config, self._config.tree
        self._referred = Referred(hub, config, self.routes, self.lookups)
        if tree is not None and tree.listener is not None:
            self._listener = PeerListener(
                config, self._referred.answer, tasks=self._tasks, counts=self._counts, audit=audit
            )

    def start(self) -> None:
        """Keep links to the peers, and save their volumes to the file, from now on."""
        watches = [link.watch() for link in self._links.values()]
        self._running = [self._tasks.run(one) for one in (*watches, self._known.keep())]

    async def listen(self) -> None:
        """Bind the peers' port, if the configuration has such a port. Raises OSError and
        TlsError."""
        if self._listener is not None:
            await self._listener.start()

    def sweep(self) -> list[Flow]:
        """Use TLS files that have changed; returns the flows of clients behind peers since the last
        call. Called once a second."""
        if self._listener is not None:
            self._listener.sweep()
        return [] if self._referred is None else self._referred.take_flows()

    def count_open(self) -> dict[str, int]:
        """The number of open connections of peers, by the listener name of their port; empty if
        there is no such port."""
        return {} if self._listener is None else {PEERS: self._listener.open}

    def certificates(self) -> dict[str, float]:
        """Seconds until the certificate that peers see expires, by the same name."""
        return {} if self._listener is None else self._listener.certificates()

    async def drain(self, seconds: float) -> None:
        """Stop accepting, and answer the questions under way, for at most ``seconds``."""
        if self._listener is not None:
            await self._listener.drain(seconds)

    async def stop(self) -> None:
        """Close the links, and save the far volumes."""
        if self._listener is not None:
            self._listener.stop()
        for task in self._running:
            task.cancel()
        self._running.clear()
        for link in self._links.values():
            link.close()
        await self._known.save()
