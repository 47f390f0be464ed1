"""Queries of an operator's tool to the other gateways of a tree, from the tool's own process.

The tool connects with the certificate of the configuration's gateway, and starts without the
locations that the gateway has cached, like a gateway that has just started.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from gateway.brokers.security import BrokerSecurity
from gateway.config.models import Config
from gateway.config.tree import Peer, TreeSettings
from gateway.names import DELIMITER
from gateway.referrals.description import GatewayDescription
from gateway.referrals.locations import Locations
from gateway.referrals.lookups import Lookups
from gateway.referrals.numbers import Numbers
from gateway.referrals.peer_link import PeerLink
from gateway.referrals.questions import Answer, Kind, Outcome, Question
from gateway.referrals.routing import Here, Routes

SECONDS: Final = 5.0
"""Seconds for an answer, however many gateways it takes."""

PRINCIPAL: Final = "User:kafka-gateway"
"""The principal of these queries. Gateways answer them alike for all principals."""


MakesLink = Callable[[Peer, TreeSettings], PeerLink]


def peer_link(peer: Peer, tree: TreeSettings) -> PeerLink:
    """The link that a running gateway would have to the peer."""
    return PeerLink(peer, BrokerSecurity(tree.security, "tree", always_tls=True))


class Asker:
    """Queries the peers of a configuration, and through them all other gateways.

    A context manager, to use inside an event loop; ``peers`` are the configuration's
    peers without duplicates.
    """

    def __init__(self, config: Config, tree: TreeSettings, link: MakesLink | None = None) -> None:
        """``link`` makes the links to the peers; by default the links of a running gateway."""
        # A failure is reported once, by the command that sends the query.
        logging.getLogger().addHandler(logging.NullHandler())
        self.routes = Routes.of_config(config)
        self.peers = tuple({peer.name: peer for peer in tree.peers}.values())
        make = peer_link if link is None else link
        self._links = {peer.name: make(peer, tree) for peer in self.peers}
        self._max_hops = tree.max_hops
        self._lookups = Lookups(
            config.gateway_id,
            self.routes,
            self._links,
            locations=Locations(
                expiry_seconds=tree.expiry_seconds, unknown_seconds=tree.unknown_seconds
            ),
            numbers=Numbers(GatewayDescription.of_config(config).numbers, settled=tree.numbers),
            max_hops=tree.max_hops,
        )

    async def describe(self, peer: Peer) -> Answer:
        """A peer's description of itself. Raises PeerUnreachable."""
        return await self._links[peer.name].ask(_question(Kind.DESCRIBE, "", hops=0))

    async def ask(self, kind: Kind, path: str) -> Answer:
        """The answer about a path of the tree. The first of its hops is this process."""
        way = self.routes.of(path)
        if isinstance(way, Here):
            text = f"It is in '{DELIMITER}{way.mount}', which is this gateway's own."
            return Answer(Outcome.NO_SUCH_MOUNT, text)
        return await self._lookups.ask(_question(kind, path, hops=self._max_hops))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for link in self._links.values():
            link.close()


def _question(kind: Kind, path: str, hops: int) -> Question:
    return Question(kind, "", path, (), hops, SECONDS, PRINCIPAL)
